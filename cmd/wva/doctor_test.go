package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDoctorWithoutACluster(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress strings.Builder
	command := newRootCommand()
	command.SetOut(&out)
	command.SetErr(&progress)
	command.SetArgs([]string{"doctor", "--kubeconfig", kubeconfig})
	err := command.ExecuteContext(t.Context())
	if exitCode(err) != 1 || !strings.Contains(out.String(), "× WVA0101 The API server does not answer") || !strings.Contains(out.String(), "connection refused") {
		t.Errorf("got %v:\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "WVA0102") {
		t.Errorf("what follows from an API server that does not answer is named, too:\n%s", out.String())
	}
}
