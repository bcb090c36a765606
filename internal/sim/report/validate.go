package report

import (
	"fmt"
	"slices"
	"time"
)

// Error says what in a Document cannot be shown.
type Error struct {
	Field string // as a path: scenarios["day"].policies["keda"].decisions[3].variant
	Found string
	Want  string // what is accepted
}

// Error names the field, what was found and what is accepted.
func (e *Error) Error() string {
	return fmt.Sprintf("report: %s is %s, want %s", e.Field, e.Found, e.Want)
}

// validate returns nil or an *Error.
func (p Document) validate() error {
	if len(p.Scenarios) == 0 {
		return &Error{"scenarios", "empty", "one or more"}
	}
	names := map[string]bool{}
	for _, s := range p.Scenarios {
		at := fmt.Sprintf("scenarios[%q]", s.Name)
		if err := unused(names, at, s.Name); err != nil {
			return err
		}
		if err := s.validate(at); err != nil {
			return err
		}
	}
	return nil
}

func (s Scenario) validate(at string) error {
	for _, o := range []struct {
		name    string
		value   float64
		atMost  float64
		accepts string
	}{
		{"ttft", s.Objectives.TTFT, 0, "0 or more ms"},
		{"itl", s.Objectives.ITL, 0, "0 or more ms"},
		{"attainment", s.Objectives.Attainment, 1, "a ratio in [0, 1]"},
	} {
		if !finite(o.value) || o.value < 0 || o.atMost > 0 && o.value > o.atMost {
			return &Error{at + ".objectives." + o.name, fmt.Sprint(o.value), o.accepts}
		}
	}
	if err := inOrder(at+".offered", s.Offered, func(p Point) time.Duration { return p.At }); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, p := range s.Policies {
		at := fmt.Sprintf("%s.policies[%q]", at, p.Name)
		if err := unused(names, at, p.Name); err != nil {
			return err
		}
		if err := p.validate(at); err != nil {
			return err
		}
	}
	return nil
}

func (p Result) validate(at string) error {
	if err := inOrder(at+".samples", p.Samples, func(s Sample) time.Duration { return s.At }); err != nil {
		return err
	}
	for i, s := range p.Samples {
		if len(s.Replicas) != len(p.Variants) {
			return &Error{
				fmt.Sprintf("%s.samples[%d].replicas", at, i), fmt.Sprintf("of length %d", len(s.Replicas)),
				fmt.Sprintf("one for each of the %d variants", len(p.Variants)),
			}
		}
	}
	for i, d := range p.Decisions {
		if !slices.Contains(p.Variants, d.Variant) {
			return &Error{fmt.Sprintf("%s.decisions[%d].variant", at, i), fmt.Sprintf("%q", d.Variant), fmt.Sprintf("one of %q", p.Variants)}
		}
	}
	return inOrder(at+".decisions", p.Decisions, func(d Decision) time.Duration { return d.At })
}

// unused checks that a name is not empty and not used before.
func unused(names map[string]bool, at, name string) error {
	if name == "" || names[name] {
		return &Error{at + ".name", fmt.Sprintf("%q", name), "a name that no other has"}
	}
	names[name] = true
	return nil
}

// inOrder checks that times are 0 or later and do not go back.
func inOrder[T any](at string, items []T, time func(T) time.Duration) error {
	for i := range items {
		switch now := time(items[i]); {
		case now < 0:
			return &Error{fmt.Sprintf("%s[%d].at", at, i), now.String(), "0 or later"}
		case i > 0 && now < time(items[i-1]):
			return &Error{fmt.Sprintf("%s[%d].at", at, i), now.String(), "no earlier than the one before it"}
		}
	}
	return nil
}
