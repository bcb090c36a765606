package analyzer

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// bent is a service model whose times are not what the formulae take them for.
type bent struct {
	FourParameter
	total func(batch float64) float64
}

func (b bent) Total(batch float64, _ RequestSize) float64 { return b.total(batch) }

func TestConfigurationsOutOfRangeAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name  string
		field string
		spoil func(*Config)
	}{
		{"no batch", "Config.MaxBatch", func(c *Config) { c.MaxBatch = 0 }},
		{"a negative batch", "Config.MaxBatch", func(c *Config) { c.MaxBatch = -1 }},
		{"a batch beyond the tables", "Config.MaxBatch", func(c *Config) { c.MaxBatch = mostBatch + 1 }},
		{"a negative queue", "Config.MaxQueue", func(c *Config) { c.MaxQueue = -1 }},
		{"no service model", "Config.Service", func(c *Config) { c.Service = nil }},
		{"negative input", "RequestSize.InputTokens", func(c *Config) { c.Size.InputTokens = -1 }},
		{"infinite input", "RequestSize.InputTokens", func(c *Config) { c.Size.InputTokens = inf }},
		{"no output", "RequestSize.OutputTokens", func(c *Config) { c.Size.OutputTokens = 0 }},
		{"output that is no number", "RequestSize.OutputTokens", func(c *Config) { c.Size.OutputTokens = nan }},
		{"negative alpha", "FourParameter.Alpha", func(c *Config) { c.Service = FourParameter{Alpha: -1} }},
		{"infinite beta", "FourParameter.Beta", func(c *Config) { c.Service = FourParameter{Beta: inf} }},
		{"gamma that is no number", "FourParameter.Gamma", func(c *Config) { c.Service = FourParameter{Gamma: nan} }},
		{"negative delta", "FourParameter.Delta", func(c *Config) { c.Service = FourParameter{Delta: -1e-300} }},
		{"negative gamma of three", "ThreeParameter.Gamma", func(c *Config) { c.Service = ThreeParameter{Alpha: 1, Gamma: -1} }},
		{"service without time", "Config.Service.Total", func(c *Config) { c.Service = FourParameter{} }},
		{"service beyond numbers", "Config.Service.Prefill", func(c *Config) { c.Service = FourParameter{Alpha: 1, Delta: math.MaxFloat64} }},
		{"service that is not a line", "Config.Service.Total", func(c *Config) {
			c.Service = bent{total: func(batch float64) float64 { return 10 + batch*batch }}
		}},
		{"service that falls", "Config.Service.Total", func(c *Config) {
			c.Service = bent{total: func(batch float64) float64 { return 1000 - batch }}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := benchConfig
			c.spoil(&config)
			q, err := NewQueueAnalyzer(config)
			wantInputError(t, err, c.field)
			if _, most := q.RateRange(); most != 0 {
				t.Errorf("an analyzer beside the error, up to %v requests/s", most)
			}
		})
	}
}

