package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// queueAnswer is the answer of "wva queue" for programs. Rates are in requests/s, times in ms,
// utilization (rho) is a ratio.
type queueAnswer struct {
	Values    string       `json:"values,omitempty"` // "correct", or absent for the published ones
	RateRange queueRange   `json:"rate_range"`
	Points    []queuePoint `json:"points"`
	Size      *queueSize   `json:"size,omitempty"` // nil without targets
}

type queueRange struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// queuePoint has the metrics of the replica at one rate.
type queuePoint struct {
	Rate       float64 `json:"rate"`
	Throughput float64 `json:"throughput"`
	Response   float64 `json:"response"`
	Wait       float64 `json:"wait"`
	InService  float64 `json:"in_service"`
	Prefill    float64 `json:"prefill"`
	TTFT       float64 `json:"ttft"`
	ITL        float64 `json:"itl"`
	Rho        float64 `json:"rho"`

	*ttftPercentiles // nil for published values
}

// ttftPercentiles are the TTFT that 50, 90 and 99 % of the requests do not exceed.
type ttftPercentiles struct {
	P50 float64 `json:"ttft_p50"`
	P90 float64 `json:"ttft_p90"`
	P99 float64 `json:"ttft_p99"`
}

// queueSize has the rate that each target allows, the least of them, and the throughput and
// latencies at that rate. The rate of a target that is not set is the end of the range. Among
// correct values RateTPS is the least rate that yields the TPS, and 0 if not set.
type queueSize struct {
	RateTTFT   float64 `json:"rate_ttft"`
	RateITL    float64 `json:"rate_itl"`
	RateTPS    float64 `json:"rate_tps"`
	Rate       float64 `json:"rate"`
	Throughput float64 `json:"throughput"`
	TTFT       float64 `json:"ttft"`
	ITL        float64 `json:"itl"`
	TPS        float64 `json:"tps"`
}

// queueFailure is the answer in case of an error.
type queueFailure struct {
	Error string `json:"error"`
}

// sizer is one replica, with published or with correct values.
type sizer interface {
	RateRange() (minRate, maxRate float64)
	Analyze(rate float64) (analyzer.Metrics, error)
	Size(t analyzer.Targets) (analyzer.Sizing, error)
}

var (
	_ sizer = analyzer.QueueAnalyzer{}
	_ sizer = analyzer.Published{}
)

// view returns the replica with the selected values.
func (f *queueFlags) view(q analyzer.QueueAnalyzer) sizer {
	if f.correct {
		return q
	}
	return q.Published()
}

// answer returns the points at --rate or over the whole range, and the size if a target was given,
// even if it is 0. changed reports which flags were given.
func (f *queueFlags) answer(q analyzer.QueueAnalyzer, changed func(name string) bool) (queueAnswer, error) {
	if changed("percentile") && !(f.percentile > 0 && f.percentile < 1) {
		// The analyzer takes 0 for the mean.
		return queueAnswer{}, fmt.Errorf("--percentile is %v, want above 0 and below 1", f.percentile)
	}
	var a queueAnswer
	if f.correct {
		a.Values = "correct"
	}
	a.RateRange.Min, a.RateRange.Max = q.RateRange()
	rates := f.rates
	if len(rates) == 0 {
		rates = overview(a.RateRange)
	}
	for _, rate := range rates {
		p, err := f.point(q, rate)
		if err != nil {
			return queueAnswer{}, err
		}
		a.Points = append(a.Points, p)
	}
	if !changed("ttft") && !changed("itl") && !changed("tps") {
		return a, nil
	}
	s, err := f.view(q).Size(analyzer.Targets{
		TTFT: f.ttft, TTFTPercentile: f.percentile, ITL: f.itl, ITLPercentile: f.percentile, TPS: f.tps,
	})
	if err != nil {
		return queueAnswer{}, err
	}
	a.Size = &queueSize{
		RateTTFT: s.RateTTFT, RateITL: s.RateITL, RateTPS: s.RateTPS,
		Rate: s.Rate, Throughput: s.Metrics.Throughput, TTFT: s.TTFT, ITL: s.ITL, TPS: s.TPS,
	}
	return a, nil
}

// point returns the metrics of the replica at one rate.
func (f *queueFlags) point(q analyzer.QueueAnalyzer, rate float64) (queuePoint, error) {
	m, err := f.view(q).Analyze(rate)
	if err != nil {
		return queuePoint{}, err
	}
	p := queuePoint{
		Rate: rate, Throughput: m.Throughput, Response: m.Response, Wait: m.Wait, InService: m.InService,
		Prefill: m.Prefill, TTFT: m.TTFT, ITL: m.ITL, Rho: m.Utilization,
	}
	if !f.correct {
		return p, nil
	}
	p.ttftPercentiles = &ttftPercentiles{}
	for _, of := range [...]struct {
		share float64
		ttft  *float64
	}{{0.5, &p.P50}, {0.9, &p.P90}, {0.99, &p.P99}} {
		if *of.ttft, err = q.PercentileTTFT(rate, of.share); err != nil {
			return queuePoint{}, err
		}
	}
	return p, nil
}

// overview returns the default rates: round numbers by tenths of the greatest rate, closer together
// towards it, where the queue grows.
func overview(r queueRange) []float64 {
	rates := []float64{r.Min}
	for _, share := range [...]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99} {
		// Three digits are within half a percent: below the greatest rate.
		if rate := rounded(share*r.Max, 3); rate > r.Min {
			rates = append(rates, rate)
		}
	}
	return append(rates, r.Max)
}

// rounded returns v with the given number of significant digits.
func rounded(v float64, digits int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// figure renders a number with four significant digits, without zeros at its end, and without an
// exponent unless it is very small or large.
func figure(v float64) string {
	const digits = 4
	short, size := rounded(v, digits), math.Abs(v)
	if size != 0 && size < 1e-6 || size >= 1e9 {
		return strconv.FormatFloat(short, 'g', -1, 64)
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// figures renders each number as figure does.
func figures(values []float64) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = figure(v)
	}
	return texts
}

// column renders the numbers of a column: with two decimals, or more where all are small.
func column(values []float64) []string {
	greatest := 0.0
	for _, v := range values {
		greatest = max(greatest, math.Abs(v))
	}
	decimals := 2
	if greatest > 0 {
		decimals = min(max(decimals, 3-int(math.Floor(math.Log10(greatest)))), 12)
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatFloat(v, 'f', decimals, 64)
	}
	return texts
}

// percentileName returns the name of a percentile, "mean" for 0.
func percentileName(share float64) string {
	if share == 0 {
		return "mean"
	}
	return "p" + strconv.FormatFloat(100*share, 'g', 6, 64)
}
