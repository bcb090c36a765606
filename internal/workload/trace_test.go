package workload

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const header = "arrival_s,input_tokens,output_tokens\n"

func readAll(r io.Reader, options TraceOptions) ([]Request, error) {
	var requests []Request
	for request, err := range ReadTrace(r, options) {
		if err != nil {
			return requests, err
		}
		requests = append(requests, request)
	}
	return requests, nil
}

func TestTraceReadsRequests(t *testing.T) {
	want := []Request{{0, 178, 8}, {906 * time.Millisecond, 258, 40}, {906 * time.Millisecond, 1, 1}}
	for name, text := range map[string]string{
		"plain":               header + "0.000,178,8\n0.906,258,40\n0.906,1,1\n",
		"no last line break":  header + "0,178,8\n0.906,258,40\n0.906,1,1",
		"windows":             "\ufeff" + strings.ReplaceAll(header+"0,178,8\n0.906,258,40\n0.906,1,1\n", "\n", "\r\n"),
		"further columns":     "arrival_s,input_tokens,output_tokens,hits\n0,178,8,0\n0.906,258,40,x\n0.906,1,1,\n",
		"another order":       "output_tokens,id,arrival_s, input_tokens\n8,a,0,178\n40,b,.906, 258\n1,\"c,d\",0.906,1\n",
		"blank and empty end": header + "0,178,8\n\n0.906,258,40\n9.06e-1,1,1\n\n",
	} {
		got, err := readAll(strings.NewReader(text), TraceOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTimeScaleTwoReplaysTwiceAsFast(t *testing.T) {
	got, err := readAll(strings.NewReader(header+"0,1,1\n10,2,2\n"), TraceOptions{TimeScale: 2})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Request{{0, 1, 1}, {5 * time.Second, 2, 2}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, scale := range []float64{-1, 1e-300} {
		if _, err := readAll(strings.NewReader(header+"1,1,1\n"), TraceOptions{TimeScale: scale}); err == nil {
			t.Errorf("time scale %g: got no error", scale)
		}
	}
}

func TestWrongTraceNamesLineAndProblem(t *testing.T) {
	const cut = " (the file ends within this line: it is truncated)"
	for _, test := range []struct {
		text string
		line int
		want string
	}{
		{"", 1, "the trace is empty, want the header arrival_s,input_tokens,output_tokens"},
		{"0,1,1\n", 1, `the header is "0,1,1", want the columns arrival_s, input_tokens and output_tokens`},
		{header + "0,1,1\n1,2\n", 3, "2 columns, want 3 as in the header"},
		{header + "0,1,1\n1,2", 3, "2 columns, want 3 as in the header" + cut},
		{header + "0,1,1\n1,2,", 3, `output_tokens "" is not a whole number` + cut},
		{header + "0,1,1\n\"1,2", 3, `extraneous or missing " in quoted-field` + cut},
		{header + "0,1,1,1\n", 2, "4 columns, want 3 as in the header"},
		{header + "zero,1,1\n", 2, `arrival_s "zero" is not a number`},
		{header + "NaN,1,1\n", 2, `arrival_s "NaN" is not a number`},
		{header + "Inf,1,1\n", 2, `arrival_s Inf is not in [0, 1e+09] seconds`},
		{header + "-1,1,1\n", 2, `arrival_s -1 is not in [0, 1e+09] seconds`},
		{header + "2,1,1\n1.5,1,1\n", 3, `arrival_s 1.5 is before the previous line's 2`},
		{header + "0,0,1\n", 2, "input_tokens 0 is not in [1, 10000000]"},
		{header + "0,1,-5\n", 2, "output_tokens -5 is not in [1, 10000000]"},
		{header + "0,1.5,1\n", 2, `input_tokens "1.5" is not a whole number`},
		{header + "0,1,99999999999999999999\n", 2, `output_tokens "99999999999999999999" is not a whole number`},
	} {
		_, err := readAll(strings.NewReader(test.text), TraceOptions{})
		got, ok := errors.AsType[*TraceError](err)
		if !ok {
			t.Errorf("%q: got %v, want a TraceError", test.text, err)
			continue
		}
		if diff := cmp.Diff(&TraceError{Line: test.line, Problem: test.want}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestTraceStreams(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, header+"0,1,1\n")
		// A reader that wanted more before the first request would hang here.
		w.CloseWithError(errors.New("cable pulled"))
	}()
	var requests int
	var last error
	for _, err := range ReadTrace(iotest.OneByteReader(r), TraceOptions{}) {
		if last = err; err == nil {
			requests++
		}
	}
	if requests != 1 || last == nil || last.Error() != "reading the trace after line 2: cable pulled" {
		t.Errorf("got %d requests and %v, want one and the reader's error", requests, last)
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(header+"0.000,178,8\n0.906,258,40\n", 1.0)
	f.Add(header+"0,1,1\n1,2", 2.0)
	f.Add("output_tokens,input_tokens,arrival_s\n\"1\",2,3\n", 0.5)
	f.Add("\ufeff"+header, 0.0)
	f.Fuzz(func(t *testing.T, text string, scale float64) {
		var last time.Duration
		lines := strings.Count(text, "\n") + 1
		failed := false
		for request, err := range ReadTrace(strings.NewReader(text), TraceOptions{TimeScale: scale}) {
			if failed {
				t.Fatal("the sequence goes on after an error")
			}
			if wrong, ok := errors.AsType[*TraceError](err); ok && (wrong.Line < 1 || wrong.Line > lines) {
				t.Fatalf("%q: the error is on line %d of %d", text, wrong.Line, lines)
			}
			if failed = err != nil; failed {
				continue
			}
			if request.At < last || request.InputTokens < 1 || request.OutputTokens < 1 {
				t.Fatalf("%q: got %+v after %s", text, request, last)
			}
			last = request.At
		}
	})
}
