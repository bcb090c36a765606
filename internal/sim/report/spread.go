package report

import "math"

// Spread is one measure over runs with different seeds. The zero value is an unknown measure.
type Spread struct {
	Mean, Low, High float64 // Low and High are the least and the greatest
	// Error is the standard error of Mean, 0 for one run.
	Error float64
	Runs  int // counted runs, >= 0
}

// SpreadOf returns the Spread of values, one for each run. It ignores values that are NaN or
// infinite.
func SpreadOf(values ...float64) Spread {
	s := Spread{Low: math.Inf(1), High: math.Inf(-1)}
	sum := 0.0
	for _, v := range values {
		if !finite(v) {
			continue
		}
		s.Runs++
		sum += v
		s.Low, s.High = min(s.Low, v), max(s.High, v)
	}
	if s.Runs == 0 {
		return Spread{}
	}
	s.Mean = sum / float64(s.Runs)
	if s.Runs > 1 && s.Low < s.High {
		squares := 0.0
		for _, v := range values {
			if finite(v) {
				squares += (v - s.Mean) * (v - s.Mean)
			}
		}
		s.Error = math.Sqrt(squares / float64(s.Runs-1) / float64(s.Runs))
	}
	return s
}

// Known reports whether there is a value to show.
func (s Spread) Known() bool { return s.Runs > 0 && finite(s.Mean) }

// same reports whether two measures differ by no more than two standard errors of their difference.
// The error is 0 if there is one run of each.
func (s Spread) same(o Spread) bool {
	return math.Abs(s.Mean-o.Mean) <= 2*math.Hypot(s.Error, o.Error)
}

// wide reports whether the runs differ.
func (s Spread) wide() bool { return s.Runs > 1 && finite(s.Low) && finite(s.High) && s.Low < s.High }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
