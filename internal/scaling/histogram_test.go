package scaling

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// histogram returns a Fresh one of pairs of bound and rate, and a total.
func histogram(total float64, pairs ...float64) Histogram {
	h := Histogram{State: Fresh, Total: total}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Buckets = append(h.Buckets, Bucket{Bound: pairs[i], Rate: pairs[i+1]})
	}
	return h
}

func TestQuantileInterpolatesAsPromQLDoes(t *testing.T) {
	for _, tc := range []struct {
		name string
		h    Histogram
		q    float64
		want Estimate
		ok   bool
	}{
		// 10 observations: 4 up to 100, 4 in (100, 200], 2 in (200, 400].
		{"the middle of a bucket", histogram(10, 100, 4, 200, 8, 400, 10), 0.6, Estimate{150, Around}, true},
		{"the end of a bucket", histogram(10, 100, 4, 200, 8, 400, 10), 0.8, Estimate{200, Around}, true},
		{"the first bucket", histogram(10, 100, 4, 200, 8, 400, 10), 0.2, Estimate{50, AtMost}, true},
		{"beyond the last bound", histogram(10, 100, 4, 200, 8), 0.9, Estimate{200, AtLeast}, true},
		{"all beyond the last bound", histogram(10, 100, 0, 200, 0), 0.5, Estimate{200, AtLeast}, true},
		{"an empty bucket is skipped", histogram(10, 100, 5, 200, 5, 400, 10), 0.75, Estimate{300, Around}, true},
		{"a bucket that decreases is raised", histogram(10, 100, 6, 200, 3, 400, 10), 0.8, Estimate{300, Around}, true},
		{"a total below a bucket is raised", histogram(5, 100, 4, 200, 8), 0.75, Estimate{150, Around}, true},
		{"no observations", histogram(0, 100, 0), 0.5, Estimate{}, false},
		{"no bounds", histogram(10), 0.5, Estimate{}, false},
		{"no such part: 0", histogram(10, 100, 10), 0, Estimate{}, false},
		{"no such part: 1", histogram(10, 100, 10), 1, Estimate{}, false},
		{"no such part: NaN", histogram(10, 100, 10), math.NaN(), Estimate{}, false},
		{"infinitely many", histogram(math.Inf(1), 100, 10), 0.5, Estimate{}, false},
		{"not known", Histogram{State: Stale, Total: 10, Buckets: []Bucket{{100, 10}}}, 0.5, Estimate{}, false},
		{"late", Histogram{State: Aging, Total: 10, Buckets: []Bucket{{100, 5}, {200, 10}}}, 0.75, Estimate{150, Around}, true},
	} {
		got, ok := tc.h.Quantile(tc.q)
		if ok != tc.ok || math.Abs(got.Value-tc.want.Value) > 1e-9 || got.Side != tc.want.Side {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}

// drawnHistogram returns a histogram and its last bound; its buckets are not even ascending.
func drawnHistogram(random *rand.Rand) (h Histogram, bound float64) {
	h.State = Fresh
	for range 1 + random.IntN(10) {
		bound += 1 + 100*random.Float64()
		h.Buckets = append(h.Buckets, Bucket{Bound: bound, Rate: 10 * random.Float64()})
	}
	h.Total = 10 * random.Float64()
	return h, bound
}

func TestQuantileGrowsWithItsPart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		h, bound := drawnHistogram(random)
		last := 0.0
		for q := 0.01; q < 1; q += 0.01 {
			got, ok := h.Quantile(q)
			if !ok || got.Value < last || got.Value > bound {
				t.Fatalf("%+v: quantile %.2f is %+v after %v", h, q, got, last)
			}
			last = got.Value
		}
	}
}

func TestHistogramSurvivesJSON(t *testing.T) {
	want := histogram(10, 100, 4, 200, 8)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Histogram
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Buckets) != 2 || got.Buckets[1] != want.Buckets[1] || got.Total != 10 || got.State != Fresh {
		t.Errorf("got %+v from %s", got, text)
	}
}

