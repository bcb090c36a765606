// Package goldentest reads recorded answers of the published versions for tests, and
// holds generated files to what generates them.
//
// A file of recorded answers is a JSON array of cases, each with an ID, the area it is of, what
// went in and what came out; the shape of the last two is the area's own. They are in the
// folder cases. The environment variable WVA_SHARED may name a folder with more in its folder
// golden, and with the traces and profiles that some tests need.
package goldentest

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

//go:embed cases/*.json
var recorded embed.FS

// variable names the folder of what the repository does not hold.
const variable = "WVA_SHARED"

// folder returns the folder of what the repository does not hold, "" where there is none.
func folder() string { return os.Getenv(variable) } //nolint:forbidigo // no setting of a program: the caller of the tests says it

// Shared returns the path of a file that the repository does not hold, or skips the
// test where there is no folder of such files.
func Shared(t testing.TB, elements ...string) string {
	t.Helper()
	dir := folder()
	if dir == "" {
		t.Skip(variable + " not set")
	}
	return filepath.Join(append([]string{dir}, elements...)...)
}

// Case is a recorded answer: what came out of a published version for what went in.
type Case[In, Out any] struct {
	ID, Area  string
	Name      string  `json:"case"`
	Tolerance float64 `json:"tolerance_rel"` // of figures, as a share of them
	Inputs    In
	Expected  Out
}

// String returns the ID and the name.
func (c Case[In, Out]) String() string { return c.ID + " " + c.Name }

// Raw is a case of which the areas that a test reads differ in shape: Decode reads its parts.
type Raw = Case[json.RawMessage, json.RawMessage]

// Read returns the recorded cases of some areas, ordered by file; of several with one ID the
// first. It fails the test where an area has no case, and where something went into a case that
// In has no field for: what is not looked at would be tested by nothing.
func Read[In, Out any](t testing.TB, areas ...string) []Case[In, Out] {
	t.Helper()
	var cases []Case[In, Out]
	known, found := map[string]bool{}, map[string]bool{}
	for _, file := range files(t) {
		for _, raw := range parse(t, file) {
			if known[raw.ID] || !slices.Contains(areas, raw.Area) {
				continue
			}
			known[raw.ID], found[raw.Area] = true, true
			c := Case[In, Out]{ID: raw.ID, Area: raw.Area, Name: raw.Name, Tolerance: raw.Tolerance}
			Decode(t, raw, &c.Inputs, &c.Expected)
			cases = append(cases, c)
		}
	}
	for _, area := range areas {
		if !found[area] {
			t.Fatalf("no recorded case of area %q", area)
		}
	}
	return cases
}

// Decode reads what went into a case and what came out. The first has a field for everything.
func Decode(t testing.TB, c Raw, inputs, expected any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(c.Inputs))
	d.DisallowUnknownFields()
	if err := d.Decode(inputs); err != nil {
		t.Fatalf("reading what went into case %s: %v", c, err)
	}
	if err := json.Unmarshal(c.Expected, expected); err != nil {
		t.Fatalf("reading what came out of case %s: %v", c, err)
	}
}

// file is one of recorded cases.
type file struct {
	name string
	text []byte
}

// files returns those of the repository and then those of the folder of what it does not hold.
func files(t testing.TB) []file {
	t.Helper()
	var all []file
	add := func(in fs.FS, pattern string) {
		paths, err := fs.Glob(in, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := fs.ReadFile(in, path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, file{path, text})
		}
	}
	add(recorded, "cases/*.json")
	if folder() != "" {
		add(os.DirFS(folder()), "golden/*.json")
	}
	return all
}

// parse returns the cases of a file, none of one that holds something else.
func parse(t testing.TB, f file) []Raw {
	t.Helper()
	if !bytes.HasPrefix(bytes.TrimSpace(f.text), []byte("[")) {
		return nil
	}
	var all []Raw
	if err := json.Unmarshal(f.text, &all); err != nil {
		t.Fatalf("reading %s: %v", f.name, err)
	}
	return all
}
