package analyzer

import (
	"math"
	"testing"
)

func TestRiseFindsTheRoot(t *testing.T) {
	for _, c := range []struct {
		name      string
		f         func(float64) float64
		low, high float64
		root      float64
		most      int // evaluations
	}{
		{"a line", func(x float64) float64 { return x - 3 }, 0, 10, 3, 6},
		{"a cube", func(x float64) float64 { return x*x*x - 2 }, 0, 100, math.Cbrt(2), 25},
		{"a hyperbola", func(x float64) float64 { return relative(1/(1-x), 50) }, 0, 0.999, 0.98, 20},
		{"a high power", func(x float64) float64 { return relative(math.Pow(x, 200), 1e-30) }, 0, 1, math.Pow(10, -0.15), 40},
		{"a step", func(x float64) float64 { return math.Copysign(1, x-0.3) }, 0, 1, 0.3, 60},
		{"a root next to 0", func(x float64) float64 { return relative(x, 1e-15) }, 0, 1e9, 1e-15, patience + 60},
		{"flat but for the end", func(x float64) float64 { return math.Pow(x, 1e6) - 0.5 }, 0, 1, math.Pow(0.5, 1e-6), 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			b := rise(func(x float64) float64 { calls++; return c.f(x) }, c.low, c.high)
			if b.search.Ending != Converged {
				t.Errorf("search ends %v, want Converged", b.search.Ending)
			}
			if b.search.Evaluations != calls || calls > c.most {
				t.Errorf("%d evaluations for %d calls, want at most %d", b.search.Evaluations, calls, c.most)
			}
			if width := accuracy*c.root + leastAccuracy*c.high; math.Abs(b.low-c.root) > 2*width || math.Abs(b.high-c.root) > 2*width {
				t.Errorf("root in [%v, %v], want %v", b.low, b.high, c.root)
			}
			if c.f(b.low) > 0 || c.f(b.high) < 0 || b.low > b.high {
				t.Errorf("no change of sign in [%v, %v]", b.low, b.high)
			}
		})
	}
}

func TestRiseNamesTheEndOfTheRange(t *testing.T) {
	for _, c := range []struct {
		name  string
		shift float64
		at    float64
		want  Ending
	}{
		{"above 0 throughout", 1, 2, OutOfReach},
		{"below 0 throughout", -10, 5, AtUpperEnd},
		{"0 at the beginning", -2, 2, Converged},
		{"0 at the end", -5, 5, AtUpperEnd},
		{"above 0 by rounding at the beginning", -2 + 1e-14, 2, Converged},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := rise(func(x float64) float64 { return x + c.shift }, 2, 5)
			if b.search.Ending != c.want || distance(b.low, c.at) > 1e-11 {
				t.Errorf("got %+v, want %v at %v", b, c.want, c.at)
			}
		})
	}
}

func TestEndingsHaveNames(t *testing.T) {
	for ending, want := range map[Ending]string{
		NotSearched: "NotSearched", Converged: "Converged", AtUpperEnd: "AtUpperEnd", OutOfReach: "OutOfReach",
		-1: "Ending(-1)", 4: "Ending(4)",
	} {
		if got := ending.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
