package soak

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var mutants = flag.Bool("mutants", false, "build the core with each old rule of testdata/mutants and see that its defects are found")

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

// TestTheSoakFindsOldRules puts each old rule back into a copy of its source, builds
// this package with it, and sees that a case violates one of the rules that it is told
// to violate, which does not as the core is.
func TestTheSoakFindsOldRules(t *testing.T) {
	if !*mutants {
		t.Skip("-mutants not given: each takes a build and a run")
	}
	var needs Needs
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) {
			for _, one := range m.violations(t) {
				if !slices.Contains(m.rules, one.rule) || slices.ContainsFunc(judge(one.input(t), &needs, one.rule), func(v Violation) bool { return v.Rule == one.rule }) {
					continue
				}
				t.Logf("found by %s: %s", one.name, one.rule)
				return
			}
			t.Errorf("no case violates one of %v because of it:\n%s", m.rules, m.why)
		})
	}
}

// reported is a line of a report.
type reported struct {
	name string // seed, or file
	rule Rule
}

func (r reported) input(t *testing.T) Case {
	t.Helper()
	if n, err := strconv.ParseUint(r.name, 10, 64); err == nil {
		return Draw(n)
	}
	return read(t, r.name)
}

// violations returns what the cases violate with the old rule back.
func (m mutant) violations(t *testing.T) []reported {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: path("mutant.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"mutant.go": []byte(m.source(t)), "overlay.json": overlay} {
		if err := os.WriteFile(path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := m.cases
	if n == 0 {
		n = fixedCases
	}
	run(t, "go", "test", "-c", "-overlay", path("overlay.json"), "-o", path("soak.test"), ".")
	run(t, path("soak.test"), "-test.run", "^TestReport$", "-report", path("report"), "-cases", fmt.Sprint(n))
	content, err := os.ReadFile(path("report"))
	if err != nil {
		t.Fatal(err)
	}
	var out []reported
	for line := range strings.Lines(string(content)) {
		name, rule, _ := strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, reported{name, Rule(rule)})
	}
	return out
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}
