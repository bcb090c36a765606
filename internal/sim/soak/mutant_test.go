package soak

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the module.
var root = filepath.Join("..", "..", "..")

// mutant is an old rule of the deciding core: a text of a source file, and what it was
// before.
type mutant struct {
	name, why string
	file      string // below the root
	old, text string // as it is, and as it was
	rules     []Rule // of which it violates at least one
	cases     int    // fixed cases to look at; 0 means those of a run
}

// readMutants reads testdata/mutants/*.txt: comments, then "file:", "rules:" and
// perhaps "cases:", then the text that is there after a line "-- now", and the text
// that takes its place after a line "-- then".
func readMutants(t *testing.T) []mutant {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "mutants", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no mutants: %v", err)
	}
	var out []mutant
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(content), "-- now\n")
		now, then, also := strings.Cut(rest, "-- then\n")
		if !ok || !also {
			t.Fatalf("%s: want a line -- now, a text, a line -- then, a text", file)
		}
		m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".txt"), old: now, text: then}
		for line := range strings.Lines(head) {
			field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case strings.HasPrefix(line, "#"):
				m.why += line
			case field == "file":
				m.file = value
			case field == "rules":
				for rule := range strings.FieldsSeq(value) {
					m.rules = append(m.rules, Rule(rule))
				}
			case field == "cases":
				if m.cases, err = strconv.Atoi(value); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			case field != "":
				t.Fatalf("%s: found %q, want file, rules or cases", file, line)
			}
		}
		if m.file == "" || len(m.rules) == 0 || m.old == "" {
			t.Fatalf("%s: want a file, rules and a text that is there", file)
		}
		out = append(out, m)
	}
	return out
}

// source returns the file of m with the old rule back in it.
func (m mutant) source(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(content), m.old); n != 1 {
		t.Fatalf("%s: the text is there %d times, want once: the rule has moved, so bring testdata/mutants/%s.txt up to date:\n%s", m.file, n, m.name, m.old)
	}
	return strings.Replace(string(content), m.old, m.text, 1)
}

// TestMutantsFitTheSource: what a mutant replaces is there.
func TestMutantsFitTheSource(t *testing.T) {
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) { m.source(t) })
	}
}
