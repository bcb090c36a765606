// Package version says which build of this project a program is.
package version

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// unknown stands for what a build does not tell.
const unknown = "unknown"

// String returns the version, the commit and what built the running program, as
// the go command recorded them in it.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return describe(info)
}

// describe returns "VERSION, commit COMMIT of TIME, GOVERSION OS/ARCH". A commit
// with changes on top says so.
func describe(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	or := func(s string) string {
		if s == "" {
			return unknown
		}
		return s
	}
	commit := or(settings["vcs.revision"])
	if at := settings["vcs.time"]; at != "" {
		commit += " of " + at
	}
	if settings["vcs.modified"] == "true" {
		commit += " with changes"
	}
	release := strings.Trim(info.Main.Version, "()") // (devel) where no tag and no commit is known
	return fmt.Sprintf("%s, commit %s, %s %s/%s", or(release), commit, or(info.GoVersion), or(settings["GOOS"]), or(settings["GOARCH"]))
}
