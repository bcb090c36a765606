package workload

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded is a log: two hours at a rate that rises and falls, with bursts.
func recorded(t *testing.T) []Request {
	t.Helper()
	p, err := ParseProfile("ramp(1->10,1h),gamma(4,1h,cv=4)")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ChatLengths(500, 100)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(Generate(p, l, rand.New(rand.NewPCG(7, 7))))
}

func resampled(t *testing.T, all []Request, seed uint64) []Request {
	t.Helper()
	var out []Request
	for r, err := range DefaultResample().Of(WithoutError(slices.Values(all)), rand.New(rand.NewPCG(seed, 0))) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// per counts arrivals in stretches of a length.
func per(all []Request, length time.Duration) []float64 {
	out := make([]float64, int(2*time.Hour/length))
	for _, r := range all {
		out[int(r.At/length)]++
	}
	return out
}

// TestResamplingKeepsTheCountAndTheCurve compares draws with their record: the mean of
// many draws is the record's curve over five minutes, and one draw is off by chance.
func TestResamplingKeepsTheCountAndTheCurve(t *testing.T) {
	all := recorded(t)
	const draws, stretch = 40, 5 * time.Minute
	mean := make([]float64, int(2*time.Hour/stretch))
	tokens, requests := 0.0, 0.0
	for seed := range uint64(draws) {
		got := resampled(t, all, seed)
		if off := math.Abs(float64(len(got)-len(all))) / math.Sqrt(float64(len(all))); off > 6 {
			t.Errorf("seed %d: %d requests of %d, off by %.1f roots of the count", seed, len(got), len(all), off)
		}
		if !slices.IsSortedFunc(got, func(a, b Request) int { return int(a.At - b.At) }) {
			t.Errorf("seed %d: not in order of arrival", seed)
		}
		if end := got[len(got)-1].At; end > all[len(all)-1].At {
			t.Errorf("seed %d: the last arrives at %s, after the %s of the record", seed, end, all[len(all)-1].At)
		}
		for i, n := range per(got, stretch) {
			mean[i] += n / draws
		}
		for _, r := range got {
			tokens += float64(r.InputTokens)
		}
		requests += float64(len(got))
	}
	for i, want := range per(all, stretch) {
		if math.Abs(mean[i]-want) > 0.12*want+5 {
			t.Errorf("from %s on: %.0f requests in five minutes in the mean, want about %.0f", time.Duration(i)*stretch, mean[i], want)
		}
	}
	want := 0.0
	for _, r := range all {
		want += float64(r.InputTokens) / float64(len(all))
	}
	if got := tokens / requests; math.Abs(got/want-1) > 0.02 {
		t.Errorf("%.0f input tokens in the mean, want %.0f", got, want)
	}
}

// TestResamplingKeepsBursts: the variance of the arrivals of five seconds is that of
// the record, which is far above that of a Poisson process.
func TestResamplingKeepsBursts(t *testing.T) {
	dispersion := func(all []Request) float64 {
		var n, sum, squares float64
		for _, k := range per(all, 5*time.Second)[720:] { // of the second hour
			n, sum, squares = n+1, sum+k, squares+k*k
		}
		mean := sum / n
		return (squares/n - mean*mean) / mean
	}
	all := recorded(t)
	want, got := dispersion(all), 0.0
	for seed := range uint64(10) {
		got += dispersion(resampled(t, all, seed)) / 10
	}
	if want < 3 || math.Abs(got/want-1) > 0.3 {
		t.Errorf("the variance is %.2f times the mean, want about the %.2f of the record, 3 or more", got, want)
	}
}

func TestResamplingDrawsAnew(t *testing.T) {
	all := recorded(t)
	one := resampled(t, all, 1)
	if diff := cmp.Diff(one, resampled(t, all, 1)); diff != "" {
		t.Errorf("one seed gives two draws:\n%s", diff)
	}
	if same := shared(one, resampled(t, all, 2)); same > 0.05 {
		t.Errorf("draws with two seeds have %.0f %% of their arrivals in common", 100*same)
	}
	if same := shared(one, all); same > 0.05 {
		t.Errorf("a draw has %.0f %% of its arrivals in common with the record", 100*same)
	}
}

// shared is the part of a's requests that are in b at the same instant.
func shared(a, b []Request) float64 {
	known := map[Request]bool{}
	for _, r := range b {
		known[r] = true
	}
	n := 0
	for _, r := range a {
		if known[r] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

func TestResamplingEndsWithTheErrorOfTheRecord(t *testing.T) {
	broken := errors.New("broken")
	record := func(yield func(Request, error) bool) {
		if yield(Request{At: time.Second, InputTokens: 1, OutputTokens: 1}, nil) {
			yield(Request{}, broken)
		}
	}
	var got error
	for _, err := range DefaultResample().Of(record, rand.New(rand.NewPCG(1, 1))) {
		got = err
	}
	if !errors.Is(got, broken) {
		t.Errorf("got %v, want the error of the record", got)
	}
	for r, err := range DefaultResample().Of(WithoutError(slices.Values[[]Request](nil)), rand.New(rand.NewPCG(1, 1))) {
		t.Errorf("a draw from nothing has %+v, %v", r, err)
	}
}
