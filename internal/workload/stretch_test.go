package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStretchesHaveTheirOwnRatesAndLengths(t *testing.T) {
	lengths := func(input, output int) Lengths { return Lengths{Input: Fixed(input), Output: Fixed(output)} }
	all := []Stretch{
		{10 * time.Minute, 5, lengths(100, 10)},
		{Duration: 10 * time.Minute},
		{20 * time.Minute, 2, lengths(7, 900)},
	}
	s, err := NewStretches(all)
	if err != nil {
		t.Fatal(err)
	}
	if s.Duration() != 40*time.Minute {
		t.Errorf("they last %s, want 40m", s.Duration())
	}
	requests := slices.Collect(s.Generate(rand.New(rand.NewPCG(1, 0))))
	var counts [3]float64
	for i, r := range requests {
		if i > 0 && r.At < requests[i-1].At {
			t.Fatalf("request %d at %s, after one at %s", i, r.At, requests[i-1].At)
		}
		in := min(2, int(r.At/(10*time.Minute)))
		counts[in]++
		if want := all[in].Lengths; want.Input == nil || r.InputTokens != int(want.Input.Mean()) || r.OutputTokens != int(want.Output.Mean()) {
			t.Fatalf("%+v is of another stretch", r)
		}
	}
	for i, want := range []float64{3000, 0, 2400} {
		if math.Abs(counts[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("stretch %d has %v requests, want about %v", i+1, counts[i], want)
		}
	}
	if again := slices.Collect(s.Generate(rand.New(rand.NewPCG(1, 0)))); !slices.Equal(again, requests) {
		t.Error("the same seed gives other requests")
	}
}

func TestStretchesRefuseWhatTheyCannotDraw(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []Stretch
		want string
	}{
		{"none", nil, "no stretches"},
		{"no lengths", []Stretch{{Duration: time.Minute}, {Duration: time.Minute, Rate: 1}}, "stretch 2 has 1 requests/s without lengths"},
		{"no time", []Stretch{{}}, "segment 1"},
		{"a negative rate", []Stretch{{Duration: time.Minute, Rate: -1}}, "segment 1"},
	} {
		if _, err := NewStretches(c.all); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
}
