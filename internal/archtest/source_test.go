package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clockReaders are the functions of package time that read or wait for the wall
// clock. Computation takes now as a value; engines and adapters take a clock.
var clockReaders = []string{
	"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// generators are the names of math/rand/v2 that do not draw from its ambient,
// unseeded source.
var generators = []string{
	"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewZipf", "PCG", "Rand", "Source", "Zipf",
}

func TestEveryPackageHasADocComment(t *testing.T) {
	tree := readTree(t)
	for _, pkg := range tree.packages() {
		var docs []string
		name := ""
		for _, f := range tree.files {
			if f.pkg != pkg {
				continue
			}
			name = strings.TrimSuffix(f.syntax.Name.Name, "_test")
			if f.syntax.Doc != nil {
				docs = append(docs, f.syntax.Doc.Text())
			}
		}
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + path.Base(pkg) + " "
		}
		begins := func(doc string) bool { return strings.HasPrefix(strings.Join(strings.Fields(doc), " "), want) }
		if !slices.ContainsFunc(docs, begins) {
			t.Errorf("%s has no package comment that begins with %q", pkg, want)
		}
	}
}

// TestNoAmbientInput checks that neither the decision core nor an engine reads
// the clock or draws ambient randomness: what is decided is a function of what
// is passed in.
func TestNoAmbientInput(t *testing.T) {
	tree := readTree(t)
	for _, f := range tree.files {
		if at, _ := layer(f.pkg); f.test || isTestSupport(f.pkg) || !isCore(f.pkg, at) && at != 4 {
			continue
		}
		for _, finding := range ambient(tree.fset, f.syntax) {
			t.Error(finding)
		}
	}
}

// TestNoHiddenState checks that no package keeps state of its own or does
// anything when it is loaded. Generated code registers what it describes.
func TestNoHiddenState(t *testing.T) {
	tree := readTree(t)
	byPackage := map[string][]*ast.File{}
	for _, f := range tree.files {
		if !f.test && !ast.IsGenerated(f.syntax) {
			byPackage[f.pkg] = append(byPackage[f.pkg], f.syntax)
		}
	}
	for _, files := range byPackage {
		for _, finding := range hidden(tree.fset, files) {
			t.Error(finding)
		}
	}
}

// ambient reports the uses of the clock and of ambient randomness in a file.
func ambient(fset *token.FileSet, f *ast.File) []string {
	var findings []string
	clock, random := importName(f, "time"), importName(f, "math/rand/v2")
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		switch {
		case !ok || id.Obj != nil: // not a package
		case id.Name == clock && slices.Contains(clockReaders, sel.Sel.Name):
			findings = append(findings, fmt.Sprintf("%s: time.%s: take now or a clock.Clock",
				fset.Position(n.Pos()), sel.Sel.Name))
		case id.Name == random && !slices.Contains(generators, sel.Sel.Name):
			findings = append(findings, fmt.Sprintf("%s: rand.%s draws from the ambient source: take a *rand.Rand",
				fset.Position(n.Pos()), sel.Sel.Name))
		}
		return true
	})
	return findings
}

// hidden reports the init functions of one package and its package-level
// variables that are assigned after their declaration.
func hidden(fset *token.FileSet, files []*ast.File) []string {
	var findings []string
	report := func(at ast.Node, format string, args ...any) {
		findings = append(findings, fmt.Sprintf("%s: %s", fset.Position(at.Pos()), fmt.Sprintf(format, args...)))
	}
	globals := packageVars(files)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					report(n, "init: construct it in cmd and pass it in")
				}
			case *ast.AssignStmt:
				for _, lhs := range n.Lhs {
					if id := root(lhs); id != nil && n.Tok != token.DEFINE && globals.has(id) {
						report(lhs, "%s is a package-level variable that changes", id.Name)
					}
				}
			case *ast.IncDecStmt:
				if id := root(n.X); id != nil && globals.has(id) {
					report(n, "%s is a package-level variable that changes", id.Name)
				}
			}
			return true
		})
	}
	return findings
}

// vars is a set of package-level variables: by declaration for uses in the
// declaring file, by name for the others, where the parser leaves them
// unresolved.
type vars struct {
	declared map[any]bool
	names    map[string]bool
}

func (v vars) has(id *ast.Ident) bool {
	if id.Obj == nil {
		return v.names[id.Name]
	}
	return v.declared[id.Obj.Decl]
}

// packageVars returns the package-level variables declared in files.
func packageVars(files []*ast.File) vars {
	v := vars{declared: map[any]bool{}, names: map[string]bool{}}
	for _, f := range files {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				v.declared[spec] = true
				for _, name := range spec.(*ast.ValueSpec).Names {
					v.names[name.Name] = true
				}
			}
		}
	}
	delete(v.names, "_")
	return v
}

// root returns the variable that an assignment to e changes, or nil.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// importName returns the name under which a file uses an imported package, or
// "" if it does not import it. The last element v2 is not a name.
func importName(f *ast.File, imp string) string {
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != imp {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(strings.TrimSuffix(imp, "/v2"))
	}
	return ""
}

// TestFindings keeps the checks above honest.
func TestFindings(t *testing.T) {
	tests := map[string]struct {
		sources []string
		want    string // part of the only finding; "" for none
	}{
		"clock":                 {[]string{"package p\nimport \"time\"\nvar T = time.Now"}, "time.Now"},
		"clock under a name":    {[]string{"package p\nimport t \"time\"\nfunc f() { t.Sleep(1) }"}, "time.Sleep"},
		"duration":              {[]string{"package p\nimport \"time\"\nconst d = time.Second"}, ""},
		"shadowed clock":        {[]string{"package p\nimport \"time\"\nconst d = time.Second\nfunc f(time struct{ Now int }) int { return time.Now }"}, ""},
		"ambient random number": {[]string{"package p\nimport \"math/rand/v2\"\nfunc f() int { return rand.IntN(3) }"}, "rand.IntN"},
		"passed generator":      {[]string{"package p\nimport \"math/rand/v2\"\nfunc f(r *rand.Rand) int { return r.IntN(3) }"}, ""},
		"init":                  {[]string{"package p\nfunc init() {}"}, "init"},
		"init method":           {[]string{"package p\ntype T struct{}\nfunc (T) init() {}"}, ""},
		"assigned variable":     {[]string{"package p\nvar n int\nfunc f() { n = 1 }"}, "n is a package-level variable"},
		"assigned elsewhere":    {[]string{"package p\nvar m map[string]int", "package p\nfunc f() { m[\"a\"]++ }"}, "m is a package-level variable"},
		"local of the same name": {
			[]string{"package p\nvar n int", "package p\nfunc f() int { n := 1; n = 2; return n }"}, "",
		},
		"table": {[]string{"package p\nvar m = map[string]int{}\nfunc f() int { return m[\"a\"] }"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fset := token.NewFileSet()
			var files []*ast.File
			for i, src := range tt.sources {
				f, err := parser.ParseFile(fset, fmt.Sprintf("%d.go", i), src, 0)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, f)
			}
			got := hidden(fset, files)
			for _, f := range files {
				got = append(got, ambient(fset, f)...)
			}
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("got %q, want nothing", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("got %q, want one finding with %q", got, tt.want)
			}
		})
	}
}
