package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// unpinnedFile lists the references that need no pin, each on a line with the reason.
const unpinnedFile = "hack/pins/unpinned.txt"

var (
	commit = regexp.MustCompile(`@[0-9a-f]{40}$`)
	digest = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	// from matches an instruction of a Dockerfile that begins with an image, copyFrom one that
	// copies from an image.
	from     = regexp.MustCompile(`(?i)^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?`)
	copyFrom = regexp.MustCompile(`(?i)^\s*COPY\s+(?:--\S+\s+)*--from=(\S+)`)
)

// reference is something that is fetched, and the file that names it.
type reference struct{ name, file string }

// check returns references of a checkout that are neither pinned nor listed, and listed ones that
// are not used, sorted.
func check(checkout fs.FS) ([]string, error) {
	listed, err := readUnpinned(checkout)
	if err != nil {
		return nil, err
	}
	fetched, err := references(checkout)
	if err != nil {
		return nil, err
	}
	var faults []string
	used := map[string]bool{}
	for _, r := range fetched {
		switch {
		case commit.MatchString(r.name), digest.MatchString(r.name):
		case listed[r.name]:
			used[r.name] = true
		default:
			faults = append(faults, fmt.Sprintf("%s: %s is not pinned: want a commit (@ and 40 hex digits) or a digest (@sha256:)", r.file, r.name))
		}
	}
	for name := range listed {
		if !used[name] {
			faults = append(faults, fmt.Sprintf("%s: %s is not in use: remove the line", unpinnedFile, name))
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults), nil
}

// readUnpinned returns the references that need no pin.
func readUnpinned(checkout fs.FS) (map[string]bool, error) {
	text, err := fs.ReadFile(checkout, unpinnedFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading what is not pinned: %w", err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s: %s has no reason: want the reference, a space, and why it is not pinned", unpinnedFile, name)
		}
		listed[name] = true
	}
	return listed, nil
}

// references returns what workflows, actions of this repository and Dockerfiles fetch.
func references(checkout fs.FS) ([]reference, error) {
	var out []reference
	err := fs.WalkDir(checkout, ".", func(file string, d fs.DirEntry, err error) error {
		base := path.Base(file)
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && slices.Contains([]string{".git", ".local", "node_modules", "testdata", "bin", "dist"}, base):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		switch {
		case isWorkflow(file):
			names, err := ofWorkflow(checkout, file)
			out = append(out, names...)
			return err
		case isDockerfile(base):
			names, err := ofDockerfile(checkout, file)
			out = append(out, names...)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for what is fetched: %w", err)
	}
	return out, nil
}

func isWorkflow(file string) bool {
	base, ending := path.Base(file), path.Ext(file)
	return (ending == ".yml" || ending == ".yaml") && (strings.HasPrefix(file, ".github/workflows/") || strings.TrimSuffix(base, ending) == "action")
}

func isDockerfile(base string) bool {
	return base == "Dockerfile" || base == "Containerfile" || strings.HasPrefix(base, "Dockerfile.") || strings.HasSuffix(base, ".Dockerfile")
}

// ofWorkflow returns the actions, reusable workflows and images of a workflow, at any place in it.
func ofWorkflow(checkout fs.FS, file string) ([]reference, error) {
	text, err := fs.ReadFile(checkout, file)
	if err != nil {
		return nil, err
	}
	var content any
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []reference
	add := func(name string) {
		// A name that begins with ./ is of this commit.
		if !strings.HasPrefix(name, "./") {
			out = append(out, reference{strings.TrimPrefix(name, "docker://"), file})
		}
	}
	var look func(key string, v any)
	look = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				look(k, v[k])
			}
		case []any:
			for _, one := range v {
				look("", one)
			}
		case string:
			if key == "uses" || key == "image" || key == "container" {
				add(v)
			}
		}
	}
	look("", content)
	return out, nil
}

// ofDockerfile returns the images that a Dockerfile begins with or copies from.
func ofDockerfile(checkout fs.FS, file string) ([]reference, error) {
	text, err := fs.ReadFile(checkout, file)
	if err != nil {
		return nil, err
	}
	stages := map[string]bool{"scratch": true}
	var out []reference
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		image, stage := "", ""
		if m := from.FindStringSubmatch(line); m != nil {
			image, stage = m[1], strings.ToLower(m[2])
		} else if m := copyFrom.FindStringSubmatch(line); m != nil {
			image = m[1]
		}
		if image != "" && !stages[strings.ToLower(image)] {
			out = append(out, reference{image, file})
		}
		if stage != "" {
			stages[stage] = true
		}
	}
	return out, nil
}
