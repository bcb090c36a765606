package goldentest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

type numbered struct{ N int }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadTakesEachCaseOnceAndOtherAreasNever(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "golden", "cases.json"),
		`[{"ID": "1", "Area": "a", "Inputs": {"N": 1}, "Expected": null}, {"ID": "2", "Area": "other", "Inputs": "of another shape"}]`)
	write(
		t, filepath.Join(dir, "golden", "more.json"),
		`[{"ID": "1", "Area": "a", "Inputs": {"N": 7}, "Expected": 7}, {"ID": "3", "Area": "b", "Inputs": {"N": 3}, "Expected": 3}]`,
	)
	write(t, filepath.Join(dir, "golden", "others.json"), `{"of": "another kind"}`)
	t.Setenv(variable, dir)
	var got []int
	for _, c := range Read[numbered, any](t, "a", "b") {
		got = append(got, c.Inputs.N)
	}
	if want := []int{1, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// ended is a test that notes why it ended.
type ended struct {
	testing.TB
	skipped bool
	failed  string
}

func (e *ended) Skip(...any) {
	e.skipped = true
	runtime.Goexit()
}

func (e *ended) Fatalf(format string, args ...any) {
	e.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// endOf runs something to its end, which may be that of its test.
func endOf(t *testing.T, run func(testing.TB)) *ended {
	e := &ended{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(e)
	}()
	<-done
	return e
}

func TestCasesOfTheRepositoryNeedNoFolder(t *testing.T) {
	t.Setenv(variable, "")
	if e := endOf(t, func(t testing.TB) { Read[any, any](t, "limiter") }); e.skipped || e.failed != "" {
		t.Errorf("skipped: %v, failed: %q", e.skipped, e.failed)
	}
	if e := endOf(t, func(t testing.TB) { Shared(t, "traces") }); !e.skipped {
		t.Error("a test that needs a trace went on without one")
	}
}

func TestAFieldWithoutAPlaceFailsTheTest(t *testing.T) {
	for inputs, fails := range map[string]bool{`{"N": 1}`: false, `{"N": 1, "Max": 2}`: true, `{"N": "one"}`: true} {
		c := Raw{ID: "1", Inputs: []byte(inputs), Expected: []byte("{}")}
		e := endOf(t, func(t testing.TB) { Decode(t, c, &numbered{}, &struct{}{}) })
		if strings.Contains(e.failed, "case 1") != fails {
			t.Errorf("%s: got %q", inputs, e.failed)
		}
	}
}
