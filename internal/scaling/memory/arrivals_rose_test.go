package memory

import (
	"testing"
	"time"
)

func TestARateRisesBeyondNoise(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rates := func(each ...float64) (a Arrivals) {
		for i, rate := range each {
			a = append(a, Arrival{At: at.Add(time.Duration(i) * time.Minute), Over: time.Minute, Rate: rate})
		}
		return a
	}
	for name, test := range map[string]struct {
		of   Arrivals
		want bool
	}{
		"nothing":                           {nil, false},
		"one that stays":                    {rates(50, 50, 50, 50), false},
		"noise":                             {rates(50, 52, 48, 51, 49), false},
		"noise of few":                      {rates(0.1, 0.1, 0.1, 0.2), false},
		"a little, beyond noise":            {rates(5000, 5000, 5000, 5400), false},
		"a step up":                         {rates(50, 50, 50, 70), true},
		"a step down":                       {rates(70, 70, 70, 50), false},
		"slow growth":                       {rates(100, 104, 108, 112, 116, 120, 124, 128), true},
		"the beginning of what is measured": {rates(10, 50, 50), false},
		"spans that differ":                 {append(rates(50, 50, 50), Arrival{At: at.Add(4 * time.Minute), Over: 2 * time.Minute, Rate: 90}), false},
		"the window that overlaps":          {append(rates(50, 50, 50), Arrival{At: at.Add(150 * time.Second), Over: time.Minute, Rate: 50}), false},
	} {
		if got := test.of.Rose(); got != test.want {
			t.Errorf("%s: rose is %t, want %t", name, got, test.want)
		}
	}
}
