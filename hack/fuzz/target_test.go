package main

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestFuzzTestsOfTheModuleAreFound(t *testing.T) {
	const two = "package p\n\nfunc FuzzB(f *testing.F) {\n}\nfunc FuzzA(f *testing.F) {}\n// func FuzzC(f\n"
	module := fstest.MapFS{
		"go.mod": {}, "p/p_test.go": {Data: []byte(two)}, "p/p.go": {Data: []byte("func FuzzNo(")},
		"q/go.mod": {}, "q/q_test.go": {Data: []byte(two)}, ".local/x_test.go": {Data: []byte(two)}, "p/testdata/x_test.go": {Data: []byte(two)},
	}
	got, err := find(module)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]target{{"p", "FuzzA"}, {"p", "FuzzB"}}, got, cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	own, err := find(os.DirFS("../.."))
	if err != nil || !slices.Contains(own, target{"internal/discovery", "FuzzPageOf"}) || len(own) < 40 {
		t.Errorf("%d fuzz tests of this module, %v", len(own), err)
	}
}

func TestTheRateIsThatOfTheLastLine(t *testing.T) {
	for said, want := range map[string]float64{
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/19 completed\nfuzz: elapsed: 3s, execs: 300 (100/sec), new interesting: 4 (total: 23)\nfuzz: elapsed: 1m0s, execs: 12000 (199/sec), new interesting: 4 (total: 23)\nPASS\n": 200,
		"fuzz: elapsed: 0s, execs: 50 (0/sec)": 50,
	} {
		if got, err := rateOf(said); err != nil || got != want {
			t.Errorf("%v, %v, want %v of\n%s", got, err, want, said)
		}
	}
	if _, err := rateOf("fuzz: elapsed: 30s, gathering baseline coverage: 3/19 completed\nPASS\n"); err == nil {
		t.Error("a test that tried nothing has a rate")
	}
}
