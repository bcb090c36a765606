package promql

import (
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// TestARecordBecomesTheWorkloadThatMadeIt records an hour of one pod: 2 requests/s
// for half of it and 6 for the rest, each a minute under way, with prompts of 300
// and answers of 100 tokens, then of 200. Read back as a workload it has as many
// requests as arrived, but for rates that change within a step.
func TestARecordBecomesTheWorkloadThatMadeIt(t *testing.T) {
	const (
		scrape, under = 15 * time.Second, time.Minute
		half, all     = 30 * time.Minute, time.Hour
	)
	s := newShared(t)
	begin := s.next()
	arrived := func(by time.Duration) float64 {
		by = max(0, by)
		return 2*by.Seconds() + 4*max(0, by-half).Seconds()
	}
	// Of those that have ended by then; the later ones have longer answers.
	answers := func(ended float64) float64 {
		early := arrived(half)
		return 100*min(ended, early) + 200*max(0, ended-early)
	}
	series := map[string]func(at time.Duration) float64{
		"vllm:num_requests_running":            func(at time.Duration) float64 { return arrived(at) - arrived(at-under) },
		"vllm:num_requests_waiting":            func(time.Duration) float64 { return 0 },
		"vllm:request_success_total":           func(at time.Duration) float64 { return arrived(at - under) },
		"vllm:request_prompt_tokens_sum":       func(at time.Duration) float64 { return 300 * arrived(at-under) },
		"vllm:request_prompt_tokens_count":     func(at time.Duration) float64 { return arrived(at - under) },
		"vllm:request_generation_tokens_sum":   func(at time.Duration) float64 { return answers(arrived(at - under)) },
		"vllm:request_generation_tokens_count": func(at time.Duration) float64 { return arrived(at - under) },
	}
	for name, value := range series {
		one := store.Series{Labels: labels.FromStrings("__name__", name, "namespace", "ns", "pod", "p", "job", "vllm", "model_name", "m")}
		for at := -5 * time.Minute; at <= all; at += scrape {
			one.Samples = append(one.Samples, store.Sample{At: begin.Add(at), Value: value(at)})
		}
		if err := s.Write(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(s.Store)
	t.Cleanup(server.Close)
	source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	workload, r, err := lab.ReadStore(t.Context(), source, lab.StoreRange{From: begin, To: begin.Add(all)})
	if err != nil {
		t.Fatal(err)
	}
	if want := arrived(all); math.Abs(r.Requests/want-1) > 0.01 || r.Steps != 60 || r.Step != time.Minute || r.Silent > 0 {
		t.Errorf("got %+v, want %v requests in 60 steps of a minute", r, want)
	}
	var early, late, tokens float64
	for request, err := range workload.Open(1) {
		switch {
		case err != nil:
			t.Fatal(err)
		case request.At < half:
			early++
		case request.At > half+2*under:
			late++
			tokens += float64(request.OutputTokens)
		}
		if request.InputTokens < 1 {
			t.Fatalf("%+v has no prompt", request)
		}
	}
	// Within five standard deviations of a Poisson count.
	if wantLate := 6 * (half - 2*under).Seconds(); math.Abs(early-3600) > 300 || math.Abs(late-wantLate) > 500 {
		t.Errorf("%v and %v requests, want about 3600 and %v", early, late, wantLate)
	}
	if mean := tokens / late; math.Abs(mean-200) > 10 {
		t.Errorf("the later answers have %.0f tokens in the mean, want about 200", mean)
	}
}
