package counterfactual

import (
	"fmt"
	"maps"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Beside says what another variant is beside the one that is asked about. The zero value is unknown.
type Beside string

// The ways.
const (
	BesideUnknown  Beside = ""
	BesideUnneeded Beside = "unneeded" // one replica fewer would carry the load without it
	BesideCannot   Beside = "cannot"   // it cannot take the load of one replica: Because
	BesideDearer   Beside = "dearer"   // its replicas would cost more
	BesideSame     Beside = "same"     // they would cost the same
	BesideCheaper  Beside = "cheaper"  // they would cost less, and the model does not move to them: Because, Moves
)

// Other says why another variant of the model does not serve in the place of one replica of the variant.
type Other struct {
	Variant scaling.VariantKey `json:"variant"`
	Beside  Beside             `json:"beside,omitempty"`
	// Replicas are those that it would take in the place of one, Cost what that changes per hour, in units
	// of cost.
	Replicas scaling.Replicas `json:"replicas,omitempty"`
	Cost     float64          `json:"cost,omitempty"`
	// Because is the step that keeps the variant from growing. Of a cheaper one it is what is decided of it
	// now where Moves, else of the fleet at rest.
	Because *scaling.Step `json:"because,omitempty"`
	// Moves says that the fleet would grow the cheaper variant if it had been at rest for an hour.
	Moves bool `json:"moves,omitempty"`
	// Detail says in words what is out of reach, or why nothing is known.
	Detail string `json:"detail,omitempty"`
}

// others says of each other variant of the model why it does not serve instead.
func (q questions) others() []Other {
	if q.decided == 0 {
		return nil
	}
	var out []Other
	for _, v := range scaling.ByKey(q.snapshot.Variants) {
		if v.Key != q.variant.Key && q.part(v) == q.part(q.variant) {
			out = append(out, q.other(v))
		}
	}
	return out
}

// other asks what an engine orders of v where the variant has one replica fewer and no other may grow.
func (q questions) other(v scaling.Variant) Other {
	out := Other{Variant: v.Key}
	if !q.variant.Replicas.Observed {
		out.Detail = "the target of " + q.variant.Key.Name + " cannot be read"
		return out
	}
	fleet, known := OnlyGrows(q.from, q.snapshot.Model, q.targets(), q.variant.Key, v.Key)
	if !known {
		out.Detail = "no replica of a variant with replicas reports its load"
		return out
	}
	from := targetOf(q.verdict, v.Key)
	free := MaxLifted(fleet, v.Key, q.snapshot.Model)
	// 1. What it would take, whatever there is of it.
	needs := q.decide(unlimited(q.setup, q.snapshot.Model), free)
	need, ok := decisionFor(needs, v.Key)
	switch {
	case !ok || v.Paused || !v.Replicas.Observed:
		out.Beside, out.Detail = BesideCannot, "it is paused, held or cannot be read"
		return out
	case wanted(need) <= from && !lacks(needs, q.part(v)):
		out.Beside = BesideUnneeded
		return out
	case wanted(need) <= from:
		out.Beside, out.Because, out.Detail = BesideCannot, new(need.Cause()), infeasible(needs, v.Key)
		return out
	}
	out.Replicas = need.Target() - from
	out.Cost = v.CostPerHour(out.Replicas) - q.variant.Cost
	// 2. What it may have.
	if may, _ := decisionFor(q.decide(q.setup, fleet), v.Key); may.Target() < need.Target() {
		out.Beside, out.Because = BesideCannot, q.missing(may, v)
		return out
	}
	switch {
	case out.Cost > 0:
		out.Beside = BesideDearer
	case out.Cost == 0:
		out.Beside = BesideSame
	default:
		out.Beside = BesideCheaper
		out.Because, out.Moves = q.moves(v.Key)
	}
	return out
}

// moves returns what the decision says of a variant, and whether the fleet at rest would grow it, which
// the decision waits for then; else what the fleet at rest says of it.
func (q questions) moves(to scaling.VariantKey) (*scaling.Step, bool) {
	rest, _ := AtRest(q.from, q.snapshot.Model, q.targets())
	d, _ := decisionFor(q.decide(q.setup, rest), to)
	if wanted(d) > targetOf(q.verdict, to) {
		now, _ := decisionFor(q.verdict, to)
		return new(now.Cause()), true
	}
	return new(d.Cause()), false
}

// OnlyGrows returns c with the fleet of a model at rest, in which one variant has one replica fewer and
// only another one may grow; see AtRest.
func OnlyGrows(c cycle.Case, of scaling.ModelKey, targets map[scaling.VariantKey]scaling.Replicas, fewer, grows scaling.VariantKey) (cycle.Case, bool) {
	replicas := maps.Clone(targets)
	replicas[fewer]--
	rest, known := AtRest(c, of, replicas)
	return withVariants(rest, of, func(v *scaling.Variant) {
		if v.Key != grows {
			v.Bounds.Max = replicas[v.Key]
			v.Bounds.Min = min(v.Bounds.Min, v.Bounds.Max)
		}
	}), known
}

// part returns what is decided on together with a variant of the model.
func (q questions) part(v scaling.Variant) scaling.Part { return v.PartOf(q.snapshot.Variants) }

// lacks reports whether the load of a part calls for more replicas than it gets.
func lacks(v cycle.Verdict, of scaling.Part) bool {
	for _, d := range v.Plan.Decisions {
		if d.Part() != of {
			continue
		}
		for _, s := range d.Steps {
			if s.Reason == scaling.ReasonNoCandidate {
				return true
			}
		}
	}
	return false
}

// infeasible says which objective is out of reach of a variant, "" for none.
func infeasible(v cycle.Verdict, of scaling.VariantKey) string {
	for _, a := range v.Analyses {
		for _, i := range a.Infeasible {
			if i.Variant == of {
				return fmt.Sprintf("%s of %g ms is out of reach, an idle replica has %.3g ms", i.Target, i.Wanted, i.Best)
			}
		}
	}
	return ""
}

// missing returns the step that keeps a variant from what is needed of it.
func (q questions) missing(d scaling.Decision, v scaling.Variant) *scaling.Step {
	if bound, ok := explain.Bound(d); ok {
		return &bound
	}
	if d.Target() >= v.Bounds.Max {
		return &scaling.Step{Stage: scaling.StageBounds, From: d.Target(), To: d.Target(), Reason: scaling.ReasonAboveMax, Detail: fmt.Sprintf("maxReplicas is %d", v.Bounds.Max)}
	}
	return held(d)
}
