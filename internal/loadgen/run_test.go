package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// runAgainst runs in virtual time, which makes every latency exact.
func runAgainst(t *testing.T, handler http.HandlerFunc, requests iter.Seq2[workload.Request, error], change func(*Options)) Summary {
	t.Helper()
	var summary Summary
	synctest.Test(t, func(t *testing.T) {
		options := serve(t, handler)
		if change != nil {
			change(&options)
		}
		var err error
		if summary, err = Run(t.Context(), requests, options); err != nil {
			t.Error(err)
		}
	})
	return summary
}

// same is a distribution of equal values.
func same(count int, v float64) Distribution {
	return Distribution{Count: count, Mean: v, P50: v, P90: v, P99: v, Max: v}
}

func TestSummaryOfAnsweredRequests(t *testing.T) {
	// 10 requests, one each 100 ms; answers of 5 tokens: 80 ms, then 4 × 20 ms.
	got := runAgainst(t, model{ttft: 80 * time.Millisecond, itl: 20 * time.Millisecond}.ServeHTTP,
		every(100*time.Millisecond, 10, 5), func(o *Options) {
			o.SLO = SLO{TTFT: 80 * time.Millisecond, ITL: 20 * time.Millisecond}
			o.Duration = 2 * time.Second
		})
	all := 1.0
	want := Summary{
		Requests: 10, Sent: 10, Completed: 10,
		Errors: map[Kind]int{}, Examples: map[Kind]string{},
		SLOTTFT: 80, SLOITL: 20, Judged: 10, Met: 10, Attainment: &all,
		TTFT: same(10, 80), ITL: same(10, 20), Gaps: same(40, 20), E2E: same(10, 160), SendLag: same(10, 0),
		InputTokens: 50, OutputTokens: 50,
		Duration: 2, Rate: 5, InputRate: 25, OutputRate: 25,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTokensOfUsageCountWhenEventsHoldSeveral(t *testing.T) {
	// 10 tokens in 5 events: 4 gaps of 45 ms over 9 tokens after the first are
	// 20 ms a token.
	got := runAgainst(t, model{itl: 45 * time.Millisecond, usage: true}.ServeHTTP, every(0, 1, 10), nil)
	if diff := cmp.Diff([]any{same(1, 20), same(4, 45), 10}, []any{got.ITL, got.Gaps, got.OutputTokens}); diff != "" {
		t.Errorf("ITL, gaps, tokens (-want +got):\n%s", diff)
	}
}

func TestArrivalsDoNotWaitForAnswers(t *testing.T) {
	// Answers take 10 s; the 100 requests of the first second all leave on time.
	got := runAgainst(t, model{ttft: 10 * time.Second}.ServeHTTP, every(10*time.Millisecond, 100, 1), nil)
	if got.Completed != 100 || got.SendLag != same(100, 0) {
		t.Errorf("%d completed with send lag %+v, want 100 without", got.Completed, got.SendLag)
	}
	if got.ITL.Count != 0 {
		t.Errorf("answers of one token have %d inter-token latencies", got.ITL.Count)
	}
}

func TestPromptsOfABurstDiffer(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	got := runAgainst(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		seen[string(body)] = true
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model{}.ServeHTTP(w, r)
	}, every(0, 100, 1), nil)
	if got.Completed != 100 || len(seen) != 100 {
		t.Errorf("%d completed, %d different prompts; want 100 of both", got.Completed, len(seen))
	}
}

func TestRequestsAboveMaxInFlightAreNotSent(t *testing.T) {
	// 3 at a time for 1 s each: of the 20 of one second, 3 are sent in each second.
	got := runAgainst(t, model{ttft: 990 * time.Millisecond}.ServeHTTP, every(50*time.Millisecond, 20, 1),
		func(o *Options) { o.MaxInFlight = 3 })
	if got.Requests != 20 || got.Sent != 3 || got.Completed != 3 || got.Errors[NotSent] != 17 {
		t.Errorf("got %+v, want 3 sent and 17 not sent", got)
	}
	if *got.Attainment != 3.0/20 {
		t.Errorf("attainment %g, want 3 of 20: what is not sent is a miss", *got.Attainment)
	}
}

func TestLateRequestsMissTheirObjectives(t *testing.T) {
	slow := model{ttft: 600 * time.Millisecond, itl: 30 * time.Millisecond}
	for _, test := range []struct {
		name string
		slo  SLO
		want int
	}{
		{"none", SLO{}, 4},
		{"both met", SLO{TTFT: 600 * time.Millisecond, ITL: 30 * time.Millisecond}, 4},
		{"TTFT missed", SLO{TTFT: 599 * time.Millisecond, ITL: time.Second}, 0},
		{"ITL missed", SLO{TTFT: time.Second, ITL: 29 * time.Millisecond}, 0},
	} {
		got := runAgainst(t, slow.ServeHTTP, every(time.Second, 4, 3), func(o *Options) { o.SLO = test.slo })
		if got.Met != test.want || got.Judged != 4 {
			t.Errorf("%s: %d of %d met, want %d of 4", test.name, got.Met, got.Judged, test.want)
		}
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	text := `{"choices":[{"text":"word "}]}`
	stream := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range events {
				say(w, e)
			}
		}
	}
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		kind    Kind
		example string
		tokens  int
	}{
		{"overload", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "queue full", http.StatusServiceUnavailable)
		}, "http 503", "queue full", 0},
		{"stream ends early", stream(text, text), Stream, "after 2 events: unexpected EOF", 2},
		{"connection is cut", func(w http.ResponseWriter, r *http.Request) {
			stream(text)(w, r)
			panic(http.ErrAbortHandler)
		}, Stream, "after 1 events: unexpected EOF", 1},
		{"no JSON", stream("{"), Stream, `reading the event "{"`, 0},
		{"error in the stream", stream(text, `{"error":{"message":"out of memory"}}`), Stream, "out of memory", 1},
		{"no text", stream("[DONE]"), Stream, "no text", 0},
		{"endless event", stream(strings.Repeat("x", maxEvent)), Stream, "token too long", 0},
		{"not a stream", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, Stream, "text/plain", 0},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { hang(r) }, Timeout, "deadline exceeded", 0},
		{"hangs in the stream", func(w http.ResponseWriter, r *http.Request) {
			stream(text)(w, r)
			hang(r)
		}, Timeout, "deadline exceeded", 1},
		{"drops the connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Network, "EOF", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runAgainst(t, test.handler, every(time.Second, 3, 5), func(o *Options) { o.Timeout = 10 * time.Second })
			if diff := cmp.Diff(map[Kind]int{test.kind: 3}, got.Errors); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if got.Failed != 3 || got.Completed != 0 || got.Met != 0 || got.Judged != 3 || got.OutputTokens != 3*test.tokens {
				t.Errorf("got %+v, want 3 failures, all misses, with %d tokens each", got, test.tokens)
			}
			if !strings.Contains(got.Examples[test.kind], test.example) {
				t.Errorf("example %q, want %q in it", got.Examples[test.kind], test.example)
			}
		})
	}
}

