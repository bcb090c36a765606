package workload

import (
	"errors"
	"io"
	"iter"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func collect(requests iter.Seq2[Request, error]) ([]Request, error) {
	var all []Request
	for r, err := range requests {
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

const (
	azureHeader    = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	burstGPTHeader = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
)

func TestPublicFormatsAreRecognizedAndRead(t *testing.T) {
	want := []Request{{0, 374, 44}, {1500 * time.Millisecond, 396, 109}}
	for name, text := range map[string]string{
		"plain":      "arrival_s,input_tokens,output_tokens\n0,374,44\n1.5,396,109\n",
		"azure 2023": azureHeader + "2023-11-16 18:15:46.0000000,374,44\r\n2023-11-16 18:15:47.5000000,396,109",
		"azure 2024": azureHeader + "2024-05-10 00:00:00.000000+00:00,374,44\n2024-05-10 00:00:01.500000+00:00,396,109\n",
		"burstgpt":   burstGPTHeader + "5,ChatGPT,374,44,418,Conversation log\n6.5,GPT-4,396,109,505,API log\n",
		"mooncake":   `{"timestamp": 27000, "input_length": 374, "output_length": 44, "hash_ids": [46, 47]}` + "\n\n" + `{"timestamp": 28500, "input_length": 396, "output_length": 109, "hash_ids": []}`,
		"byte order": "\ufeff" + azureHeader + "2023-11-16 18:15:46,374,44\n2023-11-16 18:15:47.5,396,109\n",
	} {
		got, err := collect(ReadLog(strings.NewReader(text), LogOptions{}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		fast, err := collect(ReadLog(strings.NewReader(text), LogOptions{TimeScale: 3}))
		if err != nil || len(fast) != 2 || fast[1].At != 500*time.Millisecond {
			t.Errorf("%s three times as fast: got %v, %v", name, fast, err)
		}
	}
}

func TestFailedRequestsAreSkippedAndToldOf(t *testing.T) {
	var skipped []int
	text := burstGPTHeader + "1,ChatGPT,10,0,10,API log\n2,ChatGPT,10,1,11,API log\n3,ChatGPT,0,0,0,API log\n"
	got, err := collect(ReadLog(strings.NewReader(text), LogOptions{Skipped: func(line int) { skipped = append(skipped, line) }}))
	if diff := cmp.Diff([]Request{{0, 10, 1}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]int{2, 4}, skipped); diff != "" {
		t.Errorf("skipped lines (-want +got):\n%s", diff)
	}
}

func TestOneModelOfALogIsKept(t *testing.T) {
	text := burstGPTHeader + "1,ChatGPT,1,1,2,x\n2,GPT-4,2,2,4,x\n3,ChatGPT,3,3,6,x\n4,GPT-4,4,4,8,x\n"
	got, err := collect(ReadLog(strings.NewReader(text), LogOptions{Model: "GPT-4"}))
	if diff := cmp.Diff([]Request{{0, 2, 2}, {2 * time.Second, 4, 4}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestLogErrorsNameFileLineFieldAndWhatIsExpected(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		o    LogOptions
		want string
	}{
		"empty":          {"", LogOptions{}, `t.csv, line 1: "", want the header of a plain`},
		"another format": {"a,b\n1,2\n", LogOptions{}, `t.csv, line 1: "a,b", want the header of a plain`},
		"wrong format": {
			azureHeader,
			LogOptions{Format: BurstGPT},
			`line 1: the header is "TIMESTAMP,ContextTokens,GeneratedTokens", want the columns Timestamp, Model, Request tokens, Response tokens`,
		},
		"unknown format": {azureHeader, LogOptions{Format: "vidur"}, `the format "vidur" is not known, want plain, azure`},
		"missing column": {"TIMESTAMP,ContextTokens\n", LogOptions{}, "want the columns TIMESTAMP, ContextTokens, GeneratedTokens"},
		"a time":         {azureHeader + "yesterday,1,1\n", LogOptions{}, `line 2: TIMESTAMP is "yesterday", want a time such as 2023`},
		"negative": {
			azureHeader + "2023-11-16 18:15:46,1,1\n2023-11-16 18:15:47,-1,1\n",
			LogOptions{},
			`line 3: ContextTokens is "-1", want a whole number of tokens in [0, `,
		},
		"out of order":  {burstGPTHeader + "5,m,1,1,2,x\n4,m,1,1,2,x\n", LogOptions{}, "line 3: the time is 4 s, want no less than the 5 s"},
		"too few":       {burstGPTHeader + "5,m,1\n", LogOptions{}, "line 2: 3 columns, want 6 as in the header"},
		"quote":         {burstGPTHeader + "5,\"m,1,1\n", LogOptions{}, "want a line of CSV"},
		"seconds":       {burstGPTHeader + "NaN,m,1,1,2,x\n", LogOptions{}, `Timestamp is "NaN", want a number of seconds`},
		"json":          {"{\"timestamp\": 1, \n", LogOptions{}, "line 1: \"{\\\"timestamp\\\": 1,\", want an object of JSON"},
		"json type":     {`{"timestamp": 1, "input_length": "x", "output_length": 1}`, LogOptions{}, "line 1: input_length is a string, want a number"},
		"json missing":  {`{"timestamp": 1, "input_length": 5}`, LogOptions{}, "output_length is missing, want a whole number"},
		"json fraction": {`{"timestamp": 1, "input_length": 5.5, "output_length": 1}`, LogOptions{}, "input_length is 5.5, want a whole number"},
		"json time":     {`{"timestamp": -1, "input_length": 5, "output_length": 1}`, LogOptions{}, "timestamp is -1, want a number of ms"},
		"long line":     {"{" + strings.Repeat(" ", 2<<20), LogOptions{}, "line 1: the line is too long, want at most 1048576 bytes"},
		"plain":         {"arrival_s,input_tokens,output_tokens\n0,x,1\n", LogOptions{}, `reading t.csv: trace, line 2: input_tokens "x"`},
		"time scale":    {azureHeader, LogOptions{TimeScale: -1}, "the time scale -1 is not positive"},
	} {
		tt.o.File = "t.csv"
		_, err := collect(ReadLog(strings.NewReader(tt.text), tt.o))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "t.csv") {
			t.Errorf("%s: got %v, want an error with the file and %q", name, err, tt.want)
		}
	}
	broken := errors.New("disk on fire")
	for _, text := range []string{"", azureHeader, burstGPTHeader, `{"timestamp": 1, "input_length": 5, "output_length": 1}` + "\n"} {
		if _, err := collect(ReadLog(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), LogOptions{})); !errors.Is(err, broken) {
			t.Errorf("a reader that fails after %q: got %v", text, err)
		}
	}
}

// FuzzReadLog checks that no text panics, and that what is read is in order and
// in range.
func FuzzReadLog(f *testing.F) {
	f.Add(azureHeader + "2023-11-16 18:15:46.0000000,374,44\n")
	f.Add(burstGPTHeader + "5,ChatGPT,374,44,418,Conversation log\n")
	f.Add(`{"timestamp": 27000, "input_length": 374, "output_length": 44}`)
	f.Add("arrival_s,input_tokens,output_tokens\n0,1,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := time.Duration(0)
		for r, err := range ReadLog(strings.NewReader(text), LogOptions{}) {
			if err != nil {
				return
			}
			if r.At < last || r.InputTokens < 1 || r.OutputTokens < 1 || r.InputTokens > MaxTokens || r.OutputTokens > MaxTokens {
				t.Fatalf("%+v after %s", r, last)
			}
			last = r.At
		}
	})
}

func TestSharesAreDisjointAndTogetherTheWhole(t *testing.T) {
	const n = 10_000
	whole := func(yield func(Request, error) bool) {
		for i := range n {
			if !yield(Request{At: time.Duration(i), InputTokens: i + 1, OutputTokens: 1}, nil) {
				return
			}
		}
	}
	parts := []float64{3, 0, 1, 4}
	seen := map[int]int{}
	for of := range parts {
		got, err := collect(Share{Parts: parts, Of: of, Seed: 7}.Take(whole))
		if err != nil {
			t.Fatal(err)
		}
		expected := parts[of] / 8 * n
		if math.Abs(float64(len(got))-expected) > 4*math.Sqrt(n) {
			t.Errorf("part %d has %d requests, want about %g", of, len(got), expected)
		}
		for _, r := range got {
			seen[r.InputTokens]++
		}
	}
	for i := range n {
		if seen[i+1] != 1 {
			t.Fatalf("request %d is in %d parts, want one", i, seen[i+1])
		}
	}
	if got, err := collect(Thin(0, 1).Take(whole)); err != nil || len(got) != 0 {
		t.Errorf("thinned to nothing: %d requests, %v", len(got), err)
	}
	if got, err := collect(Thin(1, 1).Take(whole)); err != nil || len(got) != n {
		t.Errorf("not thinned: %d requests, %v", len(got), err)
	}
	for _, s := range []Share{
		{},
		{Parts: []float64{0}},
		{Parts: []float64{1}, Of: 1},
		{Parts: []float64{1}, Of: -1},
		Thin(2, 0),
		{Parts: []float64{math.NaN()}},
	} {
		if _, err := collect(s.Take(whole)); err == nil || !strings.Contains(err.Error(), "splitting a workload") {
			t.Errorf("%+v: got %v, want an error", s, err)
		}
	}
	broken := errors.New("no")
	failing := func(yield func(Request, error) bool) { yield(Request{}, broken) }
	if _, err := collect(Thin(0.5, 1).Take(failing)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the source", err)
	}
}

func TestRateCurveIsAProfile(t *testing.T) {
	const text = "window_start_s,requests_per_s\n0,20\n600,40\n1200,0\n1800,10\n"
	p, err := ReadRates(strings.NewReader(text), RateOptions{Peak: 8, Take: 25 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.String(), "constant(4,10m),constant(8,10m),constant(0,10m)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, tt := range map[string]struct {
		text string
		o    RateOptions
		want string
	}{
		"header": {"a,b\n", RateOptions{}, "line 1: the header is \"a,b\", want the columns window_start_s and requests_per_s"},
		"start":  {"window_start_s,requests_per_s\n5,1\n", RateOptions{}, "line 2: window_start_s is 5, want windows of one length from 0 on"},
		"uneven": {
			"window_start_s,requests_per_s\n0,1\n10,1\n30,1\n",
			RateOptions{},
			"line 4: window_start_s is 30, want windows of one length from 0 on: 20",
		},
		"rate":        {"window_start_s,requests_per_s\n0,-1\n", RateOptions{}, `line 2: requests_per_s is "-1", want a rate in [0, 1e+06]`},
		"one window":  {"window_start_s,requests_per_s\n0,1\n", RateOptions{}, "the curve is 1 windows long, want two or more"},
		"a peak":      {text, RateOptions{Peak: -1}, "a peak of -1 requests/s"},
		"not columns": {"window_start_s,requests_per_s\n0\n", RateOptions{}, "wrong number of fields"},
	} {
		tt.o.File = "r.csv"
		if _, err := ReadRates(strings.NewReader(tt.text), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "r.csv") {
			t.Errorf("%s: got %v, want an error with the file and %q", name, err, tt.want)
		}
	}
}
