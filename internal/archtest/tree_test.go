package archtest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tree is the source of the repository.
type tree struct {
	fset    *token.FileSet
	files   []file   // of the main module
	foreign []file   // of other modules in the repository
	nested  []string // paths of those modules
}

// file is one parsed source file.
type file struct {
	name   string // relative to the repository, with slashes
	pkg    string // directory, relative to the repository
	module string // path of the module it belongs to
	test   bool   // named _test.go
	syntax *ast.File
}

// imports returns the paths that a file imports.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic("archtest: parsed import is not a string: " + spec.Path.Value)
		}
		paths = append(paths, p)
	}
	return paths
}

// packages returns the directories of the main module that hold Go files, sorted.
func (tr *tree) packages() []string {
	var pkgs []string
	for _, f := range tr.files {
		pkgs = append(pkgs, f.pkg)
	}
	slices.Sort(pkgs)
	return slices.Compact(pkgs)
}

// readTree parses every source file below the repository's root.
func readTree(t *testing.T) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	root := filepath.Join("..", "..")
	if got := modulePath(t, root); got != module {
		t.Fatalf("go.mod says %s, this test says %s", got, module)
	}
	modules := map[string]string{".": module} // by directory
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && skipped(d.Name()) {
				return filepath.SkipDir
			}
			inherited, ok := modules[path.Dir(rel)]
			if own := modulePath(t, name); own != "" && rel != "." {
				tr.nested = append(tr.nested, own)
				inherited, ok = own, true
			}
			if ok {
				modules[rel] = inherited
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		syntax, err := parser.ParseFile(tr.fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		f := file{
			name: rel, pkg: path.Dir(rel), module: modules[path.Dir(rel)],
			test: strings.HasSuffix(rel, "_test.go"), syntax: syntax,
		}
		if f.module == module {
			tr.files = append(tr.files, f)
		} else {
			tr.foreign = append(tr.foreign, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.files) == 0 {
		t.Fatal("no source files found")
	}
	return tr
}

// skipped reports whether a directory holds no source of this repository.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		slices.Contains([]string{"testdata", "vendor", "bin", "dist"}, name)
}

// modulePath returns the path in the go.mod of a directory, or "" if it has none.
func modulePath(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if p, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(p)
		}
	}
	t.Fatalf("%s/go.mod names no module", dir)
	return ""
}
