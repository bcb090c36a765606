//go:build !race

package main

// Searches and comparisons of minutes under the race detector, whose runs race where smaller tests run
// them side by side.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLearningComparesWhatIsStated, each policy with the one that it is held to.
func TestLearningComparesWhatIsStated(t *testing.T) {
	dir := folder(t)
	page := filepath.Join(dir, "learning.md")
	var out bytes.Buffer
	if err := runLearning(t.Context(), []string{"-traces", dir, "-only", "aibrix/one", "-hours", "3", "-o", page}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## hybrid:profiles=none beside tokens, the first hour: as good in ", "## hybrid:profiles=none beside hybrid, after the first hour: ",
		"## hybrid:profiles=0.5 beside hybrid, after two hours: ", "## hybrid:profiles=2 beside hybrid, after two hours: ", " of 1\n", "| aibrix/one | ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if written, err := os.ReadFile(page); err != nil || string(written) != out.String() {
		t.Errorf("the page is %q (%v), want what is printed", written, err)
	}
}

func TestRolesAreComparedInATable(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-traces", folder(t), "-seeds", "1", "-only", "rate", "-policies", "heteroscale:share=0.5 dynamo-sla:interval=1m"}
	if err := runRoles(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n" + rolesHeading, "**rate.** After an hour", "| Minutes held of 80 |", "\n| `heteroscale` | ", "\n| `dynamo-sla` | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "**prompts.**") {
		t.Error("a scenario was run that -only leaves out")
	}
}
