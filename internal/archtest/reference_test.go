package archtest

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

var update = flag.Bool("update", false, "rewrite the package reference")

// reference is the page for developers.
var reference = filepath.Join("..", "..", "docs", "developer-guide", "package-reference.md")

// layerNames say what each layer is.
var layerNames = []string{
	"The API, and the public libraries",
	"The nouns",
	"The decisions",
	"What a process keeps",
	"The engines",
	"The adapters",
	"The programs, and what they are tested with",
}

// packageEntry is a package on the page.
type packageEntry struct {
	Path    string
	Purpose string // its comment's first sentence, without its name
}

// layerEntry is a layer on the page, or a module.
type layerEntry struct {
	Title    string
	Packages []packageEntry
}

func TestPackageReferenceIsGeneratedFromThePackages(t *testing.T) {
	tree := readTree(t)
	var layered []layerEntry
	for _, title := range layerNames {
		layered = append(layered, layerEntry{Title: title})
	}
	for _, p := range entries(tree.files) {
		n, _ := layer(p.Path)
		layered[n].Packages = append(layered[n].Packages, p)
	}
	byModule := map[string][]file{}
	for _, f := range tree.foreign {
		byModule[f.module] = append(byModule[f.module], f)
	}
	var modules []layerEntry
	for _, m := range slices.Sorted(slices.Values(tree.nested)) {
		if packages := entries(byModule[m]); len(packages) > 0 {
			modules = append(modules, layerEntry{Title: strings.TrimPrefix(m, module+"/"), Packages: packages})
		}
	}
	page, err := template.New("reference.md.tmpl").Funcs(template.FuncMap{
		"up":   func(p string) string { return path.Join("..", "..", p) },
		"cell": func(text string) string { return strings.ReplaceAll(text, "|", "\\|") },
	}).ParseFiles(filepath.Join("testdata", "reference.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := page.Execute(&want, struct{ Layers, Modules []layerEntry }{layered, modules}); err != nil {
		t.Fatal(err)
	}
	goldentest.Generated(t, reference, want.Bytes(), *update)
}

// entries returns the packages that files make up, sorted by path.
func entries(files []file) []packageEntry {
	byPackage := map[string][]file{}
	for _, f := range files {
		byPackage[f.pkg] = append(byPackage[f.pkg], f)
	}
	var out []packageEntry
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		out = append(out, packageEntry{Path: pkg, Purpose: purpose(byPackage[pkg])})
	}
	return out
}

// purpose returns the first sentence of a package's comment, without its first two
// words, which name it, and "is".
func purpose(files []file) string {
	for _, f := range files {
		if f.syntax.Doc == nil {
			continue
		}
		sentence := new(doc.Package).Synopsis(f.syntax.Doc.Text())
		for _, first := range []string{"Package ", "Command "} {
			if rest, ok := strings.CutPrefix(sentence, first); ok {
				_, sentence, _ = strings.Cut(rest, " ")
				return strings.TrimSuffix(strings.TrimPrefix(sentence, "is "), ".")
			}
		}
	}
	return ""
}

// TestTheOverviewNamesEveryPackage: its tables of rooms have a row for each package
// of the main module.
func TestTheOverviewNamesEveryPackage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture", "overview.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range readTree(t).packages() {
		if !strings.Contains(string(page), "`"+pkg+"`") {
			t.Errorf("docs/architecture/overview.md has no row for %s: add it to a table of rooms", pkg)
		}
	}
}

// TestTheReferenceNamesWhatThereIs: a name behind a package, in the tables of what is where, is
// exported by that package.
func TestTheReferenceNamesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]bool{}
	for _, f := range readTree(t).files {
		for _, name := range exportedNames(f.syntax) {
			exported[f.pkg+"."+name] = true
		}
	}
	named := regexp.MustCompile("`((?:internal|pkg)/[a-z0-9/]+\\.[A-Z][A-Za-z.]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) == 0 {
		t.Fatal("no name found: the pattern is out of date")
	}
	for _, m := range named {
		if !exported[m[1]] {
			t.Errorf("%s is named and not exported", m[1])
		}
	}
}

// exportedNames returns the exported functions and types of a file, and methods as Type.Method.
func exportedNames(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
				continue
			}
			of := d.Recv.List[0].Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			if of, ok := of.(*ast.Ident); ok {
				names = append(names, of.Name+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	return names
}

func TestPurpose(t *testing.T) {
	tree := readTree(t)
	for _, p := range append(entries(tree.files), entries(tree.foreign)...) {
		if p.Purpose == "" {
			t.Errorf("%s: no package comment whose first sentence says what it is", p.Path)
		}
	}
}
