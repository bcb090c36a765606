package lab

import (
	"fmt"
	"math"
)

// Spread summarizes a number over the seeds.
type Spread struct {
	Mean float64 `json:"mean"`
	// Error is the standard error of Mean: the standard deviation over the seeds divided by the
	// root of their number. 0 for one seed, where it is unknown.
	Error float64 `json:"error"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// Text returns the mean with its standard error, each times factor.
func (s Spread) Text(factor float64, decimals int) string {
	text := fmt.Sprintf("%.*f", decimals, factor*s.Mean)
	if s.Error > 0 {
		text += fmt.Sprintf(" ±%.*f", decimals, factor*s.Error)
	}
	return text
}

// doubt is the number of standard errors within which a difference is a tie. With five seeds and no
// true difference, one comparison of nine goes beyond it (Student's t with four degrees of
// freedom).
const doubt = 2

// spreadOf returns the Spread of values, one of each seed, one or more.
func spreadOf(values []float64) Spread {
	s := Spread{Min: math.Inf(1), Max: math.Inf(-1)}
	n := float64(len(values))
	for _, v := range values {
		s.Mean += v / n
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	}
	s.Mean = min(max(s.Mean, s.Min), s.Max) // rounding
	if n < 2 || s.Min == s.Max {
		return s
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.Error = math.Sqrt(squares / (n - 1) / n)
	return s
}

// sign returns 1 if the mean is above 0 beyond doubt, -1 if it is below, else 0.
func (s Spread) sign() int {
	switch {
	case s.Mean > doubt*s.Error:
		return 1
	case s.Mean < -doubt*s.Error:
		return -1
	}
	return 0
}

// against returns the spread of the differences between a measure of two policies, seed by seed:
// with one seed both had the same requests and start-up times, whose effect on both is no part of
// the error. For rows without a common seed it is the difference of the means, with both errors.
func (r Row) against(o Row, of func(*Measures[float64]) *float64, mean func(*Measures[Spread]) *Spread) Spread {
	var differences []float64
	for i := range r.Runs {
		for j := range o.Runs {
			if r.Runs[i].Seed == o.Runs[j].Seed {
				differences = append(differences, *of(&r.Runs[i].Measures)-*of(&o.Runs[j].Measures))
			}
		}
	}
	if len(differences) > 0 {
		return spreadOf(differences)
	}
	a, b := *mean(&r.Measures), *mean(&o.Measures)
	return Spread{Mean: a.Mean - b.Mean, Error: math.Hypot(a.Error, b.Error), Min: a.Min - b.Max, Max: a.Max - b.Min}
}

// costAgainst and attainedAgainst compare two policies.
func (r Row) costAgainst(o Row) Spread {
	return r.against(o, func(m *Measures[float64]) *float64 { return &m.Cost }, func(m *Measures[Spread]) *Spread { return &m.Cost })
}

func (r Row) attainedAgainst(o Row) Spread {
	return r.against(o, func(m *Measures[float64]) *float64 { return &m.Attainment }, func(m *Measures[Spread]) *Spread { return &m.Attainment })
}

// spread returns the Spread of every measure over the runs of one policy, one or more.
func spread(runs []Measures[float64]) Measures[Spread] {
	var m Measures[Spread]
	values := make([]float64, len(runs))
	for i, out := range m.fields() {
		for j, run := range runs {
			values[j] = *run.fields()[i]
		}
		*out = spreadOf(values)
	}
	return m
}
