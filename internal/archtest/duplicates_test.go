package archtest

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"hash/maphash"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostEqual is how many tokens of code may be equal in two places: some eight lines.
const mostEqual = 100

// duplicates are the runs of equal tokens that stay, by the two places, with the reason.
var duplicates = map[[2]string]string{}

// codeToken is a token of a file outside tests.
type codeToken struct {
	text, file string
	line       int
}

// tokens returns those of a file without comments and imports, and what no other file has
// at the end.
func tokens(name string, source []byte) []codeToken {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	var out []codeToken
	imports, depth := false, 0
	for {
		at, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return append(out, codeToken{text: "end of " + name, file: name})
		case kind == token.IMPORT:
			imports, depth = true, 0
		case imports && kind == token.LPAREN:
			depth++
		case imports && kind == token.RPAREN:
			depth--
		case imports && kind == token.SEMICOLON:
			imports = depth > 0
		case imports:
		case kind.IsLiteral():
			out = append(out, codeToken{text, name, file.Line(at)})
		default:
			out = append(out, codeToken{kind.String(), name, file.Line(at)})
		}
	}
}

// equalRun is a run of equal tokens in two places.
type equalRun struct {
	first, second codeToken
	length        int
}

// equalRuns returns the runs of n equal tokens or more. It compares rolling hashes.
func equalRuns(all []codeToken, n int) []equalRun {
	const base = 1099511628211 // that of FNV
	seed := maphash.MakeSeed()
	hashes, leaving, window := make([]uint64, len(all)), uint64(1), uint64(0)
	for range n {
		leaving *= base
	}
	firsts := map[uint64]int{}
	var out []equalRun
	after := 0
	for i := range all {
		hashes[i] = maphash.String(seed, all[i].text)
		window = window*base + hashes[i]
		if i >= n {
			window -= hashes[i-n] * leaving
		}
		start := i - n + 1
		if start < after {
			continue
		}
		first, known := firsts[window]
		if !known {
			firsts[window] = start
			continue
		}
		length := 0
		for first+length < start && start+length < len(all) && all[first+length].text == all[start+length].text {
			length++
		}
		if length >= n {
			out = append(out, equalRun{all[first], all[start], length})
			after = start + length
		}
	}
	return out
}

func TestNoCodeIsWrittenTwice(t *testing.T) {
	var all []codeToken
	for _, f := range readTree(t).files {
		if f.test || ast.IsGenerated(f.syntax) {
			continue
		}
		source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.name)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tokens(f.name, source)...)
	}
	found := map[[2]string]bool{}
	for _, run := range equalRuns(all, mostEqual) {
		places := [2]string{run.first.file, run.second.file}
		found[places] = true
		if duplicates[places] == "" {
			t.Errorf("%s:%d: %d tokens are those of %s:%d: let both call one function, or give the reason in duplicates",
				run.second.file, run.second.line, run.length, run.first.file, run.first.line)
		}
	}
	for places := range duplicates {
		if !found[places] {
			t.Errorf("%s and %s have no equal run any more: remove them from duplicates", places[0], places[1])
		}
	}
}

func TestEqualRunsAreFound(t *testing.T) {
	text := "package a\n\nimport \"fmt\"\n\nfunc f(a int) { fmt.Println(a, 1, 2, 3, \"x\") }\n"
	all := append(tokens("a.go", []byte(text)), tokens("b.go", []byte("// Package b.\n"+strings.Replace(text, "package a", "package b", 1)))...)
	got := equalRuns(all, 10)
	if len(got) != 1 || got[0].first.file != "a.go" || got[0].second.file != "b.go" || got[0].length != 24 {
		t.Errorf("runs %+v, want one of 24 tokens", got)
	}
	other := tokens("c.go", []byte(strings.Replace(text, "1, 2, 3", "3, 2, 1", 1)))
	if len(equalRuns(append(tokens("a.go", []byte(text)), other...), 20)) != 0 {
		t.Error("runs that differ are taken for equal")
	}
}
