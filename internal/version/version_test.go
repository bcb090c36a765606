package version

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestABuildSaysWhatItIs(t *testing.T) {
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"a release": {
			debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123abc"},
				{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
				{Key: "vcs.modified", Value: "false"},
				{Key: "GOOS", Value: "linux"},
				{Key: "GOARCH", Value: "arm64"},
			}},
			"v1.2.3, commit 0123abc of 2026-01-02T03:04:05Z, go1.26.8 linux/arm64",
		},
		"a commit that was changed": {
			debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.0.0-20260102030405-0123abc+dirty"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"},
			}},
			"v0.0.0-20260102030405-0123abc+dirty, commit 0123abc with changes, go1.26.8 linux/amd64",
		},
		"built without git": {
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			"devel, commit unknown, unknown unknown/unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe(&c.info); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheRunningProgramSaysWhatBuiltIt(t *testing.T) {
	if got := String(); !strings.Contains(got, runtime.Version()) {
		t.Errorf("got %q, want %s in it", got, runtime.Version())
	}
}
