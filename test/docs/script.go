package docs

import (
	"fmt"
	"strings"
)

// notRun begins the first line of an sh block that is not run.
const notRun = "# not run: "

// NotRun returns why an sh block is not run, "" if it is.
func (b Block) NotRun() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	reason, _ := strings.CutPrefix(first, notRun)
	if reason == first {
		return ""
	}
	return strings.TrimSpace(reason)
}

// Script returns the sh blocks of a page that are run, as one program for bash, ""
// if there are none. Before each it prints where the block stands, so that output
// that ends early says in which, and when.
func (p Page) Script() string {
	var script strings.Builder
	for _, b := range p.Blocks {
		if b.Language == "sh" && b.NotRun() == "" {
			fmt.Fprintf(&script, "echo \"# %s:%d after ${SECONDS}s\"\n%s", p.Path, b.Line, b.Text)
		}
	}
	return script.String()
}
