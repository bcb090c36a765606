package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the commit from which a release is made.
type source struct {
	root    string // of the checkout
	version string // such as v1.2.3; see semantic
	commit  string
	at      time.Time // of the commit, and of all files made from it
}

// semantic matches a version that krew, Helm and Go agree on.
var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// readSource reads the checkout of the working directory. The default of version is the last tag,
// with the commit if there is one since; without a tag v0.0.0.
func readSource(ctx context.Context, version string) (source, error) {
	s := source{version: version}
	var err error
	git := func(args ...string) string {
		out, failed := exec.CommandContext(ctx, "git", args...).Output()
		if failed != nil && err == nil {
			err = fmt.Errorf("reading the commit: git %s: %w", strings.Join(args, " "), failed)
		}
		return strings.TrimSpace(string(out))
	}
	s.root = git("rev-parse", "--show-toplevel")
	s.commit = git("rev-parse", "HEAD")
	seconds := git("log", "-1", "--format=%ct")
	if s.version == "" {
		s.version = describe(git("describe", "--tags", "--always", "--long", "--abbrev=12", "--match=v*"))
	}
	if err != nil {
		return source{}, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("reading the time of the commit: %w", err)
	}
	s.at = time.Unix(n, 0).UTC()
	if !semantic.MatchString(s.version) {
		return source{}, fmt.Errorf("version %q: want one such as v1.2.3 or v1.2.3-rc.1", s.version)
	}
	return s, nil
}

// describe returns the version for an output of git describe --long: TAG-COMMITS-gCOMMIT, or a
// commit where there is no tag.
func describe(said string) string {
	parts := strings.Split(said, "-")
	if len(parts) < 3 {
		return "v0.0.0-" + said
	}
	tag := strings.Join(parts[:len(parts)-2], "-")
	switch since, commit := parts[len(parts)-2], parts[len(parts)-1]; {
	case since == "0":
		return tag
	case strings.Contains(tag, "-"):
		return tag + "." + since + "." + commit
	default:
		return tag + "-" + since + "." + commit
	}
}

// platform is an operating system and an architecture for which a program is built.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func parsePlatforms(names []string) ([]platform, error) {
	out := make([]platform, 0, len(names))
	for _, name := range names {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || system == "" || arch == "" {
			return nil, fmt.Errorf("platform %q: want OS/ARCH, such as linux/arm64", name)
		}
		out = append(out, platform{system, arch})
	}
	return out, nil
}

// build builds a program, static and without paths of this machine, and returns its path.
func (s source) build(ctx context.Context, into, program string, p platform) (string, error) {
	target := filepath.Join(into, p.os+"_"+p.arch, program)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", target, "./cmd/"+program)
	c.Dir = s.root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s for %s: %w\n%s", program, p, err, out)
	}
	return target, nil
}
