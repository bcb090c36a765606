package tenants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

// mutant is an old rule of the manager: texts of a source file and what they were before,
// and a case that violates one of several rules with them.
type mutant struct {
	name, why string
	file      string   // below the root
	replaced  []string // a text that is there, and what takes its place, in turn
	rules     []string
	violates  Case
}

// readMutants reads testdata/mutants/*.txt: comments, "file:" and "rules:", a case, then
// after each line "-- now" a text that is there, and after "-- then" what takes its place.
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
		m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".txt")}
		for ok {
			var now, then string
			if now, then, ok = strings.Cut(rest, "-- then\n"); !ok {
				t.Fatalf("%s: want a line -- then after each text that is there", file)
			}
			then, rest, ok = strings.Cut(then, "-- now\n")
			m.replaced = append(m.replaced, now, then)
		}
		var of strings.Builder
		for line := range strings.Lines(head) {
			field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case strings.HasPrefix(line, "#"):
				m.why += line
			case field == "file":
				m.file = value
			case field == "rules":
				m.rules = strings.Fields(value)
			default:
				of.WriteString(line)
			}
		}
		if m.violates, err = Parse(of.String()); err != nil || m.file == "" || len(m.rules) == 0 || len(m.replaced) == 0 {
			t.Fatalf("%s: want a file, rules, a case and a text that is there: %v", file, err)
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
	out := string(content)
	for i := 0; i < len(m.replaced); i += 2 {
		if n := strings.Count(out, m.replaced[i]); n != 1 {
			t.Fatalf(
				"%s: the text is there %d times, want once: the rule has moved, so bring testdata/mutants/%s.txt up to date:\n%s",
				m.file, n, m.name, m.replaced[i],
			)
		}
		out = strings.Replace(out, m.replaced[i], m.replaced[i+1], 1)
	}
	return out
}

// TestMutantsFitTheSource: what a mutant replaces is there.
func TestMutantsFitTheSource(t *testing.T) {
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) { m.source(t) })
	}
}
