//go:build soak

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

var report = flag.String("report", "", "write what the fixed cases violate to this file, and fail for none of it")

// TestTheSoakFindsOldRules puts each old rule back into a copy of its source, builds
// this package with it, and sees that a case violates one of the rules that it is told
// to violate, which does not as the core is.
func TestTheSoakFindsOldRules(t *testing.T) {
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
	run(t, "go", "test", "-c", "-tags", "soak", "-overlay", path("overlay.json"), "-o", path("soak.test"), ".")
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

// TestReport writes what the fixed cases and those of testdata violate, a line for
// each: which case, and the rule.
func TestReport(t *testing.T) {
	if *report == "" {
		t.Skip("-report names no file")
	}
	var needs Needs
	var out strings.Builder
	for n := range *cases {
		for _, v := range Judge(Draw(uint64(n+1)), &needs) {
			fmt.Fprintf(&out, "%d %s\n", n+1, v.Rule)
		}
	}
	for _, file := range found(t) {
		for _, v := range Judge(read(t, file), &needs) {
			fmt.Fprintf(&out, "%s %s\n", file, v.Rule)
		}
	}
	if err := os.WriteFile(*report, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
