package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/docs"
)

// TestManifestsOfThePages checks every manifest that a page shows as wva config
// check does for a user.
func TestManifestsOfThePages(t *testing.T) {
	pages, err := docs.Read(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := newSchema()
	if err != nil {
		t.Fatal(err)
	}
	f := configCheckFlags{namespace: "default", systemNamespace: "workload-variant-autoscaler-system"}
	checked := 0
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Language != "yaml" || !strings.Contains("\n"+b.Text, "\nkind:") {
				continue
			}
			read, err := readManifests([]string{"-"}, strings.NewReader(b.Text))
			if err != nil {
				t.Errorf("%s:%d: %v", p.Path, b.Line, err)
				continue
			}
			report, err := f.check(t.Context(), read, objects)
			if err != nil {
				t.Fatal(err)
			}
			checked += report.ConfigMaps + report.VariantAutoscalings
			for _, finding := range report.Findings {
				t.Errorf("%s:%d: %s %s: %s: %s", p.Path, b.Line, finding.Kind, finding.Name, finding.Field, finding.Message)
			}
		}
	}
	if checked == 0 {
		t.Error("no manifest was checked")
	}
}

// TestPagesShowWhatCommandsPrint runs commands of pages at the root of the repository and compares
// what the pages say that they print, and draw. With -update it puts the new output there.
func TestPagesShowWhatCommandsPrint(t *testing.T) {
	recorded, err := filepath.Abs(learnedFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", ".."))
	for _, tt := range []struct {
		page    string
		command string   // how the commands begin
		with    []string // what a user need not say, who has a cluster
	}{
		{"docs/user-guide/queue-and-plan.md", "wva queue", nil},
		{"docs/user-guide/queue-and-plan.md", "wva plan", nil},
		{"docs/user-guide/objectives.md", "wva profile", []string{"--record", recorded}},
		{"docs/user-guide/simulate.md", "wva simulate --workload 'sine(1->10,1h,2h)'", nil},
		{"docs/migration/crd-shapes.md", "wva config check", nil},
		{"docs/migration/kserve.md", "wva migrate kserve -f", nil},
	} {
		t.Run(tt.page+" "+tt.command, func(t *testing.T) {
			page, err := os.ReadFile(tt.page)
			if err != nil {
				t.Fatal(err)
			}
			shown := regexp.MustCompile("(?ms)^```console\n\\$ " + regexp.QuoteMeta(tt.command) + "(.*?)^```$")
			if !shown.Match(page) {
				t.Fatal("the page has no such command")
			}
			now := shown.ReplaceAllStringFunc(string(page), func(block string) string {
				typed := continued.FindString(strings.TrimPrefix(block, "```console\n"))
				return "```console\n" + typed + printed(t, typed, tt.with) + "```"
			})
			goldentest.Generated(t, tt.page, []byte(now), *update)
		})
	}
}

// continued is a command in a shell, over as many lines as it has.
var continued = regexp.MustCompile(`^\$ (.*\\\n)*.*\n`)

// printed runs a command as it is typed in a shell and returns what a terminal shows. A picture
// that it draws is that of the pages.
func printed(t *testing.T, typed string, with []string) string {
	t.Helper()
	var args []string
	for i, part := range strings.Split(strings.ReplaceAll(typed, "\\\n", " "), "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	args = append(args[2:], with...) // after "$ wva"
	picture := slices.Index(args, "--svg") + 1
	var name string
	if picture > 0 {
		name = args[picture]
		args[picture] = filepath.Join(t.TempDir(), name)
	}
	stdout, _, err := executed(t, newRootCommand(), "", args...)
	if err != nil && !errors.Is(err, errFinding) { // which is an exit status alone
		stdout += "wva: " + err.Error() + "\n"
	}
	if picture > 0 {
		drawn, err := os.ReadFile(args[picture])
		if err != nil {
			t.Fatal(err)
		}
		goldentest.Generated(t, filepath.Join("docs", "images", name), drawn, *update)
	}
	return strings.TrimRight(stdout, "\n") + "\n"
}
