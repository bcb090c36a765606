package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source is a package with one of everything.
const source = `// Package queue is an example.
package queue

import "errors"

// ErrFull says that there is no room.
var ErrFull = errors.New("full")

const (
	Idle State = iota // nothing to do
	Busy
)

const limit = 3

// State is what a queue does.
type State int

// String implements fmt.Stringer.
func (s State) String() string { return "state" }

// Queue holds requests.
type Queue struct {
	// Size is the room,
	// in requests.
	Size int ` + "`json:\"size\"`" + `
	Name string

	held []int
}

// New returns a queue.
func New(size int) (*Queue, error) { return &Queue{Size: size}, nil }

// Add adds a request.
func (q *Queue) Add(id int) error { return nil }

func (q *Queue) drop() {}

// Reader reads.
type Reader interface {
	Read(id int) string
}

func helper() {}
`

const described = `package queue

var ErrFull = errors.New("full")

type Queue struct {
	Size int ` + "`json:\"size\"`" + `
	Name string
	// contains filtered or unexported fields
}

func New(size int) (*Queue, error)

func (q *Queue) Add(id int) error

type Reader interface {
	Read(id int) string
}

type State int

const (
	Idle State = iota
	Busy
)

func (s State) String() string
`

// folder is a folder with the files, given by name and content in turn.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustDescribe(t *testing.T, files ...string) string {
	t.Helper()
	text, err := describe(folder(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOnlyWhatIsExportedIsDescribed(t *testing.T) {
	if diff := cmp.Diff(described, mustDescribe(t, "queue.go", source)); diff != "" {
		t.Errorf("API (-want +got):\n%s", diff)
	}
}

func TestChangesOfTheAPIAreNoticed(t *testing.T) {
	for _, c := range []struct{ name, old, changed, want string }{
		{"an added method", "func helper()", "func (q *Queue) Len() int { return 0 }\nfunc helper()", "func (q *Queue) Len() int"},
		{"an added function", "func helper()", "func Helper()", "func Helper()"},
		{"a changed parameter", "Add(id int) error", "Add(id int64) error", "func (q *Queue) Add(id int64) error"},
		{"a changed result", "Add(id int) error {", "Add(id int) {", "func (q *Queue) Add(id int)\n"},
		{"a changed receiver", "(s State) String", "(s *State) String", "func (s *State) String() string"},
		{"a removed field", "	Name string\n", "", "`json:\"size\"`\n	// contains"},
		{"a changed field", "Name string", "Name []string", "Name []string"},
		{"a changed name in JSON", `json:\"size\"`, `json:\"room\"`, ""},
		{"a removed method", "func (q *Queue) Add(id int) error { return nil }", "", ""},
		{"an added method of an interface", "Read(id int) string", "Read(id int) string\nClose()", "Close()"},
		{"an order of constants", "Idle State = iota // nothing to do\n	Busy", "Busy State = iota\n	Idle", "Busy State = iota\n	Idle"},
		{"a changed constant", "const limit = 3", "const Limit = 4", "const Limit = 4"},
		{"the last unexported field gone", "held []int", "", ""},
		{"a type of another kind", "type State int", "type State uint8", "type State uint8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := strings.ReplaceAll(c.old, `\"`, `"`)
			if strings.Count(source, old) != 1 {
				t.Fatalf("%q is in the example %d times, want once", old, strings.Count(source, old))
			}
			got := mustDescribe(t, "queue.go", strings.Replace(source, old, strings.ReplaceAll(c.changed, `\"`, `"`), 1))
			if got == described || !strings.Contains(got, c.want) {
				t.Errorf("got the same as before, or not %q:\n%s", c.want, got)
			}
		})
	}
}

func TestWhatIsNotAPIMakesNoDifference(t *testing.T) {
	for _, c := range []struct{ name, old, changed string }{
		{"a comment", "// Size is the room,\n	// in requests.\n", ""},
		{"a comment of several lines between fields", "	Name string", "	// Name is\n	// the name.\n	Name string"},
		{"a body", "return &Queue{Size: size}, nil", "q := new(Queue)\n	q.Size = size\n	return q, nil"},
		{"an unexported name", "func helper()", "func other()"},
		{"an unexported field", "held []int", "held map[int]bool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(source, c.old, c.changed, 1)
			if changed == source {
				t.Fatalf("%q is not in the example", c.old)
			}
			if diff := cmp.Diff(described, mustDescribe(t, "queue.go", changed)); diff != "" {
				t.Errorf("API (-want +got):\n%s", diff)
			}
		})
	}
	first, second, found := strings.Cut(source, "// Reader reads.")
	if !found {
		t.Fatal("the example cannot be cut in two")
	}
	got := mustDescribe(t, "z.go", first, "a.go", "package queue\n"+second, "a_test.go", "package queue\nfunc Test() {}")
	if diff := cmp.Diff(described, got); diff != "" {
		t.Errorf("in other files (-want +got):\n%s", diff)
	}
}

func TestFoldersWithoutAPackageAreRefused(t *testing.T) {
	for name, files := range map[string][]string{
		"nothing":      nil,
		"only tests":   {"a_test.go", "package queue"},
		"no Go":        {"a.go", "package"},
		"two packages": {"a.go", "package queue", "b.go", "package stack"},
	} {
		if text, err := describe(folder(t, files...)); err == nil {
			t.Errorf("%s: got %q, want an error", name, text)
		}
	}
}

func TestWriteKeepsThePathOfThePackage(t *testing.T) {
	t.Chdir(filepath.Dir(folder(t, "queue.go", source)))
	out := t.TempDir()
	dirs, err := filepath.Glob("*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("got %v, %v", dirs, err)
	}
	if err := write(out, dirs[0]); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, dirs[0], "api.txt"))
	if err != nil || string(got) != described {
		t.Errorf("got %v and\n%s", err, got)
	}
}