func TestAboveIsExactAtTheBoundsAndGeometricBetweenThem(t *testing.T) {
	three := histogram(10, 100, 4, 200, 8, 400, 10) // 0.6 are above 100, 0.2 above 200, none above 400
	for _, tc := range []struct {
		name string
		h    Histogram
		ms   float64
		want float64
		ok   bool
	}{
		{"the first bound", three, 100, 0.6, true},
		{"the second bound", three, 200, 0.2, true},
		{"the last bound", three, 400, 0, true},
		{"beyond the last bound", three, 500, 0, true},
		{"beyond the last bound, which some exceed", histogram(10, 100, 4, 200, 8), 500, 0.2, true},
		{"the middle of the first bucket", three, 50, math.Sqrt(0.6), true},
		{"the middle of a bucket", three, 150, math.Sqrt(0.6 * 0.2), true},
		{"a quarter of a bucket", three, 125, 0.6 * math.Pow(0.2/0.6, 0.25), true},
		{"the middle of a bucket that nothing exceeds", three, 300, math.Sqrt(0.2 * 0.001), true},
		{"an empty bucket", histogram(10, 100, 5, 200, 5, 400, 10), 150, 0.5, true},
		{"a bucket that decreases is raised", histogram(10, 100, 6, 200, 3, 400, 10), 200, 0.4, true},
		{"a total below a bucket is raised", histogram(5, 100, 4, 200, 8), 100, 0.5, true},
		{"late", Histogram{State: Aging, Total: 10, Buckets: []Bucket{{100, 5}}}, 100, 0.5, true},
		{"no objective", three, 0, 0, true},
		{"no objective, and nothing known", Histogram{}, 0, 0, true},
		{"no observations", histogram(0, 100, 0), 50, 0, false},
		{"no bounds", histogram(10), 50, 0, false},
		{"infinitely many", histogram(math.Inf(1), 100, 10), 50, 0, false},
		{"not known", Histogram{State: Stale, Total: 10, Buckets: []Bucket{{100, 10}}}, 50, 0, false},
	} {
		if got, ok := tc.h.Above(tc.ms); ok != tc.ok || math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: got %g, %v, want %g, %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}

func TestAboveFallsWithItsBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h, bound := drawnHistogram(random)
		last := 1.0
		for ms := 0.5; ms < bound+10; ms += 0.5 {
			got, ok := h.Above(ms)
			if !ok || got < 0 || got > last {
				t.Fatalf("%+v: %g are above %g ms after %g above less", h, got, ms, last)
			}
			last = got
		}
	}
}

