package faults

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the page of faults")

// page is where users read of the faults.
const page = "../../docs/reference/faults.md"

func TestReferenceOfFaultsIsGenerated(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the list says: run go test ./test/faults -run Reference -update (-want +got):\n%s", page, diff)
	}
}

// reference returns the page.
func reference() string {
	var b strings.Builder
	all := All()
	fmt.Fprintf(&b, `<!-- Generated from test/faults by go test ./test/faults -run Reference -update. -->

# Faults

%d faults, what the manager does while each lasts, and how you learn of it. Each is injected by the tests that are named, which
run with a manager process and a real API server, with the engine of Prometheus behind a proxy that breaks, or with the
simulator. By symptom: [troubleshooting](../user-guide/troubleshooting.md).
`, len(all))
	for _, of := range Areas() {
		fmt.Fprintf(&b, "\n## %s\n\n| Fault | What breaks | What the manager does | What you are told | Shown by |\n| --- | --- | --- | --- | --- |\n", of.Area)
		for _, f := range all {
			if f.Area != of.Area {
				continue
			}
			var tests []string
			for _, test := range f.Tests {
				tests = append(tests, fmt.Sprintf("`%s` in [%s](../../%s)", test.Name, test.Package, test.Package))
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.ID, f.Breaks, f.Manager, f.Told, strings.Join(tests, "<br>"))
		}
	}
	return b.String()
}

func TestThereAreFortyFaultsAndEachIsTested(t *testing.T) {
	count, seen := map[Area]int{}, map[string]bool{}
	var order []Area
	for _, f := range All() {
		count[f.Area]++
		if len(order) == 0 || order[len(order)-1] != f.Area {
			order = append(order, f.Area)
		}
		if seen[f.ID] {
			t.Errorf("%s is there twice", f.ID)
		}
		seen[f.ID] = true
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`).MatchString(f.ID) {
			t.Errorf("%s: want words in lower case with hyphens", f.ID)
		}
		for field, text := range map[string]string{"what breaks": f.Breaks, "what the manager does": f.Manager, "what its user is told": f.Told} {
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %s is %q, want a text for a cell of a table", f.ID, field, text)
			}
		}
		if len(f.Tests) == 0 {
			t.Errorf("%s has no test", f.ID)
		}
	}
	var want []Area
	total := 0
	for _, of := range Areas() {
		want = append(want, of.Area)
		total += of.Faults
		if count[of.Area] != of.Faults {
			t.Errorf("%s has %d faults, want %d", of.Area, count[of.Area], of.Faults)
		}
	}
	if total != 40 || !slices.Equal(order, want) {
		t.Errorf("%d faults of %v, want 40 of %v, those of an area together", total, order, want)
	}
}

// TestWhatIsToldIsExplained: each condition, reason and event that the list names is on
// the page of troubleshooting.
func TestWhatIsToldIsExplained(t *testing.T) {
	explained, err := os.ReadFile("../../docs/user-guide/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, f := range All() {
		for _, word := range regexp.MustCompile("`[A-Z][a-z]+[A-Z][A-Za-z]+`").FindAllString(f.Told, -1) {
			words++
			if !strings.Contains(string(explained), word) {
				t.Errorf("%s tells of %s, which troubleshooting.md does not explain", f.ID, word)
			}
		}
	}
	if words < 20 {
		t.Errorf("%d conditions, reasons and events are told of, too few to be all", words)
	}
}

func TestEveryTestOfAFaultExists(t *testing.T) {
	packages := map[string]*tests{}
	for _, f := range All() {
		for _, test := range f.Tests {
			of := packages[test.Package]
			if of == nil {
				of = readTests(t, test.Package)
				packages[test.Package] = of
			}
			if missing := of.missing(test.Name); missing != "" {
				t.Errorf("%s: %s has no %s, of %s", f.ID, test.Package, missing, test.Name)
			}
		}
	}
}

func TestATestThatIsNotThereIsMissed(t *testing.T) {
	of := readTests(t, here)
	for name, want := range map[string]string{
		"TestEveryTestOfAFaultExists":                              "",
		"TestTheLeadIsLost/ADeletedLeaseIsMadeAgain":               "",
		"TestNoSuch" + "Test":                                      "test TestNoSuch" + "Test",
		"TestTheLeadIsLost/" + "NoSuch" + "Case":                   "subtest NoSuch" + "Case",
		"TestReferenceOfFaultsIsGenerated/AnyThing" + "Whatsoever": "subtest AnyThing" + "Whatsoever",
	} {
		if got := of.missing(name); got != want {
			t.Errorf("%s: missing %q, want %q", name, got, want)
		}
	}
}

// tests is what a package has.
type tests struct {
	dir       string
	functions map[string]bool
	texts     map[string]bool // literals, of which some name subtests
}

// readTests reads the test files of a package, whatever their build tags.
func readTests(t *testing.T, folder string) *tests {
	t.Helper()
	of := &tests{dir: filepath.Join(root, folder), functions: map[string]bool{}, texts: map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(of.dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					of.functions[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					of.texts[text] = true
				}
			}
			return true
		})
	}
	return of
}

// missing returns what of a test is not there, "" for nothing. A subtest is named by a
// literal, or by a file of testdata.
func (of *tests) missing(name string) string {
	parts := strings.Split(name, "/")
	if !of.functions[parts[0]] {
		return "test " + parts[0]
	}
	for _, sub := range parts[1:] {
		if _, err := os.Stat(filepath.Join(of.dir, "testdata", sub+".txt")); err != nil && !of.texts[sub] {
			return "subtest " + sub
		}
	}
	return ""
}
