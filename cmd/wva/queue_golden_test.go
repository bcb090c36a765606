package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// queueCase is one recorded answer of the published versions.
type queueCase struct {
	goldentest.Case[publishedInputs, publishedAnswer]
}

type publishedInputs struct {
	Alpha, Beta, Gamma, Delta float64
	InputTokens               float64 `json:"avgInputTokens"`
	OutputTokens              float64 `json:"avgOutputTokens"`
	MaxBatch                  int     `json:"maxBatchSize"`
	MaxQueue                  int     `json:"maxQueueSize"`
	Rate                      float64 `json:"rate_rps"`
	TTFT                      float64 `json:"targetTTFT_ms"`
	ITL                       float64 `json:"targetITL_ms"`
	TPS                       float64 `json:"targetTPS"`
}

type publishedAnswer struct {
	Error    bool
	MinRate  float64 `json:"minRate_rps"`
	MaxRate  float64 `json:"maxRate_rps"`
	RateTTFT float64 `json:"rateTargetTTFT_rps"`
	RateITL  float64 `json:"rateTargetITL_rps"`
	RateTPS  float64 `json:"rateTargetTPS_rps"`
	TTFT     float64 `json:"achievedTTFT_ms"`
	ITL      float64 `json:"achievedITL_ms"`
	TPS      float64 `json:"achievedTPS"`
	queueCaseMetrics
	Metrics queueCaseMetrics
}

type queueCaseMetrics struct {
	InService  float64 `json:"avgNumInServ"`
	Prefill    float64 `json:"avgPrefillTime_ms"`
	Response   float64 `json:"avgRespTime_ms"`
	TTFT       float64 `json:"avgTTFT_ms"`
	ITL        float64 `json:"avgTokenTime_ms"`
	Wait       float64 `json:"avgWaitTime_ms"`
	Rho        float64
	Throughput float64 `json:"throughput_rps"`
}

// TestQueueReproducesThePublishedAnswers takes those that pkg/analyzer takes too.
func TestQueueReproducesThePublishedAnswers(t *testing.T) {
	// The rest is of queues without tokens, and of inner parts.
	areas := []string{"qa-range", "qa-analyze", "qa-size", "qa-invalid", "qa2-range", "qa2-analyze", "qa2-size"}
	for _, c := range goldentest.Read[publishedInputs, publishedAnswer](t, areas...) {
		t.Run(c.String(), queueCase{c}.check)
	}
}

// args are those of the command for a case.
func (c queueCase) args() []string {
	in := c.Inputs
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	args := []string{
		"-o", "json", "--alpha", number(in.Alpha), "--beta", number(in.Beta), "--gamma", number(in.Gamma),
		"--max-batch", strconv.Itoa(in.MaxBatch), "--max-queue", strconv.Itoa(in.MaxQueue),
		"--input-tokens", number(in.InputTokens), "--output-tokens", number(in.OutputTokens),
	}
	if strings.HasPrefix(c.Area, "qa2-") {
		args = append(args, "--service-model", "three")
	} else {
		args = append(args, "--delta", number(in.Delta))
	}
	switch {
	case strings.HasSuffix(c.Area, "-analyze"):
		args = append(args, "--rate", number(in.Rate))
	case strings.HasSuffix(c.Area, "-size"):
		args = append(args, "--ttft", number(in.TTFT), "--itl", number(in.ITL), "--tps", number(in.TPS))
	}
	return args
}

func (c queueCase) check(t *testing.T) {
	stdout, err := queue(t, c.args()...)
	if (err != nil) != c.Expected.Error {
		t.Fatalf("got error %v, published: %v", err, c.Expected.Error)
	}
	if err != nil {
		if answer := mustRead[map[string]any](t, stdout); len(answer) != 1 || answer["error"] == "" {
			t.Errorf("got %v, want an error and nothing else", answer)
		}
		return
	}
	type answer struct {
		Range  queueRange `json:"rate_range"`
		Points []struct {
			InService                                           float64 `json:"in_service"`
			Prefill, Response, TTFT, ITL, Wait, Rho, Throughput float64
		}
		Size queueSize
	}
	got, want := mustRead[answer](t, stdout), c.Expected
	c.nearIfKnown(t, "least rate", got.Range.Min, want.MinRate)
	c.nearIfKnown(t, "greatest rate", got.Range.Max, want.MaxRate)
	switch {
	case strings.HasSuffix(c.Area, "-analyze"):
		if len(got.Points) != 1 {
			t.Fatalf("got %d points, want that of the rate", len(got.Points))
		}
		p := got.Points[0]
		c.near(t, "in service", p.InService, want.InService)
		c.near(t, "prefill", p.Prefill, want.Prefill)
		c.near(t, "response", p.Response, want.Response)
		c.nearIfKnown(t, "TTFT", p.TTFT, want.queueCaseMetrics.TTFT)
		c.near(t, "ITL", p.ITL, want.queueCaseMetrics.ITL)
		c.near(t, "wait", p.Wait, want.Wait)
		c.near(t, "rho", p.Rho, want.Rho)
		c.near(t, "throughput", p.Throughput, want.Throughput)
	case strings.HasSuffix(c.Area, "-size"):
		c.near(t, "rate for TTFT", got.Size.RateTTFT, want.RateTTFT)
		c.near(t, "rate for ITL", got.Size.RateITL, want.RateITL)
		c.near(t, "rate for TPS", got.Size.RateTPS, want.RateTPS)
		c.near(t, "rate", got.Size.Rate, min(want.RateTTFT, want.RateITL, want.RateTPS))
		c.near(t, "TTFT", got.Size.TTFT, want.TTFT)
		c.near(t, "ITL", got.Size.ITL, want.ITL)
		c.near(t, "TPS", got.Size.TPS, want.TPS)
		c.near(t, "throughput", got.Size.Throughput, want.Metrics.Throughput)
	}
}

// nearIfKnown is near for a value that not all cases record.
func (c queueCase) nearIfKnown(t *testing.T, what string, got, want float64) {
	t.Helper()
	if want != 0 {
		c.near(t, what, got, want)
	}
}

// near compares within the tolerance of the case. The published wait is the difference
// of two float32 times, so below a millionth of the response it is noise.
func (c queueCase) near(t *testing.T, what string, got, want float64) {
	t.Helper()
	noise := 0.0
	if what == "wait" || what == "TTFT" {
		noise = 1e-6 * max(c.Expected.Response, c.Expected.Metrics.Response)
	}
	if diff := got - want; max(diff, -diff) > c.Tolerance*max(want, -want)+noise {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