func TestArgumentsOutOfRangeAreNamed(t *testing.T) {
	q := mustAnalyzer(t, benchConfig)
	_, most := q.RateRange()
	nan, inf := math.NaN(), math.Inf(1)
	var zero QueueAnalyzer
	states, err := NewMM1StateDependent([]float64{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, field string
		do          func() error
	}{
		{"negative rate", "rate", func() error { _, err := q.Analyze(-1); return err }},
		{"rate that is no number", "rate", func() error { _, err := q.Analyze(nan); return err }},
		{"rate beyond the stable range", "rate", func() error { _, err := q.Analyze(1.001 * most); return err }},
		{"percentile beyond the stable range", "rate", func() error { _, err := q.PercentileTTFT(inf, 0.9); return err }},
		{"percentile 0", "p", func() error { _, err := q.PercentileTTFT(1, 0); return err }},
		{"percentile 1", "p", func() error { _, err := q.PercentileTTFT(1, 1); return err }},
		{"percentile in percent", "p", func() error { _, err := q.PercentileTTFT(1, 90); return err }},
		{"share within a negative time", "ttft", func() error { _, err := q.ShareWithinTTFT(1, -1); return err }},
		{"share at a negative rate", "rate", func() error { _, err := q.ShareWithinTTFT(-1, 1); return err }},
		{"negative TTFT", "Targets.TTFT", func() error { _, err := q.Size(Targets{TTFT: -1}); return err }},
		{"infinite ITL", "Targets.ITL", func() error { _, err := q.Size(Targets{ITL: inf}); return err }},
		{"TPS that is no number", "Targets.TPS", func() error { _, err := q.Size(Targets{TPS: nan}); return err }},
		{"percentile target in percent", "Targets.TTFTPercentile", func() error {
			_, err := q.Size(Targets{TTFT: 500, TTFTPercentile: 90})
			return err
		}},
		{"ITL percentile of 1", "Targets.ITLPercentile", func() error {
			_, err := q.Size(Targets{ITL: 50, ITLPercentile: 1})
			return err
		}},
		{"negative percentile", "Targets.ITLPercentile", func() error {
			_, err := q.Size(Targets{ITL: 50, ITLPercentile: -0.5})
			return err
		}},
		{"ITL percentile 0", "p", func() error { _, err := q.PercentileITL(1, 0); return err }},
		{"ITL percentile at a negative rate", "rate", func() error { _, err := q.PercentileITL(-1, 0.5); return err }},
		{"published ITL percentile", "Targets.ITLPercentile", func() error {
			_, err := q.Published().Size(Targets{ITL: 500, ITLPercentile: 0.9})
			return err
		}},
		{"published percentile", "Targets.TTFTPercentile", func() error {
			_, err := q.Published().Size(Targets{TTFT: 500, TTFTPercentile: 0.9})
			return err
		}},
		{"published negative target", "Targets.ITL", func() error { _, err := q.Published().Size(Targets{ITL: -1}); return err }},
		{"published rate 0", "rate", func() error { _, err := q.Published().Analyze(0); return err }},
		{"zero value, analyze", "QueueAnalyzer", func() error { _, err := zero.Analyze(0); return err }},
		{"zero value, size", "QueueAnalyzer", func() error { _, err := zero.Size(Targets{}); return err }},
		{"zero value, published", "QueueAnalyzer", func() error { _, err := zero.Published().Size(Targets{}); return err }},
		{"zero value, published idle", "Config.Service", func() error { _, _, err := zero.Published().Idle(); return err }},
		{"M/M/1/K without service", "MM1KModel.ServiceRate", func() error {
			_, err := MM1KModel{ArrivalRate: 1, Capacity: 1}.Solve()
			return err
		}},
		{"M/M/1/K, infinite arrivals", "MM1KModel.ArrivalRate", func() error {
			_, err := MM1KModel{ArrivalRate: inf, ServiceRate: 1, Capacity: 1}.Solve()
			return err
		}},
		{"M/M/1/K without room", "MM1KModel.Capacity", func() error {
			_, err := MM1KModel{ArrivalRate: 1, ServiceRate: 1}.Solve()
			return err
		}},
		{"no rates", "the number of rates", func() error { _, err := NewMM1StateDependent(nil, 3); return err }},
		{"a rate of 0", "rates[1]", func() error { _, err := NewMM1StateDependent([]float64{1, 0}, 3); return err }},
		{"a rate without inverse", "rates[0]", func() error { _, err := NewMM1StateDependent([]float64{1e-320}, 3); return err }},
		{"less room than rates", "capacity", func() error { _, err := NewMM1StateDependent([]float64{1, 1}, 1); return err }},
		{"negative arrivals", "arrival", func() error { _, err := states.Solve(-1); return err }},
		{"zero value, states", "MM1StateDependent", func() error { _, err := MM1StateDependent{}.Solve(1); return err }},
		{"M/G/1 at its limit", "MG1Model.ArrivalRate", func() error {
			_, err := MG1Model{ArrivalRate: 0.5, ServiceTime: 2}.Solve()
			return err
		}},
		{"M/G/1 with negative variation", "MG1Model.SCV", func() error {
			_, err := MG1Model{ServiceTime: 2, SCV: -1}.Solve()
			return err
		}},
		{"M/G/1/K without time", "MG1KModel.ServiceTime", func() error {
			_, err := MG1KModel{Capacity: 1}.Solve()
			return err
		}},
		{"M/G/1/K without room", "MG1KModel.Capacity", func() error {
			_, err := MG1KModel{ServiceTime: 1}.Solve()
			return err
		}},
		{"M/D/1/K at twice its service", "MG1KModel.ArrivalRate", func() error {
			_, err := MG1KModel{ArrivalRate: 2, ServiceTime: 1, Capacity: 5}.Solve()
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { wantInputError(t, c.do(), c.field) })
	}
}

func wantInputError(t *testing.T, err error, field string) {
	t.Helper()
	var input *InputError
	if !errors.As(err, &input) {
		t.Fatalf("got %v, want an InputError", err)
	}
	if input.Field != field || input.Want == "" {
		t.Errorf("got %+v, want field %s and what is accepted", input, field)
	}
}

func TestErrorsSayWhatWasFoundAndWhatIsAccepted(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{&InputError{"Config.MaxBatch", 0, "1 to 8 requests"}, []string{"Config.MaxBatch", "is 0", "1 to 8 requests"}},
		{
			&TargetError{Target: "TTFT", Unit: "ms", Wanted: 5, Best: 18.5, Percentile: 0.9},
			[]string{"TTFT at percentile 0.9", "5 ms", "18.5 ms"},
		},
		{&TargetError{Target: "ITL", Unit: "ms", Wanted: 5, Best: 18.5}, []string{"mean ITL", "5 ms", "18.5 ms"}},
		{
			&TargetError{Target: "TPS", Unit: "tokens/s", Wanted: 500, Best: 120},
			[]string{"TPS of 500 tokens/s", "120 tokens/s"},
		},
	} {
		for _, want := range c.want {
			if got := c.err.Error(); !strings.Contains(got, want) {
				t.Errorf("%q does not contain %q", got, want)
			}
		}
	}
}
