package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// keys writes a new pair of keys into a folder.
func keys(t *testing.T, name string) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	open, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	private, public = filepath.Join(folder, name+".key"), filepath.Join(folder, name+".pub")
	for path, block := range map[string]*pem.Block{private: {Type: "PRIVATE KEY", Bytes: secret}, public: {Type: "PUBLIC KEY", Bytes: open}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public
}

func noEnvironment(string) string { return "" }

func TestASignedReleaseIsVerifiedAndAChangedOneIsNot(t *testing.T) {
	s := checkout(t, "v1.2.3")
	if err := s.release(t.Context(), "dist"); err != nil {
		t.Fatal(err)
	}
	private, public := keys(t, "release")
	_, other := keys(t, "other")
	by, err := byKey(private)
	if err != nil {
		t.Fatal(err)
	}
	by.getenv = noEnvironment
	if err := by.sign(t.Context(), s, "dist"); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join("dist", provenanceFile)
	check := func(key string, files ...string) error {
		v, err := verifierByKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return v.files(bundle, files)
	}
	all, err := filepath.Glob("dist/*")
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(path string) bool { return path == bundle })
	if err := check(public, all...); err != nil || len(all) < 9 {
		t.Errorf("%d files of the release: %v", len(all), err)
	}
	const chart = "dist/workload-variant-autoscaler-1.2.3.tgz"
	if err := check(other, chart); err == nil {
		t.Error("a release is verified by a key that did not sign it")
	}
	renamed := filepath.Join(t.TempDir(), "wva_v1.2.3_linux_amd64.tar.gz")
	if err := os.WriteFile(renamed, []byte(read(t, chart)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(public, renamed); err == nil || !strings.Contains(err.Error(), "under another name") {
		t.Errorf("the chart as the archive of wva: %v", err)
	}
	if err := os.WriteFile(chart, []byte(read(t, chart)+"more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(public, chart); err == nil {
		t.Error("a changed chart is verified")
	}
	if err := os.WriteFile(bundle, []byte(strings.Replace(read(t, bundle), `"payload":"`, `"payload":"e30`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(public, "dist/manager.cdx.json"); err == nil {
		t.Error("a changed statement is verified")
	}
}

// TestTheProvenanceNamesTheWorkflowTheCommitAndTheImage by what a workflow of GitHub has
// in its environment.
func TestTheProvenanceNamesTheWorkflowTheCommitAndTheImage(t *testing.T) {
	s := checkout(t, "v1.2.3")
	if err := s.release(t.Context(), "dist"); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "llm-d-incubation/workload-variant-autoscaler",
		"GITHUB_WORKFLOW_REF": "llm-d-incubation/workload-variant-autoscaler/.github/workflows/release.yml@refs/tags/v1.2.3",
		"GITHUB_RUN_ID":       "7", "GITHUB_RUN_ATTEMPT": "1",
	}
	stated, err := s.state("dist", func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	run := stated.Predicate.RunDetails
	if run.Builder.ID != workflowOf("v1.2.3") || run.Metadata.InvocationID != repository+"/actions/runs/7/attempts/1" {
		t.Errorf("the builder is %q, the run %+v", run.Builder.ID, run.Metadata)
	}
	if got := stated.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]; got != s.commit {
		t.Errorf("the commit is %s, want %s", got, s.commit)
	}
	image := stated.Subject[len(stated.Subject)-1]
	if image.Name != "image" || len(image.Digest["sha256"]) != 64 {
		t.Errorf("the last subject is %+v, want the image", image)
	}
}

// TestAReleaseIsVerifiedByTheIdentityOfItsWorkflow: certified by an authority that is
// trusted, the workflow and the tag have to be those of the release.
func TestAReleaseIsVerifiedByTheIdentityOfItsWorkflow(t *testing.T) {
	s := checkout(t, "v1.2.3")
	if err := s.release(t.Context(), "dist"); err != nil {
		t.Fatal(err)
	}
	sigstore, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	workflow := map[string]string{
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "llm-d-incubation/workload-variant-autoscaler",
		"GITHUB_WORKFLOW_REF": strings.TrimPrefix(workflowOf("v1.2.3"), "https://github.com/"),
	}
	stated, err := s.state("dist", func(name string) string { return workflow[name] })
	if err != nil {
		t.Fatal(err)
	}
	data, err := stated.encoded()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, identity, issuer, version string
		ok                              bool
	}{
		{"the workflow of the release", workflowOf("v1.2.3"), workflowIssuer, "v1.2.3", true},
		{"that of another version", workflowOf("v1.2.3"), workflowIssuer, "v1.2.4", false},
		{"another workflow", repository + "/.github/workflows/ci.yml@refs/tags/v1.2.3", workflowIssuer, "v1.2.3", false},
		{"a branch", repository + "/" + releaseWorkflow + "@refs/heads/v1.2.3", workflowIssuer, "v1.2.3", false},
		{"a fork", "https://github.com/another/workload-variant-autoscaler/" + releaseWorkflow + "@refs/tags/v1.2.3", workflowIssuer, "v1.2.3", false},
		{"another issuer", workflowOf("v1.2.3"), "https://accounts.example.com", "v1.2.3", false},
	} {
		entity, err := sigstore.Attest(tt.identity, tt.issuer, data)
		if err != nil {
			t.Fatal(err)
		}
		v, err := byIdentity(sigstore, tt.version, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := v.entity(entity, []string{"dist/checksums.txt"}); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want verified: %t", tt.name, err, tt.ok)
		}
	}
}

func TestTheIdentityOfAWorkflowIsAskedOfGitHub(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Query().Get("audience") != "sigstore" || r.URL.Query().Get("v") != "1" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprint(w, `{"value":"token"}`)
	}))
	defer server.Close()
	for secret, want := range map[string]string{"secret": "token", "other": "", "": ""} {
		token, err := workflowToken(t.Context(), func(name string) string {
			return map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": server.URL + "/?v=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": secret}[name]
		})
		if token != want || (err == nil) != (want != "") {
			t.Errorf("with the secret %q: %q, %v", secret, token, err)
		}
	}
}
