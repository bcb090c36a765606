package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// FieldError says which field of a Config is wrong and what would be right.
type FieldError struct {
	Field string // as a path: models[0].variants[1].grace
	Value string // as given
	Want  string // what is accepted
}

// Error names the field, its value and what is accepted.
func (e *FieldError) Error() string {
	return fmt.Sprintf("simulation: %s is %s, want %s", e.Field, e.Value, e.Want)
}

// longestInterval is the longest scrape interval that shows two scrapes within
// the look-back of Prometheus.
const longestInterval = 150 * time.Second

// Validate returns nil or the first error, a *FieldError unless a profile is
// wrong.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"sync", c.Sync, 0},
		{"scrapeInterval", c.ScrapeInterval, time.Second},
		{"interval", c.Interval, time.Second},
		{"duration", c.Duration, 0},
		{"tail", c.Tail, 0},
		{"from", c.From, 0},
		{"bin", c.Bin, time.Second},
	} {
		if d.value < d.least {
			return &FieldError{d.name, d.value.String(), d.least.String() + " or more"}
		}
	}
	if c.ScrapeInterval > longestInterval {
		return &FieldError{"scrapeInterval", c.ScrapeInterval.String(), longestInterval.String() + " or less"}
	}
	if !(c.MissedScrapes >= 0 && c.MissedScrapes < 1) {
		return &FieldError{"missedScrapes", fmt.Sprint(c.MissedScrapes), "a ratio in [0, 1)"}
	}
	if !(c.Tolerance >= 0 && c.Tolerance < 1) {
		return &FieldError{"tolerance", fmt.Sprint(c.Tolerance), "a ratio in [0, 1)"}
	}
	stock, err := c.validateNodes()
	if err != nil {
		return err
	}
	return c.validateModels(stock)
}

// validateModels returns nil, or the first error of a model, a variant or a fault. stock has the
// accelerators of one node by type.
func (c Config) validateModels(stock map[string]scaling.Accelerators) error {
	if len(c.Models) == 0 {
		return &FieldError{"models", "empty", "one model or more"}
	}
	models, variants := map[scaling.ModelKey]bool{}, map[scaling.VariantKey]bool{}
	for i, m := range c.Models {
		at := fmt.Sprintf("models[%d]", i)
		if models[m.Key] {
			return &FieldError{at + ".key", m.Key.String(), "a key not used before"}
		}
		models[m.Key] = true
		if err := m.validate(at); err != nil {
			return err
		}
		for j, v := range m.Variants {
			at := fmt.Sprintf("%s.variants[%d]", at, j)
			if variants[v.Spec.Key] {
				return &FieldError{at + ".key", v.Spec.Key.String(), "a key not used before"}
			}
			variants[v.Spec.Key] = true
			if err := v.validate(at, stock); err != nil {
				return err
			}
		}
	}
	return c.validateFaults(models, variants)
}

// validateFaults returns nil, or the first fault that is wrong or names an unknown model or
// variant.
func (c Config) validateFaults(models map[scaling.ModelKey]bool, variants map[scaling.VariantKey]bool) error {
	for i, f := range c.Faults {
		at := fmt.Sprintf("faults[%d].", i)
		if wrong, ok := errors.AsType[*fault.FieldError](f.Validate()); ok {
			return &FieldError{at + wrong.Field, wrong.Value, wrong.Want}
		}
		switch {
		case f.Variant != scaling.VariantKey{} && !variants[f.Variant]:
			return &FieldError{at + "variant", f.Variant.String(), "a variant of the run"}
		case f.Model != scaling.ModelKey{} && !models[f.Model]:
			return &FieldError{at + "model", f.Model.String(), "a model of the run"}
		}
	}
	return nil
}

// validateNodes returns the accelerators of one node by type, or the first error of the nodes.
func (c Config) validateNodes() (map[string]scaling.Accelerators, error) {
	stock := map[string]scaling.Accelerators{}
	for i, n := range c.Nodes {
		at := fmt.Sprintf("nodes[%d]", i)
		switch {
		case n.Accelerator == "":
			return nil, &FieldError{at + ".accelerator", `""`, "an accelerator type"}
		case stock[n.Accelerator] != 0:
			return nil, &FieldError{at + ".accelerator", n.Accelerator, "a type not used before"}
		case n.Count < 0:
			return nil, &FieldError{at + ".count", fmt.Sprint(n.Count), "0 or more nodes"}
		case n.GPUs < 1:
			return nil, &FieldError{at + ".gpus", fmt.Sprint(n.GPUs), "1 or more accelerators per node"}
		}
		stock[n.Accelerator] = n.GPUs
	}
	return stock, nil
}

