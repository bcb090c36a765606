package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz test.
type target struct{ folder, name string }

// String returns FOLDER:NAME.
func (t target) String() string { return t.folder + ":" + t.name }

var declared = regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]*)\(`)

// find returns the fuzz tests of the module in a folder, sorted, without those of modules within
// it.
func find(module fs.FS) ([]target, error) {
	var out []target
	err := fs.WalkDir(module, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file == "." {
				return nil
			}
			if _, err := fs.Stat(module, path.Join(file, "go.mod")); err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(module, file)
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			out = append(out, target{path.Dir(file), string(m[1])})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for fuzz tests: %w", err)
	}
	slices.SortFunc(out, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// progress matches a line that the go command prints every few seconds, and at the end.
var progress = regexp.MustCompile(`(?m)^fuzz: elapsed: (\S+), execs: (\d+) `)

// rateOf returns the inputs a second by the last such line of a fuzz test's output.
func rateOf(said string) (float64, error) {
	all := progress.FindAllStringSubmatch(said, -1)
	if len(all) == 0 {
		return 0, errors.New("it tried no input in its time: every seed takes too long")
	}
	last := all[len(all)-1]
	elapsed, err := time.ParseDuration(last[1])
	if err != nil {
		return 0, fmt.Errorf("reading the time of %q: %w", last[0], err)
	}
	inputs, err := strconv.ParseFloat(last[2], 64)
	if err != nil {
		return 0, fmt.Errorf("reading the inputs of %q: %w", last[0], err)
	}
	return inputs / max(elapsed.Seconds(), 1), nil
}
