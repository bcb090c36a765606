// Command apitext writes the exported API of packages as text, so that a change of it is a change
// of a file that a reviewer reads.
//
// Usage:
//
//	go run ./hack/apitext [-o DIR] PKG...
//
// Each PKG is the folder of a package, relative to the working directory. Its API is written to
// DIR/PKG/api.txt, and to PKG/api.txt without -o. A folder without a package, or with one that
// cannot be parsed, is an error.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	os.Exit(run())
}

func run() int {
	out := flag.String("o", ".", "folder to write below")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: apitext [-o DIR] PKG...")
		return 2
	}
	for _, dir := range flag.Args() {
		if err := write(*out, dir); err != nil {
			fmt.Fprintf(os.Stderr, "apitext: %s: %v\n", dir, err)
			return 1
		}
	}
	return 0
}

// write writes the API of the package in dir below out.
func write(out, dir string) error {
	text, err := describe(dir)
	if err != nil {
		return err
	}
	file := filepath.Join(out, dir, "api.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
