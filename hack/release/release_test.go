package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"
)

// checkout returns a commit with the smallest programs and chart that there can be.
func checkout(t *testing.T, version string) source {
	t.Helper()
	root := t.TempDir()
	t.Chdir(root)
	for path, content := range map[string]string{
		".gitignore":          "*.tar\n/dist/\n/again/\n", // else the second build is of a commit with changes
		"go.mod":              "module example.org/tiny\n\ngo 1.26.0\n",
		"cmd/manager/main.go": "package main\n\nfunc main() { println(\"manager\") }\n",
		"cmd/wva/main.go":     "package main\n\nfunc main() { println(\"wva\") }\n",
		"LICENSE":             "free\n", "README.md": "read\n",
		"charts/workload-variant-autoscaler/Chart.yaml":          "apiVersion: v2\nname: workload-variant-autoscaler\nversion: 0.0.0\n",
		"charts/workload-variant-autoscaler/values.yaml":         "controller: {image: {repository: example.org/wva/manager}}\n",
		"charts/workload-variant-autoscaler/templates/NOTES.txt": "noted\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q", "-m", "first"}} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s, err := readSource(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheImageHoldsTheTwoProgramsAndRunsTheManager(t *testing.T) {
	s := checkout(t, "")
	platforms := []platform{{"linux", "amd64"}, {"linux", "arm64"}}
	for _, archive := range []string{"one.tar", "two.tar"} {
		if err := s.image(t.Context(), archive, "example.org/manager:dev", platforms); err != nil {
			t.Fatal(err)
		}
	}
	if one, two := sum(t, "one.tar"), sum(t, "two.tar"); one != two {
		t.Error("the same commit gave two images")
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	called := strings.TrimPrefix(server.URL, "http://") + "/wva/manager:dev"
	if err := push(t.Context(), "one.tar", called, true); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(called, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: p.os, Architecture: p.arch}), remote.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Config.Entrypoint; !cmp.Equal(got, []string{"/manager"}) {
			t.Errorf("%s: the image runs %q", p, got)
		}
		if config.Architecture != p.arch || config.Config.User != user || !config.Created.Equal(s.at) {
			t.Errorf("%s: the image is for %s, of %s, run by %q", p, config.Architecture, config.Created, config.Config.User)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%s: %d layers: %v", p, len(layers), err)
		}
		files, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, files); !cmp.Equal(got, []string{"manager", "wva"}) {
			t.Errorf("%s: files %q", p, got)
		}
	}
}

func TestAnImageIsUnpackedForOnePlatform(t *testing.T) {
	s := checkout(t, "")
	here := platform{"linux", runtime.GOARCH}
	if err := s.image(t.Context(), "one.tar", "example.org/manager:dev", []platform{here}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "files")
	for range 2 { // again over what is there
		if err := unpackImage("one.tar", folder, here); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range inImage {
		if out, err := exec.CommandContext(t.Context(), filepath.Join(folder, program)).CombinedOutput(); err != nil || string(out) != program+"\n" {
			t.Errorf("running %s: got %q, %v", program, out, err)
		}
	}
	if err := unpackImage("one.tar", folder, platform{"linux", "s390x"}); err == nil ||
		!strings.Contains(err.Error(), "found 0 images for linux/s390x, want one") {
		t.Errorf("for a platform that it is not for: %v", err)
	}
}

func TestAReleaseIsWhole(t *testing.T) {
	s := checkout(t, "v1.2.3")
	for _, out := range []string{"dist", "again"} {
		if err := s.release(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
	sums := read(t, "dist/checksums.txt")
	if again := read(t, "again/checksums.txt"); sums != again {
		t.Errorf("the same commit gave two releases:\n%s", cmp.Diff(sums, again))
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = "dist"
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("checking the sums: %v\n%s", err, out)
	}
	for _, name := range []string{
		"image.tar", "manager.cdx.json", "wva.cdx.json", "wva.yaml", "workload-variant-autoscaler-1.2.3.tgz",
		"wva_v1.2.3_darwin_arm64.tar.gz",
	} {
		if !strings.Contains(sums, "  "+name+"\n") {
			t.Errorf("no %s among\n%s", name, sums)
		}
	}

	var plugin struct {
		Spec struct {
			Platforms []struct{ URI, Sha256 string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "dist/wva.yaml")), &plugin); err != nil || len(plugin.Spec.Platforms) != len(clientPlatforms()) {
		t.Fatalf("the krew manifest has %d platforms: %v", len(plugin.Spec.Platforms), err)
	}
	for _, p := range plugin.Spec.Platforms {
		if !strings.Contains(sums, p.Sha256+"  "+filepath.Base(p.URI)+"\n") {
			t.Errorf("the krew manifest says %s of %s", p.Sha256, p.URI)
		}
	}
	chart, err := loader.LoadFile("dist/workload-variant-autoscaler-1.2.3.tgz")
	if err != nil || chart.Metadata.AppVersion != "v1.2.3" {
		t.Errorf("the chart: %v, %+v", err, chart)
	}
	folder := t.TempDir()
	if err := readTar("dist/image.tar", folder); err != nil {
		t.Fatal(err)
	}
	if index := read(t, filepath.Join(folder, "index.json")); !strings.Contains(index, `"example.org/wva/manager:v1.2.3"`) {
		t.Errorf("the image is not called what the chart pulls:\n%s", index)
	}
	f, err := os.Open("dist/wva_v1.2.3_linux_amd64.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, z); !cmp.Equal(got, []string{"wva", "LICENSE", "README.md"}) {
		t.Errorf("the archive holds %q", got)
	}
	var bom struct {
		Components []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(read(t, "dist/manager.cdx.json")), &bom); err != nil || len(bom.Components) != 1 || bom.Components[0].Name != "std" {
		t.Errorf("the list of modules: %v, %+v", err, bom)
	}

	if err := s.release(t.Context(), "dist"); err == nil || !strings.Contains(err.Error(), "want an empty one") {
		t.Errorf("into a full folder: %v", err)
	}
}

func TestTheVersionIsThatOfTheTag(t *testing.T) {
	for said, want := range map[string]string{
		"0123456789ab":             "v0.0.0-0123456789ab",
		"v1.2.3-0-g0123456789ab":   "v1.2.3",
		"v1.2.3-4-g0123456789ab":   "v1.2.3-4.g0123456789ab",
		"v2.0.0-rc.1-7-g012345678": "v2.0.0-rc.1.7.g012345678",
	} {
		if got := describe(said); got != want || !semantic.MatchString(got) {
			t.Errorf("%s: got %s, want %s", said, got, want)
		}
	}
}

func TestWhatIsNoVersionOrPlatformIsNamed(t *testing.T) {
	checkout(t, "v1.0.0")
	if _, err := readSource(t.Context(), "1.0"); err == nil || !strings.Contains(err.Error(), `"1.0"`) {
		t.Errorf("version 1.0: %v", err)
	}
	if _, err := parsePlatforms([]string{"linux"}); err == nil || !strings.Contains(err.Error(), `"linux"`) {
		t.Errorf("platform linux: %v", err)
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	s, err := sumOf(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// names lists the files of an archive.
func names(t *testing.T, r io.Reader) []string {
	t.Helper()
	var out []string
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Name)
	}
}
