package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// said is what a fault says before what to do.
var said = regexp.MustCompile(`^.* is not (pinned|in use)`)

func TestWhatIsFetchedIsPinnedOrListed(t *testing.T) {
	sha, sum := strings.Repeat("a", 40), "sha256:"+strings.Repeat("b", 64)
	const workflow, dockerfile = ".github/workflows/w.yml", "Dockerfile"
	step := func(uses string) string { return "jobs: {j: {steps: [{uses: '" + uses + "'}]}}" }
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"an action by its commit", map[string]string{workflow: step("a/b@" + sha)}, nil},
		{"an action by a tag", map[string]string{workflow: step("a/b@v1")}, []string{workflow + ": a/b@v1 is not pinned"}},
		{"an action by a short commit", map[string]string{workflow: step("a/b@" + sha[:12])}, []string{workflow + ": a/b@" + sha[:12] + " is not pinned"}},
		{
			"an action of this repository",
			map[string]string{workflow: step("./.github/actions/x"), ".github/actions/x/action.yml": "runs: {steps: [{uses: c/d@main}]}"},
			[]string{".github/actions/x/action.yml: c/d@main is not pinned"},
		},
		{"an image as an action", map[string]string{workflow: step("docker://alpine:3")}, []string{workflow + ": alpine:3 is not pinned"}},
		{
			"a reusable workflow",
			map[string]string{workflow: "jobs: {j: {uses: a/b/.github/workflows/c.yml@main}}"},
			[]string{workflow + ": a/b/.github/workflows/c.yml@main is not pinned"},
		},
		{
			"containers and services",
			map[string]string{workflow: "jobs: {j: {container: node:20, services: {db: {image: redis:7}}}, k: {container: {image: 'x@" + sum + "'}}}"},
			[]string{workflow + ": node:20 is not pinned", workflow + ": redis:7 is not pinned"},
		},
		{"an image by its digest", map[string]string{dockerfile: "FROM --platform=x go:1@" + sum + " AS build\nFROM scratch\nCOPY --from=build / /\n"}, nil},
		{
			"an image by a tag",
			map[string]string{dockerfile: "from go:1 as build\nFROM build\nCOPY --chown=1 --from=other:2 / /\n"},
			[]string{dockerfile + ": go:1 is not pinned", dockerfile + ": other:2 is not pinned"},
		},
		{"what is listed", map[string]string{workflow: step("a/b@v1"), unpinnedFile: "# why\na/b@v1 no network\n"}, nil},
		{
			"what is listed in vain",
			map[string]string{workflow: step("a/b@" + sha), unpinnedFile: "a/b@v1 no network\n"},
			[]string{unpinnedFile + ": a/b@v1 is not in use"},
		},
	} {
		files := fstest.MapFS{}
		for name, content := range tt.files {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
		faults, err := check(files)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, f := range faults {
			got = append(got, said.FindString(f))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, err := check(fstest.MapFS{unpinnedFile: &fstest.MapFile{Data: []byte("a/b@v1\n")}}); err == nil {
		t.Error("a line without a reason is accepted")
	}
}

func TestThisRepositoryIsPinned(t *testing.T) {
	faults, err := check(os.DirFS("../.."))
	if err != nil || len(faults) > 0 {
		t.Errorf("%v: %q", err, faults)
	}
}
