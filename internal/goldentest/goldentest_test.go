package goldentest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

type numbered struct {
	ID     string
	Inputs struct{ N int }
}

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
	beside := filepath.Join(dir, "beside.json")
	write(t, beside, `[{"ID": "1", "Area": "a", "Inputs": {"N": 1}}, {"ID": "2", "Area": "other", "Inputs": "of another shape"}]`)
	write(t, filepath.Join(dir, "golden", "more.json"), `[{"ID": "1", "Area": "a", "Inputs": {"N": 7}}, {"ID": "3", "Area": "b", "Inputs": {"N": 3}}]`)
	for shared, want := range map[string][]int{"": {1}, dir: {1, 3}} {
		t.Setenv(variable, shared)
		areas := []string{"a", "b"}[:len(want)]
		var got []int
		for _, c := range Read[numbered](t, Files{Beside: []string{beside}, Shared: []string{"more.json"}}, areas...) {
			got = append(got, c.Inputs.N)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s=%q: got %v, want %v", variable, shared, got, want)
		}
	}
}

// skipper is a test that notes that it is skipped.
type skipper struct {
	testing.TB
	skipped bool
}

func (s *skipper) Skip(...any) {
	s.skipped = true
	runtime.Goexit()
}

func TestWithoutTheRecordedDataATestIsSkipped(t *testing.T) {
	t.Setenv(variable, "")
	s := &skipper{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Read[numbered](s, Files{Shared: []string{"more.json"}}, "a")
	}()
	<-done
	if !s.skipped {
		t.Error("the test went on")
	}
}
