package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBundlesAreWhatTheirSourcesGive(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Error(err)
	}
}

func TestABundleOutOfDateIsNamedAndWrittenAnew(t *testing.T) {
	root := t.TempDir()
	for _, b := range bundles {
		for _, dir := range []string{filepath.Dir(b.out), filepath.Dir(b.entry)} {
			if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, b.entry), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	last := bundles[len(bundles)-1]
	if err := run(root, true); err == nil || !strings.Contains(err.Error(), last.out+" is not what "+last.entry+" gives") {
		t.Errorf("error %v, want one that names %s", err, last.out)
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("after writing: %v", err)
	}
}

func TestASyntaxErrorIsSaidWithItsLine(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.js"), []byte("\n\nlet = ;"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle(root, "a.js"); err == nil || !strings.HasPrefix(err.Error(), "a.js:3: ") {
		t.Errorf("error %v, want one at a.js:3", err)
	}
}
