package analyzer

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// goldenCase is one recorded answer of the published versions.
type goldenCase struct {
	goldentest.Case[goldenInputs, goldenAnswer]
}

type goldenInputs struct {
	K                         int
	Lambda, Mu                float64
	MuIgnored                 float64 `json:"mu_ignored"` // of a queue whose rates depend on its state
	Note                      string
	ServRate                  []float64
	Alpha, Beta, Gamma, Delta float64
	AvgInputTokens            float64
	AvgOutputTokens           float64
	MaxBatchSize              int
	MaxQueueSize              int
	Rate                      float64 `json:"rate_rps"`
	TargetTTFT                float64 `json:"targetTTFT_ms"`
	TargetITL                 float64 `json:"targetITL_ms"`
	TargetTPS                 float64
}

type goldenAnswer struct {
	Error, Valid    bool
	Throughput, P0  float64
	PK              float64 `json:"pK"`
	AvgNumInSystem  float64
	AvgNumInServers float64
	AvgQueueLength  float64
	AvgRespTime     float64
	AvgServTime     float64
	AvgWaitTime     float64
	MinRate         float64 `json:"minRate_rps"`
	MaxRate         float64 `json:"maxRate_rps"`
	RateTTFT        float64 `json:"rateTargetTTFT_rps"`
	RateITL         float64 `json:"rateTargetITL_rps"`
	RateTPS         float64 `json:"rateTargetTPS_rps"`
	AchievedTTFT    float64 `json:"achievedTTFT_ms"`
	AchievedITL     float64 `json:"achievedITL_ms"`
	AchievedTPS     float64
	goldenMetrics   // of an analyze case
	Metrics         goldenMetrics
}

type goldenMetrics struct {
	InService  float64 `json:"avgNumInServ"`
	Prefill    float64 `json:"avgPrefillTime_ms"`
	Response   float64 `json:"avgRespTime_ms"`
	TTFT       float64 `json:"avgTTFT_ms"`
	ITL        float64 `json:"avgTokenTime_ms"`
	Wait       float64 `json:"avgWaitTime_ms"`
	Rho        float64
	Throughput float64 `json:"throughput_rps"`
}

func TestGoldenAnswersOfThePublishedVersions(t *testing.T) {
	checks := map[string]func(*testing.T, goldenCase){
		"mm1k":        goldenMM1K,
		"mm1sd":       goldenStateDependent,
		"qa-range":    goldenRange,
		"qa-analyze":  goldenAnalyze,
		"qa-size":     goldenSize,
		"qa-invalid":  goldenInvalid,
		"qa2-range":   goldenRange,
		"qa2-analyze": goldenAnalyze,
		"qa2-size":    goldenSize,
	}
	// Two areas are inner parts of the published code that have no counterpart here: the search by
	// halving (binsearch), and the way back from the time in service to the concurrency (qa-effconc).
	for _, c := range goldentest.Read[goldenInputs, goldenAnswer](t, slices.Collect(maps.Keys(checks))...) {
		t.Run(c.String(), func(t *testing.T) { checks[c.Area](t, goldenCase{c}) })
	}
}

func goldenMM1K(t *testing.T, c goldenCase) {
	got, err := MM1KModel{ArrivalRate: c.Inputs.Lambda, ServiceRate: c.Inputs.Mu, Capacity: c.Inputs.K}.Solve()
	if err != nil {
		t.Fatal(err)
	}
	c.near(t, "p0", got.Idle, c.Expected.P0)
	c.near(t, "pK", got.Blocking, c.Expected.PK)
	c.near(t, "in system", got.InSystem, c.Expected.AvgNumInSystem)
	c.near(t, "waiting", got.QueueLength, c.Expected.AvgQueueLength)
	c.near(t, "response", got.Response, c.Expected.AvgRespTime)
	c.near(t, "service", got.Service, c.Expected.AvgServTime)
	c.near(t, "wait", got.Wait, c.Expected.AvgWaitTime)
	c.near(t, "throughput", got.Throughput, c.Expected.Throughput)
}

func goldenStateDependent(t *testing.T, c goldenCase) {
	m, err := NewMM1StateDependent(c.Inputs.ServRate, c.Inputs.K)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Solve(c.Inputs.Lambda)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Expected.Valid {
		// Deviation: a capacity of 1, refused by the published versions, is a queue
		// like others. Erlang's loss formula with one server.
		u := c.Inputs.Lambda / c.Inputs.ServRate[0]
		c.near(t, "blocking", got.Blocking, u/(1+u))
		return
	}
	c.near(t, "in service", got.InService, c.Expected.AvgNumInServers)
	c.near(t, "in system", got.InSystem, c.Expected.AvgNumInSystem)
	c.near(t, "waiting", got.QueueLength, c.Expected.AvgQueueLength)
	c.near(t, "response", got.Response, c.Expected.AvgRespTime)
	c.near(t, "service", got.Service, c.Expected.AvgServTime)
	c.near(t, "wait", got.Wait, c.Expected.AvgWaitTime)
	c.near(t, "throughput", got.Throughput, c.Expected.Throughput)
}

