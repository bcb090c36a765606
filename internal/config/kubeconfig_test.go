package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKubeconfigThatIsNotThereIsNamed(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "there"), filepath.Join(dir, "missing")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(value string) error {
		return CheckKubeconfig(func(string) (string, bool) { return value, true })
	}
	for _, value := range []string{"", there, missing + string(filepath.ListSeparator) + there} {
		if err := check(value); err != nil {
			t.Errorf("KUBECONFIG=%q: %v", value, err)
		}
	}
	if err := check(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("KUBECONFIG=%q: %v", missing, err)
	}
}