// TestWithinABucketTheMeanTells: nearly all observations are in one bucket, and its bounds say
// nothing about them.
func TestWithinABucketTheMeanTells(t *testing.T) {
	within := func(below, in float64) Histogram {
		return Histogram{State: Fresh, Buckets: []Bucket{{Bound: 10, Rate: below}, {Bound: 50, Rate: below + in}, {Bound: 100, Rate: 10}}, Total: 10}
	}
	for name, tt := range map[string]struct {
		h           Histogram
		mean, least float64
		from, to    float64
	}{
		"far below":                    {within(0, 10), 20, 15, 0.001, 0.05},
		"close below":                  {within(0, 10), 38, 15, 0.02, 0.2},
		"more than close":              {within(0, 10), 48, 15, 0.045, 0.3},
		"a mean that is not known":     {within(0, 10), 0, 15, 0.005, 0.006},
		"a mean below the least":       {within(0, 10), 12, 15, 0.002, 0.003},
		"the bound is below the least": {within(0, 10), 48, 45, 0.005, 0.006},
		"a bucket that says much":      {within(5, 4), 38, 15, 0.14, 0.16},
		"a mean outside of it":         {within(0, 10), 60, 15, 0.005, 0.006},
	} {
		mean := Measured(tt.mean, Fresh)
		if got, known := tt.h.AboveWithin(40, mean, alone(tt.mean, tt.least)); !known || got < tt.from || got > tt.to {
			t.Errorf("%s: %.4f above 40, %t, want %g to %g", name, got, known, tt.from, tt.to)
		}
	}
	// Replicas of measured profiles, in the simulator: in brackets the part of the requests above.
	for name, tt := range map[string]struct{ ms, mean, least, from, to float64 }{
		"requests alone (0)":            {3.9, 2.8, 2.797, 0.001, 0.002},
		"a mean below the least (0)":    {3.9, 2.79, 2.797, 0.001, 0.002},
		"a steep profile (0.40)":        {6.5, 5.83, 4.16, 0.2, 0.4},
		"a flat profile (0.02)":         {7.8, 7.09, 6.27, 0.02, 0.15},
		"far above the mean (0.02)":     {7.1, 4.41, 2.797, 0.01, 0.04},
		"two variants, one faster (0)":  {8, 4.5, 2.4, 0.001, 0.04},
		"an objective below the least":  {2, 2.8, 2.797, 0.25, 0.26},
		"an objective below the mean":   {5, 5.83, 4.16, 0.6, 0.9},
		"a mean in the bucket above it": {6.5, 12, 4.16, 0.011, 0.012},
	} {
		if got, _ := within(10, 0).AboveWithin(tt.ms, Measured(tt.mean, Fresh), alone(tt.mean, tt.least)); got < tt.from || got > tt.to {
			t.Errorf("%s: %.4f above %g, want %g to %g", name, got, tt.ms, tt.from, tt.to)
		}
	}
	if got, _ := within(0, 10).AboveWithin(0, Measured(20, Fresh), alone(20, 15)); got != 0 {
		t.Errorf("without a bound %g are above it, want 0", got)
	}
	if _, known := (Histogram{}).AboveWithin(40, Measured(20, Fresh), alone(20, 15)); known {
		t.Error("of nothing, something is known")
	}
}

// alone returns one component with a mean and a least value; none without a mean.
func alone(mean, least float64) []Component {
	if mean == 0 {
		return nil
	}
	return []Component{{Part: 1, Mean: mean, Least: least}}
}

// TestEachVariantHasItsOwnITL: most requests are served by variants whose every request takes about
// the mean of the variant, one replica of a faster variant has the least ITL of all.
func TestEachVariantHasItsOwnITL(t *testing.T) {
	h := Histogram{State: Fresh, Buckets: []Bucket{{Bound: 10, Rate: 10}, {Bound: 50, Rate: 10}}, Total: 10}
	slow, fast := Component{Part: 0.8, Mean: 7, Least: 6.7}, Component{Part: 0.2, Mean: 3.7, Least: 3.5}
	mean := Measured(0.8*7+0.2*3.7, Fresh)
	if got, _ := h.AboveWithin(9, mean, []Component{slow, fast}); got > 0.002 {
		t.Errorf("%.4f above 9, want next to none: no variant is near it", got)
	}
	if got, _ := h.AboveWithin(9, mean, alone(mean.Value, 3.5)); got < 0.02 {
		t.Errorf("%.4f above 9 as of one variant, want 0.02 or more", got)
	}
	if got, _ := h.AboveWithin(5, mean, []Component{slow, fast}); got < 0.79 || got > 0.95 {
		t.Errorf("%.4f above 5, want all of the slow variant", got)
	}
	scale, _ := h.AboveWithin(9, mean, []Component{slow, fast})
	twice, _ := h.AboveWithin(9, mean, []Component{{Part: 8, Mean: 7, Least: 6.7}, {Part: 2, Mean: 3.7, Least: 3.5}})
	if scale != twice {
		t.Errorf("%g above 9, %g with ten times the parts", scale, twice)
	}
}
