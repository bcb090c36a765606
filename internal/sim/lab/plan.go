package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Plan says what to run: every choice in every scenario with every seed.
type Plan struct {
	Scenarios []Scenario // one or more, by distinct names
	Choices   []Choice   // one or more, distinct
	Seeds     []uint64   // one or more, distinct
	// Tune tries settings for baselines without parameters, keeps the best in the first part of
	// each workload, and judges all policies on the rest.
	Tune bool
	// From is the begin of the judged part where policies are not tuned; 0 judges all.
	From time.Duration
	// Points limits how many settings of a policy are tried, its defaults among them; 0 tries the
	// whole grid.
	Points int
	// Foresight is the number of runs that the search for a clairvoyant schedule may take in each
	// scenario; 0 leaves the clairvoyant out.
	Foresight int
	// Series keeps the Course of the run with the first seed for every policy: its memory grows
	// with the length of the workload.
	Series bool
}

// check returns nil, or every error of p.
func (p Plan) check() error {
	if len(p.Scenarios) == 0 || len(p.Choices) == 0 || len(p.Seeds) == 0 {
		return fmt.Errorf("a plan of %d scenarios, %d policies and %d seeds: want one or more of each", len(p.Scenarios), len(p.Choices), len(p.Seeds))
	}
	var errs []error
	names := make([]string, len(p.Choices))
	for i, c := range p.Choices {
		names[i] = c.String()
		if slices.Contains(names[:i], names[i]) {
			errs = append(errs, fmt.Errorf("policy %s is there twice", names[i]))
		}
		errs = append(errs, c.Check())
	}
	for i, s := range p.Scenarios {
		if slices.ContainsFunc(p.Scenarios[:i], func(o Scenario) bool { return o.Name == s.Name }) {
			errs = append(errs, fmt.Errorf("scenario %s is there twice", s.Name))
		}
		errs = append(errs, p.checkScenario(s))
	}
	for i, seed := range p.Seeds {
		if slices.Contains(p.Seeds[:i], seed) {
			errs = append(errs, fmt.Errorf("seed %d is there twice", seed))
		}
	}
	return errors.Join(errs...)
}

// checkScenario returns nil, or the reasons why p cannot run s.
func (p Plan) checkScenario(s Scenario) error {
	var errs []error
	if !(s.Target > 0 && s.Target <= 1) {
		errs = append(errs, fmt.Errorf("scenario %s: the attainment target is %g, want a ratio above 0, up to 1", s.Name, s.Target))
	}
	if err := s.validate(); err != nil {
		errs = append(errs, fmt.Errorf("scenario %s: %w", s.Name, err))
	}
	if p.Foresight > 0 && len(s.Fleet.Faults) > 0 {
		errs = append(errs, fmt.Errorf("scenario %s has faults, and the clairvoyant knows of none: want one without the other", s.Name))
	}
	for _, m := range s.Models {
		if !(m.Share > 0) {
			errs = append(errs, fmt.Errorf("scenario %s: the share of model %s is %g, want more than 0", s.Name, m.Spec.Key, m.Share))
		}
	}
	return errors.Join(errs...)
}

// Size is the work of a plan for one scenario.
type Size struct {
	Scenario string
	Survey   Survey
	Runs     int // of the whole workload
	Tuning   int // runs that try settings, of the whole workload
}

// Sizes surveys every workload and returns the work for each scenario.
func (p Plan) Sizes(ctx context.Context) ([]Size, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	sizes := make([]Size, 0, len(p.Scenarios))
	for _, s := range p.Scenarios {
		o, err := survey(ctx, s.Workload, p.Seeds[0], 0)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		sizes = append(sizes, Size{Scenario: s.Name, Survey: o, Runs: len(p.Choices) * len(p.Seeds), Tuning: p.tuning()})
	}
	return sizes, nil
}

// tuning returns about how many runs tuning takes in a scenario.
func (p Plan) tuning() int {
	const search = 10 // runs to bisect counts up to 32, for two parts
	n := 0
	for _, c := range p.Choices {
		switch {
		case !p.Tune:
		case c.searched() && p.Points > 0:
			n += p.Points
		case c.searched():
			n += search
		default:
			n += len(c.grid(p.Points))
		}
	}
	return n
}
