package controller

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestTroubleshootingNamesEveryReason: users find every reason on the page, in a row of the table
// of its kind.
func TestTroubleshootingNamesEveryReason(t *testing.T) {
	page, err := os.ReadFile("../../docs/user-guide/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ file, prefix, section string }{
		{"../../api/v1alpha1/conditions.go", "Condition", "## Conditions and their reasons"},
		{"../../api/v1alpha1/conditions.go", "Reason", "## Conditions and their reasons"},
		{"events.go", "event", "## Events"},
		{"../scaling/decision.go", "Reason", "## Reasons of steps"},
		{"../scaling/decision.go", "Stage", "## Reasons of steps"},
	} {
		_, section, found := strings.Cut(string(page), "\n"+of.section+"\n")
		if !found {
			t.Fatalf("the page has no section %q", of.section)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		values := constants(t, of.file, of.prefix)
		if len(values) < 5 {
			t.Errorf("%s has %d constants %s...: too few to be all", of.file, len(values), of.prefix)
		}
		for _, value := range values {
			if !inTable(section, value) {
				t.Errorf("%s: no row of %q names %s", of.file, of.section, value)
			}
		}
	}
}

// inTable reports whether a row of a table names a word, in backquotes or, as for stages, alone in
// a cell.
func inTable(section, word string) bool {
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "|") && (strings.Contains(line, "`"+word+"`") || strings.Contains(line, "| "+word+" |")) {
			return true
		}
	}
	return false
}

// constants returns the values of the constants in a file whose names begin with prefix.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, decl := range source.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 || !strings.HasPrefix(value.Names[0].Name, prefix) {
				continue
			}
			literal, ok := value.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s: %s is not a literal", file, value.Names[0].Name)
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
	}
	return values
}
