package lab

import (
	"errors"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// wrong multiplies one coefficient of a profile, or all, by a factor.
type wrong struct {
	factor      float64 // > 0
	coefficient string  // "" for all
}

// parseWrong reads a factor, as 0.5 or as 2*beta.
func parseWrong(text string) (wrong, error) {
	number, coefficient, one := strings.Cut(text, "*")
	factor, err := strconv.ParseFloat(number, 64)
	w := wrong{factor: factor, coefficient: coefficient}
	if err != nil || !(factor > 0 && factor <= 100) || one && w.of(&scaling.Profile{}) == nil {
		return wrong{}, errors.New("a factor above 0 and at most 100, alone or of one of alpha, beta, gamma and delta: 0.5, 2*beta")
	}
	return w, nil
}

// of returns the one coefficient of p that is wrong, nil for all or an unknown one.
func (w wrong) of(p *scaling.Profile) *float64 {
	return map[string]*float64{"alpha": &p.Alpha, "beta": &p.Beta, "gamma": &p.Gamma, "delta": &p.Delta}[w.coefficient]
}

// made returns p with its wrong coefficients.
func (w wrong) made(p scaling.Profile) scaling.Profile {
	if one := w.of(&p); one != nil {
		*one *= w.factor
		return p
	}
	p.Alpha, p.Beta, p.Gamma, p.Delta = w.factor*p.Alpha, w.factor*p.Beta, w.factor*p.Gamma, w.factor*p.Delta
	return p
}

// states returns the function from a measured profile to the one that the user states.
func (c Choice) states() (func(measured scaling.Profile) scaling.Profile, error) {
	switch {
	case c.ofScenario(profiles):
		return func(p scaling.Profile) scaling.Profile { return p }, nil
	case c.Params[profiles] == none:
		return func(scaling.Profile) scaling.Profile { return scaling.Profile{} }, nil
	}
	w, err := parseWrong(c.Params[profiles])
	return w.made, err
}
