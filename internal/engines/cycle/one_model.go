package cycle

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Alone reports whether the decisions of a model depend on that model only: it competes for no
// accelerators and shares no profiles.
func (e Setup) Alone(of scaling.ModelKey) bool {
	s := e.Models[of]
	return !s.Limited && !s.ShareProfiles
}

// Part returns the part of a setup and a case that the decisions of a model depend on: the model
// only where it is Alone, else all.
func (e Setup) Part(c Case, of scaling.ModelKey) (Setup, Case) {
	if !e.Alone(of) {
		return e, c
	}
	setup := Setup{Models: map[scaling.ModelKey]settings.Model{}, Interval: e.Interval, Inventory: e.Inventory}
	part := Case{Cycle: c.Cycle, Now: c.Now, History: memory.History{}}
	if s, ok := e.Models[of]; ok {
		setup.Models[of] = s
	}
	for _, s := range c.Snapshots {
		if s.Model != of {
			continue
		}
		part.Snapshots = append(part.Snapshots, s)
		for _, v := range s.Variants {
			if p, ok := c.History[v.Key]; ok {
				part.History[v.Key] = p
			}
		}
	}
	return setup, part
}

// Part returns the part of d that the decisions of a model depend on; see Setup.Part.
func (d Decided) Part(of scaling.ModelKey) Decided {
	out := d
	out.Setup, out.Case = d.Setup.Part(d.Case, of)
	if d.Setup.Alone(of) {
		out.Plan.Decisions = slices.DeleteFunc(slices.Clone(d.Plan.Decisions), func(one scaling.Decision) bool { return one.Model != of })
	}
	return out
}

// Expect returns the expected rate and latencies of a replica of each variant of a model, under the
// load of c; see model.Expect.
func (e Setup) Expect(c Case, of scaling.ModelKey) []queueing.Expected {
	whole, seen := e.settings(of), observe(c)
	var out []queueing.Expected
	for _, s := range seen.parts {
		if s.Model == of {
			part := whole
			part.Objective = whole.Objective.Of(s.Role)
			out = append(out, model.Expect(model.Input{Snapshot: s, History: seen.past, Settings: part, Interval: e.Interval, Shared: e.shared(seen)})...)
		}
	}
	return out
}
