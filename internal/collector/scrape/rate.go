package scrape

import (
	"math"
	"time"
)

// sample is one value of one series.
type sample struct {
	at    time.Time
	value float64
}

// samplesOf returns the samples of a series on pages, without gaps.
func samplesOf(pages []onePage, s series) []sample {
	samples := make([]sample, 0, len(pages))
	for _, p := range pages {
		if v, ok := p.value(s); ok {
			samples = append(samples, sample{p.at, v})
		}
	}
	return samples
}

// change returns the change over a whole window that ends at to, from the samples within it: the
// difference of the last and the first, extrapolated. For a counter it adds the counts before a
// restart. It is the rule of Prometheus (promql/functions.go, extrapolatedRate), so that both
// backends return the same numbers: it extrapolates to an end of the window if a sample is near
// enough to that, else by half a sample interval; and a counter never to below zero. Below two
// samples there is no result.
func change(samples []sample, to time.Time, window time.Duration, counter bool) (float64, bool) {
	if len(samples) < 2 {
		return 0, false
	}
	first, last := samples[0], samples[len(samples)-1]
	grown := last.value - first.value
	if counter {
		for i, s := range samples[1:] {
			if s.value < samples[i].value {
				grown += samples[i].value
			}
		}
	}
	sampled := last.at.Sub(first.at).Seconds()
	mean := sampled / float64(len(samples)-1)
	threshold := mean * 1.1
	toStart := first.at.Sub(to.Add(-window)).Seconds()
	toEnd := to.Sub(last.at).Seconds()
	if toStart >= threshold {
		toStart = mean / 2
	}
	if counter && grown > 0 && first.value >= 0 {
		toStart = min(toStart, sampled*(first.value/grown))
	}
	if toEnd >= threshold {
		toEnd = mean / 2
	}
	return grown * ((sampled + toStart + toEnd) / sampled), true
}

// peak returns the highest of samples, and false without samples. NaN counts only where no sample
// is a number.
func peak(samples []sample) (float64, bool) {
	highest := math.NaN()
	for _, s := range samples {
		if exceeds(s.value, highest) {
			highest = s.value
		}
	}
	return highest, len(samples) > 0
}

// moved reports whether a value differs from the one before it.
func moved(samples []sample) bool {
	for i := 1; i < len(samples); i++ {
		before, now := samples[i-1].value, samples[i].value
		if before != now && !(math.IsNaN(before) && math.IsNaN(now)) {
			return true
		}
	}
	return false
}