func TestRefusedConnectionsAreCounted(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	got, err := Run(t.Context(), every(0, 5, 1), Options{URL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[Kind]int{Refused: 5}, got.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestServerThatStopsListeningIsToldFromOneThatFails(t *testing.T) {
	for _, test := range []struct {
		err  error
		want Kind
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, Refused},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, Network},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, Timeout},
		{&net.DNSError{IsNotFound: true}, Network},
	} {
		if got := networkKind(fmt.Errorf("posting: %w", test.err)); got != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
}

func TestEndingARunInterruptsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := serve(t, model{ttft: 450 * time.Millisecond}.ServeHTTP)
		options.SLO.TTFT = 220 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 950*time.Millisecond)
		defer cancel()
		got, err := Run(ctx, every(100*time.Millisecond, 1000, 1), options)
		if err != nil {
			t.Fatal(err)
		}
		// Sent at 0, 0.1 .. 0.9 s. Those of 0 to 0.4 s (the last at 0.85 s) or at
		// 0.5 s (at 0.95 s, as the run ends) are answered late; of the rest,
		// 0.6 and 0.7 s wait for 350 and 250 ms by now, 0.8 and 0.9 s for less.
		if got.Requests != 10 || got.Completed+got.Interrupted != 10 || got.Completed < 5 || got.Completed > 6 {
			t.Errorf("got %d requests, %d completed, %d interrupted", got.Requests, got.Completed, got.Interrupted)
		}
		if got.Judged != 8 || got.Met != 0 || got.Failed != 0 {
			t.Errorf("got %d met of %d judged, %d failed; want 0 of 8: the two latest are unknown", got.Met, got.Judged, got.Failed)
		}
	})
}

