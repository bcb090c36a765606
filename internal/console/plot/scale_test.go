package plot

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// texts are the labels of the ticks, and the ends of the scale in brackets.
func texts(s scale) string {
	var all []string
	for _, k := range s.ticks {
		all = append(all, k.text)
	}
	return strings.Join(all, " ")
}

func TestScalesHaveRoundTicks(t *testing.T) {
	for _, c := range []struct {
		name      string
		got       scale
		low, high float64
		ticks     string
	}{
		{"from zero, to the next tick", wide(21, 46.7, 5), 0, 50, "0 10 20 30 40 50"},
		{"upper half: not from zero", wide(20.99, 22.14, 5), 20.5, 22.5, "20.5 21.0 21.5 22.0 22.5"},
		{"only one value", wide(7, 7, 5), 6, 8, "6.0 6.5 7.0 7.5 8.0"},
		{"only zero", wide(0, 0, 5), 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{"negative", wide(-3, 4, 5), -4, 4, "-4 -2 0 2 4"},
		{"at the factor: linear", wide(1, 20, 5), 0, 20, "0 5 10 15 20"},
		{"above the factor: logarithmic", wide(1.5, 40, 5), 1, 50, "1 2 5 10 20 50"},
		{"decades", wide(18, 30211, 5), 10, 50000, "10 100 1000 10000"},
		{"decades of small values", wide(0.002, 0.5, 8), 0.002, 0.5, "0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5"},
		{"every so many decades", wide(1, 1e12, 6), 1, 1e12, "1 1000 1e+06 1e+09 1e+12"},
		{"x ends with its values", tight(0.0003, 9.443, 5), 0, 9.443, "0 2 4 6 8"},
		{"negative x", tight(-8, -2, 5), -8, -2, "-8 -6 -4 -2"},
		{"small x", tight(0, 0.0047, 5), 0, 0.0047, "0 0.001 0.002 0.003 0.004"},
	} {
		t.Run(c.name, func(t *testing.T) {
			slack := 1e-12 * (c.high - c.low)
			if math.Abs(c.got.low-c.low) > slack || math.Abs(c.got.high-c.high) > slack || texts(c.got) != c.ticks {
				t.Errorf("got %v to %v: %s, want %v to %v: %s", c.got.low, c.got.high, texts(c.got), c.low, c.high, c.ticks)
			}
		})
	}
}

func TestScalesHoldTheirValuesAndTicks(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const slack = 1e-9
	for range 20000 {
		low := math.Pow(10, 12*random.Float64()-6)
		high := low * math.Pow(10, 6*random.Float64())
		most := 5 + random.IntN(6)
		for name, s := range map[string]scale{"wide": wide(low, high, most), "tight": tight(low, high, most)} {
			for _, v := range []float64{low, high, (low + high) / 2} {
				if share := s.share(v); share < -slack || share > 1+slack {
					t.Fatalf("%s(%v, %v, %d): %v is at %v", name, low, high, most, v, share)
				}
				if back := s.value(s.share(v)); math.Abs(back-v) > slack*high {
					t.Fatalf("%s(%v, %v, %d): %v comes back as %v", name, low, high, most, v, back)
				}
			}
			if n := len(s.ticks); n < 1 || n > most+2 {
				t.Fatalf("%s(%v, %v, %d) has %d ticks: %s", name, low, high, most, n, texts(s))
			}
			for i, k := range s.ticks {
				if share := s.share(k.at); share < -slack || share > 1+slack || i > 0 && k.text == s.ticks[i-1].text {
					t.Fatalf("%s(%v, %v, %d): tick %q is at %v: %s", name, low, high, most, k.text, share, texts(s))
				}
			}
		}
	}
}