func goldenRange(t *testing.T, c goldenCase) {
	least, most := c.analyzer(t).RateRange()
	c.near(t, "least rate", least, c.Expected.MinRate)
	c.near(t, "greatest rate", most, c.Expected.MaxRate)
}

func goldenAnalyze(t *testing.T, c goldenCase) {
	got, err := c.analyzer(t).Published().Analyze(c.Inputs.Rate)
	if c.refused(t, err) {
		return
	}
	c.metrics(t, got, c.Expected.goldenMetrics)
}

func goldenSize(t *testing.T, c goldenCase) {
	got, err := c.analyzer(t).Published().Size(Targets{
		TTFT: c.Inputs.TargetTTFT, ITL: c.Inputs.TargetITL, TPS: c.Inputs.TargetTPS,
	})
	if c.refused(t, err) {
		return
	}
	c.near(t, "rate for TTFT", got.RateTTFT, c.Expected.RateTTFT)
	c.near(t, "rate for ITL", got.RateITL, c.Expected.RateITL)
	c.near(t, "rate for TPS", got.RateTPS, c.Expected.RateTPS)
	c.near(t, "TTFT", got.TTFT, c.Expected.AchievedTTFT)
	c.near(t, "ITL", got.Metrics.ITL, c.Expected.AchievedITL)
	c.near(t, "TPS", got.TPS, c.Expected.AchievedTPS)
	c.metrics(t, got.Metrics, c.Expected.Metrics)
}

func goldenInvalid(t *testing.T, c goldenCase) {
	_, err := NewQueueAnalyzer(c.config())
	if _, ok := errors.AsType[*InputError](err); !ok {
		t.Errorf("got %v, want an InputError", err)
	}
}

func (c goldenCase) config() Config {
	in := c.Inputs
	var service ServiceModel = FourParameter{Alpha: in.Alpha, Beta: in.Beta, Gamma: in.Gamma, Delta: in.Delta}
	if c.Area[:3] == "qa2" {
		service = ThreeParameter{Alpha: in.Alpha, Beta: in.Beta, Gamma: in.Gamma}
	}
	return Config{
		MaxBatch: in.MaxBatchSize, MaxQueue: in.MaxQueueSize, Service: service,
		Size: RequestSize{InputTokens: in.AvgInputTokens, OutputTokens: in.AvgOutputTokens},
	}
}

func (c goldenCase) analyzer(t *testing.T) QueueAnalyzer {
	t.Helper()
	return mustAnalyzer(t, c.config())
}

func (c goldenCase) refused(t *testing.T, err error) bool {
	t.Helper()
	if (err != nil) != c.Expected.Error {
		t.Fatalf("got error %v, published: %v", err, c.Expected.Error)
	}
	return err != nil
}

func (c goldenCase) metrics(t *testing.T, got Metrics, want goldenMetrics) {
	t.Helper()
	c.near(t, "in service", got.InService, want.InService)
	c.near(t, "prefill", got.Prefill, want.Prefill)
	c.near(t, "response", got.Response, want.Response)
	c.near(t, "ITL", got.ITL, want.ITL)
	c.near(t, "wait", got.Wait, want.Wait)
	c.near(t, "utilization", got.Utilization, want.Rho)
	c.near(t, "throughput", got.Throughput, want.Throughput)
	if want.TTFT > 0 {
		c.near(t, "TTFT", got.TTFT, want.TTFT)
	}
}

// near compares within the tolerance of the case. The published wait is the difference
// of two float32 times, so below a hundred-thousandth of the response it is noise.
func (c goldenCase) near(t *testing.T, what string, got, want float64) {
	t.Helper()
	noise := 0.0
	if what == "wait" || what == "waiting" || what == "TTFT" {
		noise = 1e-6 * max(c.Expected.AvgRespTime, c.Expected.Response, c.Expected.Metrics.Response)
	}
	if diff := got - want; max(diff, -diff) > c.Tolerance*max(want, -want)+noise {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func mustAnalyzer(tb testing.TB, c Config) QueueAnalyzer {
	tb.Helper()
	q, err := NewQueueAnalyzer(c)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}
