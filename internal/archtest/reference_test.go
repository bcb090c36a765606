package archtest

import (
	"bytes"
	"flag"
	"go/doc"
	"maps"
	"os"
	"path"
	"path/filepath"
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
	"The API, and the libraries for everybody",
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

// TestTheOverviewNamesEveryPackage: its table of rooms has a row for each package
// below internal.
func TestTheOverviewNamesEveryPackage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture", "overview.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range readTree(t).packages() {
		if strings.HasPrefix(pkg, "internal/") && !strings.Contains(string(page), "`"+pkg+"`") {
			t.Errorf("docs/architecture/overview.md has no row for %s: add it to the table of rooms", pkg)
		}
	}
}

func TestPurpose(t *testing.T) {
	tree := readTree(t)
	for _, p := range append(entries(tree.files), entries(tree.foreign)...) {
		if p.Purpose == "" {
			t.Errorf("%s: no package comment whose first sentence says what it is", p.Path)
		}
	}
}
