package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlagsOfRolesThatDoNotFit(t *testing.T) {
	dir := folder(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no folder with profiles: make lab-roles TRACES=folder"},
		{[]string{"-traces", dir, "-seeds", "0"}, "-seeds 0, want 1 or more"},
		{[]string{"-traces", dir, "-only", "nothing"}, `no scenario matches -only "nothing": there are prompts, answers and rate`},
		{[]string{"-traces", dir, "-policies", "hpa-pared"}, "hpa-paired"},
	} {
		if err := runRoles(t.Context(), tt.args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestTheSectionOfRolesIsReplacedAndStays(t *testing.T) {
	section := func(text string) string { return "\n" + rolesHeading + "\n" + text + "\n" }
	for _, tt := range []struct{ name, page, want string }{
		{"a page without one", "# B\n\nx\n" + triedHeading + "\ny\n", "# B\n\nx\n" + section("new") + triedHeading + "\ny\n"},
		{"a page with one", "# B\n\nx\n" + section("old") + triedHeading + "\ny\n", "# B\n\nx\n" + section("new") + triedHeading + "\ny\n"},
		{"a page that ends with one", "# B\n" + section("old"), "# B\n" + section("new")},
		{"a page of nothing else", "# B\n", "# B\n" + section("new")},
	} {
		got := replaceSection(tt.page, section("new"))
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if kept := rolesPart(got); kept != section("new") {
			t.Errorf("%s: read back as %q", tt.name, kept)
		}
	}
}

// TestLabKeepsTheSectionOfRoles writes the document anew where it has that section.
func TestLabKeepsTheSectionOfRoles(t *testing.T) {
	dir := folder(t)
	file := filepath.Join(dir, "benchmarks.md")
	section := "\n" + rolesHeading + "\nwhat was measured\n"
	if err := os.WriteFile(file, []byte("# Old\n"+section+triedHeading), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-traces", dir, "-o", file, "-seeds", "1", "-policies", "saturation", "-only", "aibrix/one", "-foresight", "0"}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), section+triedHeading) || strings.Contains(string(text), "# Old") {
		t.Errorf("got:\n%s\nwant the section before what was tried", text)
	}
}
