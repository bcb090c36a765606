package main

import (
	"strings"
	"testing"
)

// TestWithoutAClusterTheSentenceSaysWhereItWasSought, in the words of this program.
func TestWithoutAClusterTheSentenceSaysWhereItWasSought(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	for _, args := range [][]string{{"explain", "chat"}, {"profile", "chat"}, {"store"}, {"migrate"}} {
		var out strings.Builder
		cmd := newRootCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err := cmd.Execute()
		if err == nil || !strings.Contains(err.Error(), "neither by --kubeconfig, nor by KUBECONFIG, nor in ~/.kube/config") {
			t.Errorf("wva %s: %v", strings.Join(args, " "), err)
		}
	}
}
