package goldentest

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Generated holds a file to what is generated now, and with update writes that into it
// first: the flag -update of the test that calls it.
func Generated(t testing.TB, path string, now []byte, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(now), string(is)); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-generated +file):\n%s", path, diff)
	}
}