func (m Model) validate(at string) error {
	switch {
	case m.Requests == nil:
		return &FieldError{at + ".requests", "nil", "a workload"}
	case !(m.SLO.TTFT >= 0) || math.IsInf(m.SLO.TTFT, 1):
		return &FieldError{at + ".slo.ttft", fmt.Sprint(m.SLO.TTFT), "0 or more ms"}
	case !(m.SLO.ITL >= 0) || math.IsInf(m.SLO.ITL, 1):
		return &FieldError{at + ".slo.itl", fmt.Sprint(m.SLO.ITL), "0 or more ms"}
	case !(m.SLO.Attainment >= 0 && m.SLO.Attainment <= 1):
		return &FieldError{at + ".slo.attainment", fmt.Sprint(m.SLO.Attainment), "a ratio in [0, 1]"}
	case m.Routing > Weighted:
		return &FieldError{at + ".routing", m.Routing.String(), Routings}
	case m.Hold < 0:
		return &FieldError{at + ".hold", m.Hold.String(), "0 or more"}
	case len(m.Variants) == 0:
		return &FieldError{at + ".variants", "empty", "one variant or more"}
	}
	if err := m.validateRoles(at); err != nil {
		return err
	}
	return m.validateClients(at)
}

// validateClients returns nil, or the first error in the behaviour of the clients.
func (m Model) validateClients(at string) error {
	switch {
	case m.Patience.Mean < 0 || m.Patience.Deviation < 0 || m.Patience.After < 0:
		return &FieldError{at + ".patience", fmt.Sprintf("%s with a deviation of %s, and back after %s", m.Patience.Mean, m.Patience.Deviation, m.Patience.After), "0 or more"}
	case !(m.Patience.Retry >= 0 && m.Patience.Retry < 1):
		return &FieldError{at + ".patience.retry", fmt.Sprint(m.Patience.Retry), "a ratio in [0, 1)"}
	case !(m.Prefix.Share >= 0 && m.Prefix.Share <= 1):
		return &FieldError{at + ".prefix.share", fmt.Sprint(m.Prefix.Share), "a ratio in [0, 1]"}
	case !(m.Prefix.Part >= 0 && m.Prefix.Part < 1):
		return &FieldError{at + ".prefix.part", fmt.Sprint(m.Prefix.Part), "a ratio in [0, 1)"}
	case !(m.Prefix.Warm >= 0) || math.IsInf(m.Prefix.Warm, 1):
		return &FieldError{at + ".prefix.warm", fmt.Sprint(m.Prefix.Warm), "0 or more prompts"}
	}
	return nil
}

// validateRoles returns nil, or the first error of the transfer or of the roles of the variants.
func (m Model) validateRoles(at string) error {
	if m.Transfer.Base < 0 || m.Transfer.PerToken < 0 {
		return &FieldError{at + ".transfer", fmt.Sprintf("%s and %s a token", m.Transfer.Base, m.Transfer.PerToken), "0 or more"}
	}
	decodes := 0
	for i, v := range m.Variants {
		field := fmt.Sprintf("%s.variants[%d].spec.role", at, i)
		switch v.Spec.Role {
		case scaling.RoleDecode:
			decodes++
		case scaling.RolePrefill:
		case "":
			if m.split() {
				return &FieldError{field, "that of whole requests", "prefill or decode, as the model has a variant of prefill"}
			}
		default:
			return &FieldError{field, string(v.Spec.Role), "prefill, decode, or nothing for whole requests"}
		}
	}
	if m.split() && decodes == 0 {
		return &FieldError{at + ".variants", "of prefill only", "a variant of decode too"}
	}
	return nil
}

func (v Variant) validate(at string, stock map[string]scaling.Accelerators) error {
	if err := v.validateSpec(at+".spec", stock); err != nil {
		return err
	}
	switch {
	case v.Replicas < 0:
		return &FieldError{at + ".replicas", fmt.Sprint(v.Replicas), "0 or more"}
	case !(v.Weight >= 0) || math.IsInf(v.Weight, 1):
		return &FieldError{at + ".weight", fmt.Sprint(v.Weight), "0 or more"}
	case v.Grace < 0:
		return &FieldError{at + ".grace", v.Grace.String(), "0 or more"}
	case v.StartUp.Mean < 0 || v.StartUp.Deviation < 0:
		return &FieldError{at + ".startUp", fmt.Sprintf("%s with a deviation of %s", v.StartUp.Mean, v.StartUp.Deviation), "0 or more"}
	}
	if v.Replica != nil {
		return nil
	}
	if err := v.Profile.Validate(); err != nil {
		return fmt.Errorf("simulation: %s.profile %q: %w", at, v.Profile.Name, err)
	}
	return nil
}

func (v Variant) validateSpec(at string, stock map[string]scaling.Accelerators) error {
	s := v.Spec
	gpus, limited := stock[s.Accelerator]
	switch {
	case s.GPUsPerReplica < 1:
		return &FieldError{at + ".gpusPerReplica", fmt.Sprint(s.GPUsPerReplica), "1 or more"}
	case limited && s.GPUsPerReplica > gpus:
		return &FieldError{at + ".gpusPerReplica", fmt.Sprint(s.GPUsPerReplica), fmt.Sprintf("at most %d, what a node with %s has", gpus, s.Accelerator)}
	case !(s.Cost >= 0) || math.IsInf(s.Cost, 1):
		return &FieldError{at + ".cost", fmt.Sprint(s.Cost), "0 or more per replica-hour"}
	case s.Bounds.Min < 0 || s.Bounds.Max < s.Bounds.Min:
		return &FieldError{at + ".bounds", fmt.Sprintf("[%d, %d]", s.Bounds.Min, s.Bounds.Max), "0 <= min <= max"}
	}
	return nil
}
