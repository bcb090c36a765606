// Package goldentest reads recorded answers of the published versions for tests, and
// holds generated files to what generates them.
//
// A file of recorded answers is a JSON array of cases, each with an ID, the area it is of, what
// went in and what came out; the shape of the last two is the area's own. The few
// that matter most lie beside their tests. The others are in a folder that is not
// part of the repository and that the environment variable WVA_SHARED names.
package goldentest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// variable names the folder of the recorded data.
const variable = "WVA_SHARED"

// folder returns the folder of the recorded data, "" where there is none.
func folder() string { return os.Getenv(variable) } //nolint:forbidigo // no setting of a program: whoever runs tests says it

// Shared returns the path of a file in the folder of the recorded data, or skips the
// test where there is none.
func Shared(t testing.TB, elements ...string) string {
	t.Helper()
	dir := folder()
	if dir == "" {
		t.Skip(variable + " not set")
	}
	return filepath.Join(append([]string{dir}, elements...)...)
}

// Files says where cases are.
type Files struct {
	Beside []string // relative to the test's folder
	Shared []string // in golden of the folder of the recorded data, where there is one
}

// Read returns the cases of some areas, or of all where none is named, in the order of
// the files; of several with one ID the first. It fails the test where an area has
// none, and skips it where all would be in the folder of the recorded data and there
// is no such folder.
func Read[C any](t testing.TB, files Files, areas ...string) []C {
	t.Helper()
	paths := slices.Clone(files.Beside)
	if len(paths) == 0 || folder() != "" {
		for _, name := range files.Shared {
			paths = append(paths, Shared(t, "golden", name))
		}
	}
	var cases []C
	known, found := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		for _, raw := range parse(t, path) {
			var head struct{ ID, Area string }
			decode(t, path, raw, &head)
			if known[head.ID] || len(areas) > 0 && !slices.Contains(areas, head.Area) {
				continue
			}
			known[head.ID], found[head.Area] = true, true
			var c C
			decode(t, path, raw, &c)
			cases = append(cases, c)
		}
	}
	for _, area := range areas {
		if !found[area] {
			t.Fatalf("no recorded case of area %q in %q", area, paths)
		}
	}
	return cases
}

func parse(t testing.TB, path string) []json.RawMessage {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []json.RawMessage
	decode(t, path, text, &all)
	return all
}

func decode(t testing.TB, path string, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
}
