package archtest

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// fileName is what the name of a file may be made of. A module with other characters in
// one, such as a star, cannot be fetched, and not every system can check it out.
var fileName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func TestNamesOfFilesCanBeCheckedOutEverywhere(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("this is no checkout of git: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		for part := range strings.SplitSeq(name, "/") {
			if !fileName.MatchString(part) {
				t.Errorf("%s: the name %q has a character that is not a letter, digit, dot, dash or underscore", name, part)
			}
		}
	}
}
