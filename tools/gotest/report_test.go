package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const passing = `{"Action":"start","Package":"a"}
{"Action":"output","Package":"a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"a","Test":"TestA","Output":"    a_test.go:3: chatter\n"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestB","Output":"    a_test.go:7: WVA_SHARED not set\n"}
{"Action":"output","Package":"a","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestB"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.01s\n"}
{"Action":"pass","Package":"a"}
{"Action":"output","Package":"b","Output":"?   \tb\t[no test files]\n"}
{"Action":"skip","Package":"b"}
`
	const failing = `{"Action":"output","Package":"a","Test":"TestA","Output":"    a_test.go:3: chatter\n"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestB","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"output","Package":"a","Test":"TestB","Output":"--- FAIL: TestB (0.00s)\n"}
{"Action":"fail","Package":"a","Test":"TestB"}
{"Action":"output","Package":"a","Test":"TestC","Output":"panic: here\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.01s\n"}
{"Action":"fail","Package":"a"}
`
	tests := map[string]struct {
		in      string
		verbose bool
		want    string
	}{
		"passing": {passing, false, "ok  \ta\t0.01s\ntests skipped: 1 (WVA_SHARED not set: 1)\n"},
		"failing": {
			failing, false,
			"    a_test.go:7: got 1, want 2\n--- FAIL: TestB (0.00s)\npanic: here\nFAIL\ta\t0.01s\ntests skipped: 0\n",
		},
		"does not build": {
			`{"ImportPath":"a","Action":"build-output","Output":"a.go:1: undefined: x\n"}` + "\n" +
				`{"ImportPath":"a","Action":"build-fail"}` + "\n" +
				`{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}` + "\n" +
				`{"Action":"fail","Package":"a"}` + "\n",
			false, "a.go:1: undefined: x\nFAIL\ta [build failed]\ntests skipped: 0\n",
		},
		"not an event": {"go: no such tool\n", false, "go: no such tool\ntests skipped: 0\n"},
		"verbose": {
			passing, true,
			"=== RUN   TestA\n    a_test.go:3: chatter\n    a_test.go:7: WVA_SHARED not set\n--- SKIP: TestB (0.00s)\n" +
				"PASS\nok  \ta\t0.01s\n?   \tb\t[no test files]\ntests skipped: 1 (WVA_SHARED not set: 1)\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			r := newReport(&got, tt.verbose)
			if err := read(r, strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			r.summary()
			if got.String() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), tt.want)
			}
		})
	}
}
