package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChatLengthsHaveTheirMeans draws 50,000. The clamped lengths' standard
// deviation is below 1.5 means, so that of the average is below 0.67 %; 3 % is
// allowed, and half a token for rounding.
func TestChatLengthsHaveTheirMeans(t *testing.T) {
	const draws = 50_000
	for _, want := range [][2]float64{{ShareGPTInputMean, ShareGPTOutputMean}, {200, 200}, {4000, 50}, {3, 2}} {
		l, err := ChatLengths(want[0], want[1])
		if err != nil {
			t.Fatal(err)
		}
		for i, length := range []Length{l.Input, l.Output} {
			rng := random(11)
			var sum float64
			for range draws {
				n := length.Draw(rng)
				if n < 1 || n > MaxTokens {
					t.Fatalf("drew %d tokens", n)
				}
				sum += float64(n)
			}
			if got := sum / draws; math.Abs(got-want[i]) > 0.03*want[i]+0.5 {
				t.Errorf("mean %g: drew %g on average", want[i], got)
			}
			if got := length.Mean(); math.Abs(got-want[i]) > 1e-9 {
				t.Errorf("mean %g: Mean() = %g", want[i], got)
			}
		}
	}
}

func TestScalingKeepsTheSpread(t *testing.T) {
	small, err := ChatLengths(ShareGPTInputMean, ShareGPTOutputMean)
	if err != nil {
		t.Fatal(err)
	}
	large, err := ChatLengths(10*ShareGPTInputMean, 10*ShareGPTOutputMean)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		got := large.Input.(Lognormal).Quantile(q) / small.Input.(Lognormal).Quantile(q)
		if math.Abs(got-10) > 0.01 {
			t.Errorf("quantile %g grew by %g, want 10", q, got)
		}
	}
}

func TestQuantilesSplitTheDraws(t *testing.T) {
	l, err := newLognormal(161.31, 1.1, 4, 1024)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	rng := random(5)
	lengths := make([]int, draws)
	for i := range lengths {
		lengths[i] = l.Draw(rng)
	}
	slices.Sort(lengths)
	for _, q := range []float64{0.1, 0.5, 0.9} {
		// The rank of a quantile has a standard deviation of sqrt(q(1-q)n) <= 158.
		rank, _ := slices.BinarySearch(lengths, int(math.Ceil(l.Quantile(q))))
		if math.Abs(float64(rank)-q*draws) > 4*158+draws*0.01 {
			t.Errorf("%d of %d draws are below the quantile %g, %g", rank, draws, q, l.Quantile(q))
		}
	}
	if lengths[0] != 4 || lengths[draws-1] != 1024 {
		t.Errorf("lengths are in [%d, %d], want the range [4, 1024]", lengths[0], lengths[draws-1])
	}
}

func TestLengthsOutOfRangeAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"constant 0":     second(ConstantLengths(1, 0)),
		"constant large": second(ConstantLengths(MaxTokens+1, 1)),
		"chat 0":         second(ChatLengths(0, 10)),
		"chat NaN":       second(ChatLengths(10, math.NaN())),
		"mean too high":  second(newLognormal(10, 1, 1, 10)),
		"mean too low":   second(newLognormal(1, 1, 1, 10)),
		"no spread":      second(newLognormal(5, 0, 1, 10)),
		"low below one":  second(newLognormal(5, 1, 0, 10)),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSameSeedGivesTheSameRequests(t *testing.T) {
	p := parse(t, mixed)
	chat, err := ChatLengths(200, 200)
	if err != nil {
		t.Fatal(err)
	}
	first, second := slices.Collect(Generate(p, chat, random(1))), slices.Collect(Generate(p, chat, random(1)))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if other := slices.Collect(Generate(p, chat, random(2))); cmp.Equal(first, other) {
		t.Error("another seed gives the same requests")
	}
}

func TestLengthsLeaveArrivalsAsTheyAre(t *testing.T) {
	p := parse(t, mixed)
	chat, err := ChatLengths(200, 200)
	if err != nil {
		t.Fatal(err)
	}
	constant, err := ConstantLengths(7, 9)
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Collect(Generate(p, constant, random(1)))
	i := 0
	for r, err := range WithoutError(Generate(p, chat, random(1))) {
		if err != nil || r.At != other[i].At {
			t.Fatalf("request %d arrives at %s with one length and at %s with another (%v)", i, r.At, other[i].At, err)
		}
		if other[i].InputTokens != 7 || other[i].OutputTokens != 9 {
			t.Fatalf("request %d has lengths %d/%d, want 7/9", i, other[i].InputTokens, other[i].OutputTokens)
		}
		i++
	}
	if i != len(other) {
		t.Errorf("%d requests with one length, %d with another", i, len(other))
	}
}
