package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// emptyCluster is an API server without objects.
func emptyCluster(t *testing.T) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity) // as a server that cannot stream lists
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/pods"):
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		default:
			fmt.Fprint(w, `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestEmulateAnnouncesServesAndEndsWithItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs([]string{"emulate", "--kubeconfig", emptyCluster(t), "--address-file", file, "--vllm-version", "0.10"})
	root.SetOut(&out)
	root.SetErr(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	url := awaitFile(t, file)
	resp, err := http.Get(url + "/healthz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got %v %v, want 200", resp, err)
	}
	resp.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if got, want := out.String(), "emulating on "+url+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// awaitFile polls for a file that appears complete and returns its one line.
func awaitFile(t *testing.T, file string) string {
	t.Helper()
	deadline := time.After(10 * time.Second)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-deadline:
			t.Fatalf("%s never appeared", file)
		case <-poll.C:
			if data, err := os.ReadFile(file); err == nil {
				return strings.TrimSpace(string(data))
			}
		}
	}
}

func TestEmulateRefusesBadFlags(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "profiles.json")
	if err := os.WriteFile(profiles, []byte(`[{"name":"x","accelerator":"L40S","alphaMS":-1}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"version", []string{"--vllm-version", "0.6"}, `--vllm-version: vLLM version is "0.6", want a release from 0.10 to 0.32`},
		{"grace", []string{"--drain-grace", "-1s"}, "--drain-grace is -1s, want 0 or more"},
		{"no file", []string{"--profiles", profiles + "x"}, "--profiles: open"},
		{"bad profile", []string{"--profiles", profiles}, `profile 0 "x": alphaMS is -1`},
		{"argument", []string{"now"}, "unknown command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newRootCommand()
			root.SetArgs(append([]string{"emulate"}, c.args...))
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			err := root.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if c.name != "argument" && !errors.Is(err, errUsage) {
				t.Errorf("got %v, want a usage error", err)
			}
		})
	}
}
