package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// word is a word that is not used. It may be a phrase of several.
type word struct {
	text, instead string
	except        []string // patterns of path.Match for files or folders in which it has another meaning
	whole         *regexp.Regexp
}

// words is the list of them.
type words []word

// finding is a word in a file.
type finding struct {
	line           int // 1 is the first
	found, instead string
}

// parseList reads lines "word | replacement | file file...". The last part is optional. It skips
// empty lines and those that begin with #.
func parseList(text string) (words, error) {
	var out words
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("line %d: %q, want word | replacement | files", i+1, line)
		}
		w := word{text: strings.ToLower(strings.TrimSpace(parts[0])), instead: strings.TrimSpace(parts[1])}
		if w.text == "" || w.instead == "" {
			return nil, fmt.Errorf("line %d: %q has no word or no replacement", i+1, line)
		}
		if len(parts) == 3 {
			w.except = strings.Fields(parts[2])
		}
		w.whole = regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(w.text), " ", `\s+`) + `\b`)
		out = append(out, w)
	}
	return out, nil
}

// in returns the findings in a file.
func (l words) in(file string, text []byte) []finding {
	var here words
	for _, w := range l {
		if !w.excepted(file) {
			here = append(here, w)
		}
	}
	switch path.Ext(file) {
	case ".go":
		return here.inGo(text)
	case ".md":
		return here.inMarkdown(string(text))
	}
	return here.inText(1, string(text)) // people read all of it
}

// excepted reports whether the word has another meaning in the file.
func (w word) excepted(file string) bool {
	for _, pattern := range w.except {
		for at := file; at != "."; at = path.Dir(at) {
			if ok, err := path.Match(pattern, at); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// inGo searches the comments and the names of a Go file, not its strings, which may quote others.
func (l words) inGo(text []byte) []finding {
	var out []finding
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind == token.IDENT {
			literal = parts(literal)
		}
		if kind == token.IDENT || kind == token.COMMENT {
			out = append(out, l.inText(files.Position(at).Line, literal)...)
		}
	}
}

// inMarkdown searches the lines outside of code.
func (l words) inMarkdown(text string) []finding {
	var out []finding
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			out = append(out, l.inText(i+1, quoted.ReplaceAllString(line, "``"))...)
		}
	}
	return out
}

// quoted matches code within a line of Markdown.
var quoted = regexp.MustCompile("`[^`]*`")

func (l words) inText(line int, text string) []finding {
	var out []finding
	for _, w := range l {
		for _, at := range w.whole.FindAllStringIndex(text, -1) {
			out = append(out, finding{line + strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], w.instead})
		}
	}
	return out
}

// parts separates the words of a name by spaces: waitingRoom and waiting_room are "waiting room".
func parts(name string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range name {
		if r == '_' {
			r = ' '
		} else if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}