func TestWorkloadErrorEndsTheRunWithItsSummary(t *testing.T) {
	trace := workload.ReadTrace(strings.NewReader("arrival_s,input_tokens,output_tokens\n0,5,2\n1,5,2\n2,5\n"), workload.TraceOptions{})
	synctest.Test(t, func(t *testing.T) {
		got, err := Run(t.Context(), trace, serve(t, model{ttft: time.Minute}.ServeHTTP))
		wrong, ok := errors.AsType[*workload.TraceError](err)
		if !ok || wrong.Line != 4 {
			t.Errorf("got %v, want the error of line 4", err)
		}
		if got.Completed != 2 {
			t.Errorf("%d completed, want the 2 before the error", got.Completed)
		}
	})
}

func TestProgressAddsUpToTheSummary(t *testing.T) {
	var reports []Progress
	got := runAgainst(t, model{ttft: 300 * time.Millisecond, itl: 10 * time.Millisecond}.ServeHTTP,
		every(250*time.Millisecond, 20, 3), func(o *Options) {
			o.SLO = SLO{TTFT: 400 * time.Millisecond}
			o.ProgressEvery = 900 * time.Millisecond // never together with an arrival or an answer
			o.Progress = func(p Progress) { reports = append(reports, p) }
		})
	// The last leaves at 4.75 s and is answered at 5.07 s: 5 reports and the last.
	if len(reports) != 6 {
		t.Fatalf("%d reports, want 6", len(reports))
	}
	var completed, met int
	for _, p := range reports {
		completed += p.Last.Completed
		met += p.Last.Met
		if p.Last.Completed > 0 && (math.Abs(p.Last.TTFT-300) > 1e-9 || math.Abs(p.Last.ITL-10) > 1e-9) {
			t.Errorf("at %s TTFT is %g ms and ITL %g ms, want 300 and 10", p.Elapsed, p.Last.TTFT, p.Last.ITL)
		}
	}
	last := reports[5]
	if completed != 20 || met != 20 || last.Completed != got.Completed || last.InFlight != 0 || last.Attainment != 1 {
		t.Errorf("intervals have %d completed and %d met, the last report is %+v", completed, met, last)
	}
	if second := reports[1]; second.Elapsed != 1800*time.Millisecond || math.Abs(second.Last.Rate-4/0.9) > 1e-9 {
		t.Errorf("the second report is %+v, want the 4 arrivals of 1.0 to 1.75 s in 0.9 s", second)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	good := Options{URL: "https://example.com/base/", Model: "m"}
	if err := good.Validate(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for name, change := range map[string]func(*Options){
		"no URL":          func(o *Options) { o.URL = "" },
		"no scheme":       func(o *Options) { o.URL = "example.com:80" },
		"other scheme":    func(o *Options) { o.URL = "ftp://example.com" },
		"query":           func(o *Options) { o.URL += "?a=b" },
		"v1 twice":        func(o *Options) { o.URL += "v1" },
		"no model":        func(o *Options) { o.Model = "" },
		"negative bound":  func(o *Options) { o.MaxInFlight = -1 },
		"negative length": func(o *Options) { o.Timeout = -1 },
	} {
		o := good
		change(&o)
		if _, err := Run(t.Context(), every(0, 1, 1), o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
