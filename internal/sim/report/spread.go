package report

import "math"

// Spread is one measure over the runs that differ in their seed. The zero value
// is a measure that is not known.
type Spread struct {
	Mean, Low, High float64 // Low and High are the least and the greatest
	// Error is the standard error of Mean, 0 where there is one run.
	Error float64
	Runs  int // that went into it, >= 0
}

// SpreadOf sums up values, one for each run. Those that are NaN or infinite are
// left out.
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

// Known reports whether there is anything to show.
func (s Spread) Known() bool { return s.Runs > 0 && finite(s.Mean) }

// same reports whether two measures differ by no more than two standard errors of
// their difference, which is none where one run of each is all that is known.
func (s Spread) same(o Spread) bool {
	return math.Abs(s.Mean-o.Mean) <= 2*math.Hypot(s.Error, o.Error)
}

// wide reports whether the runs differ.
func (s Spread) wide() bool { return s.Runs > 1 && finite(s.Low) && finite(s.High) && s.Low < s.High }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
