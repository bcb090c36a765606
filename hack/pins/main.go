// Command pins checks that what the workflows and Dockerfiles of this repository fetch is named by
// what it contains: actions by a commit, images by a digest. A tag can be moved to other content.
//
// Usage:
//
//	go run ./hack/pins
//
// A reference that is not pinned has to be a line of hack/pins/unpinned.txt, and every line there
// has to be in use. To pin one, look up the commit where the action is published (git ls-remote
// https://github.com/OWNER/NAME TAG) or the digest at the registry, write it with the tag as
// comment, and remove the line.
package main

import (
	"fmt"
	"os"
)

func main() {
	faults, err := check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "pins:", err)
		os.Exit(1)
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, "pins:", f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
