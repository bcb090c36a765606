package scrape

import (
	"math"
	"testing"
	"time"
)

// The expected values follow from the rule: the observed difference is stretched
// from the sampled span to the span that it is taken for.
func TestChangeExtrapolatesToTheEndsOfTheWindow(t *testing.T) {
	const counter, gauge = true, false
	for name, c := range map[string]struct {
		seconds []float64 // of the samples, from the beginning of a window of 60s
		values  []float64
		counter bool
		want    float64
	}{
		"samples from end to end":                         {[]float64{15, 30, 45, 60}, []float64{115, 130, 145, 160}, counter, 60},
		"the first is near the beginning":                 {[]float64{5, 20, 35, 50}, []float64{105, 120, 135, 150}, counter, 60},
		"a series born inside reaches half an interval":   {[]float64{30, 40, 50, 60}, []float64{100, 110, 120, 130}, counter, 35},
		"a counter does not reach below zero":             {[]float64{30, 40, 50, 60}, []float64{2, 12, 22, 32}, counter, 32},
		"a restart adds what was counted before":          {[]float64{15, 30, 45, 60}, []float64{100, 130, 10, 40}, counter, 93.33333333333333},
		"a gauge goes down":                               {[]float64{15, 30, 45, 60}, []float64{60, 45, 30, 15}, gauge, -60},
		"scrapes that stopped end half an interval later": {[]float64{10, 20, 30}, []float64{110, 120, 130}, counter, 35},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Unix(1_700_000_000, 0)
			var samples []sample
			for i, s := range c.seconds {
				samples = append(samples, sample{begin.Add(time.Duration(s * float64(time.Second))), c.values[i]})
			}
			got, ok := change(samples, begin.Add(time.Minute), time.Minute, c.counter)
			if !ok || math.Abs(got-c.want) > 1e-9*math.Abs(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestChangeOfOneSampleIsUnknown(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	if got, ok := change([]sample{{at, 7}}, at, time.Minute, true); ok {
		t.Errorf("got %v, want nothing", got)
	}
}
