package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// describe returns the exported API of the package in dir: constants, variables, functions, then
// types with their exported fields and methods, each kind sorted by name. It leaves out comments,
// bodies and tests. It only hints at unexported fields, since a struct with them cannot be written
// without field names.
func describe(dir string) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		// Without comments: other code does not depend on them.
		file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 && file.Name.Name != files[0].Name.Name {
			return nil, fmt.Errorf("%s is of package %s, want %s as before it", name, file.Name.Name, files[0].Name.Name)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errors.New("there is no package: want a folder with Go files other than tests")
	}
	// The path only matters for links in comments.
	pkg, err := doc.NewFromFiles(fset, files, filepath.ToSlash(dir))
	if err != nil {
		return nil, err
	}
	p := apiPrinter{fset: fset}
	fmt.Fprintf(&p.text, "package %s\n", pkg.Name)
	p.values(pkg.Consts)
	p.values(pkg.Vars)
	p.funcs(pkg.Funcs)
	for _, t := range pkg.Types {
		p.decl(t.Decl)
		p.values(t.Consts)
		p.values(t.Vars)
		p.funcs(t.Funcs)
		p.funcs(t.Methods)
	}
	return p.text.Bytes(), p.err
}

// apiPrinter collects declarations and errors.
type apiPrinter struct {
	fset *token.FileSet
	text bytes.Buffer
	err  error
}

func (p *apiPrinter) values(values []*doc.Value) {
	for _, v := range values {
		p.decl(v.Decl)
	}
}

func (p *apiPrinter) funcs(funcs []*doc.Func) {
	for _, f := range funcs {
		f.Decl.Body = nil
		p.decl(f.Decl)
	}
}

// decl prints one declaration as gofmt would, without the empty lines in the place of comments.
func (p *apiPrinter) decl(node ast.Node) {
	var spaced, dense bytes.Buffer
	err := printer.Fprint(&spaced, p.fset, node)
	for line := range bytes.Lines(spaced.Bytes()) {
		if len(bytes.TrimSpace(line)) > 0 {
			dense.Write(line)
		}
	}
	text, formatErr := format.Source(dense.Bytes())
	p.err = errors.Join(p.err, err, formatErr)
	p.text.WriteByte('\n')
	p.text.Write(text)
	p.text.WriteByte('\n')
}
