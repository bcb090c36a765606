package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

var update = flag.Bool("update", false, "write what the manager prints into the pages")

// TestPagesShowWhatAManagerRefuses starts it as the page does, "$ NAME=VALUE manager --FLAG".
func TestPagesShowWhatAManagerRefuses(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "user-guide", "troubleshooting.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^\$ (\w+=\S+ )?manager( .*)?\nmanager: .*\n`)
	if n := len(shown.FindAll(page, -1)); n < 4 {
		t.Fatalf("the page shows %d refusals, want 4", n)
	}
	now := shown.ReplaceAllStringFunc(string(page), func(block string) string {
		typed, _, _ := strings.Cut(block, "\n")
		before, after, _ := strings.Cut(strings.TrimPrefix(typed, "$ "), "manager")
		name, value, _ := strings.Cut(strings.TrimSpace(before), "=")
		_, err := config.Parse(strings.Fields(after), func(asked string) (string, bool) { return value, asked == name }, io.Discard)
		if err == nil || errors.Is(err, config.ErrAnswered) {
			t.Errorf("%s: starts, want a refusal", typed)
			return block
		}
		return typed + "\nmanager: " + err.Error() + "\n"
	})
	goldentest.Generated(t, file, []byte(now), *update)
}
