// Command words finds words that this repository does not use, each of which has a better one:
// in the names and comments of Go files, outside of code in Markdown, and in all of YAML, JSON,
// templates, pages, scripts and texts.
//
// Usage:
//
//	go run ./hack/words [ROOT]
//
// It prints "file:line: word: write replacement" for each and ends with 1 if there is any. The list
// is words.txt beside it.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed words.txt
var list string

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	found, err := check(root)
	for _, f := range found {
		fmt.Println(f)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	case len(found) > 0:
		os.Exit(1)
	}
}

// searched returns the patterns of the files that are searched.
func searched() []string {
	return []string{
		"*.go", "*.md", "*.yaml", "*.yml", "*.json", "*.tpl", "*.tmpl", "*.html", "*.css", "*.js", "*.sh", "*.txt", "Makefile", "*/Makefile",
		":!hack/words/words.txt",
	}
}

// check searches the files that people read, of those of the repository that git knows.
func check(root string) ([]string, error) {
	words, err := parseList(list)
	if err != nil {
		return nil, fmt.Errorf("reading words.txt: %w", err)
	}
	git := exec.Command("git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}, searched()...)...)
	git.Dir = root
	out, err := git.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", root, err)
	}
	var found []string
	for file := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		for _, f := range words.in(file, text) {
			found = append(found, fmt.Sprintf("%s:%d: %s: write %s", file, f.line, f.found, f.instead))
		}
	}
	return found, nil
}
