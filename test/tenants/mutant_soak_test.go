//go:build soak

package tenants

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	report = flag.String("report", "", "write the rules that -case violates to this file, and fail for none of it")
	only   = flag.String("case", "", "the file of the case for -report")
	costs  = flag.Bool("costs", false, "judge time and memory for -report")
)

// TestOldRulesAreFound puts each old rule back into a copy of its source, builds this
// package with it, and sees that the case of the mutant violates one of its rules, and
// none as the manager is.
func TestOldRulesAreFound(t *testing.T) {
	var honest Honest
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) {
			for _, v := range Judge(t, m.violates, &honest, m.costs()) {
				t.Errorf("without the old rule: %s", v)
			}
			found := m.violations(t)
			if !slices.ContainsFunc(found, func(rule string) bool { return slices.Contains(m.rules, rule) }) {
				t.Errorf("violates %v, want one of %v:\n%s", found, m.rules, m.why)
			}
		})
	}
}

// costs reports whether m is about time or memory, which take long to judge.
func (m mutant) costs() bool {
	return measured && (slices.Contains(m.rules, string(Time)) || slices.Contains(m.rules, string(Memory)))
}

// violations returns the rules that the case violates with the old rule back.
func (m mutant) violations(t *testing.T) []string {
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
	for name, content := range map[string][]byte{"mutant.go": []byte(m.source(t)), "overlay.json": overlay, "case.txt": []byte(m.violates.String())} {
		if err := os.WriteFile(path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "go", "test", "-c", "-tags", "soak", "-overlay", path("overlay.json"), "-o", path("tenants.test"), ".")
	run(t, path("tenants.test"), "-test.run", "^TestReport$", "-report", path("report"), "-case", path("case.txt"), fmt.Sprintf("-costs=%t", m.costs()))
	content, err := os.ReadFile(path("report"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(content))
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}

// TestReport writes the rules that a case violates.
func TestReport(t *testing.T) {
	if *report == "" {
		t.Skip("-report names no file")
	}
	var honest Honest
	var out strings.Builder
	for _, v := range Judge(t, read(t, *only), &honest, *costs) {
		t.Log(v)
		out.WriteString(string(v.Rule) + "\n")
	}
	if err := os.WriteFile(*report, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
