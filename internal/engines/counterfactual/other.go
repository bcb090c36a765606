package counterfactual

import (
	"fmt"
	"maps"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Beside says how another variant compares with the one asked about. The zero value is unknown.
type Beside string

// The comparisons.
const (
	BesideUnknown  Beside = ""
	BesideUnneeded Beside = "unneeded" // one replica fewer would carry the load without it
	BesideCannot   Beside = "cannot"   // it cannot take the load of one replica: Because or Detail
	BesideDearer   Beside = "dearer"   // its replicas would cost more
	BesideSame     Beside = "same"     // they would cost the same
	BesideCheaper  Beside = "cheaper"  // they would cost less, but the model does not move to them: Because, Moves
)

// Other says why another variant of the model does not replace one replica of the variant.
type Other struct {
	Variant scaling.VariantKey `json:"variant"`
	Beside  Beside             `json:"beside,omitempty"`
	// Replicas is the number that it would take to replace one replica, Cost the change of cost
	// that this makes, in units per hour.
	Replicas scaling.Replicas `json:"replicas,omitempty"`
	Cost     float64          `json:"cost,omitempty"`
	// Because is the step that keeps the other variant from growing. For a cheaper one, it is the
	// present decision about it where Moves, else that in the fleet at rest.
	Because *scaling.Step `json:"because,omitempty"`
	// Moves says that the fleet would grow the cheaper variant after an hour at rest.
	Moves bool `json:"moves,omitempty"`
	// Detail names the objective that is out of reach, or says why the answer is unknown.
	Detail string `json:"detail,omitempty"`
}

// others returns, for each other variant of the same part, why it does not serve instead; nil where
// no replica is decided.
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

// other decides the fleet at rest in which the variant has one replica fewer and only v may grow.
func (q questions) other(v scaling.Variant) Other {
	out := Other{Variant: v.Key}
	if !q.variant.Replicas.Observed {
		out.Detail = "the target of " + q.variant.Key.Name + " cannot be read"
		return out
	}
	setup := Unpaced(q.setup, q.snapshot.Model)
	fleet, known := OnlyGrows(q.from, q.snapshot.Model, q.targets(), q.variant.Key, v.Key)
	if !known {
		out.Detail = "no replica of a variant with replicas reports its load"
		return out
	}
	from := targetOf(q.verdict, v.Key)
	free := MaxLifted(fleet, v.Key, q.snapshot.Model)
	// 1. The replicas that it would take, without a limit.
	needs := q.decide(unlimited(setup, q.snapshot.Model), free)
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
	// 2. The replicas that it may have.
	if may, _ := decisionFor(q.decide(setup, fleet), v.Key); may.Target() < need.Target() {
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

// moves returns the present step of a variant and true where the fleet at rest would grow it: the
// decision waits for that. Else it returns the step of the fleet at rest.
func (q questions) moves(to scaling.VariantKey) (*scaling.Step, bool) {
	rest, _ := AtRest(q.from, q.snapshot.Model, q.targets())
	d, _ := decisionFor(q.decide(Unpaced(q.setup, q.snapshot.Model), rest), to)
	if wanted(d) > targetOf(q.verdict, to) {
		now, _ := decisionFor(q.verdict, to)
		return new(now.Cause()), true
	}
	return new(d.Cause()), false
}

// OnlyGrows returns c with the fleet of a model at rest, in which one variant has one replica fewer
// and only one other may grow; false as for AtRest.
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

// part returns the part of the model that a variant belongs to.
func (q questions) part(v scaling.Variant) scaling.Part { return v.PartOf(q.snapshot.Variants) }

// lacks reports whether a part needs to grow and no variant of it can.
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

// infeasible names the objective that a variant cannot reach, "" for none.
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

// missing returns the step that keeps a variant from the replicas that it would take.
func (q questions) missing(d scaling.Decision, v scaling.Variant) *scaling.Step {
	if bound, ok := explain.Bound(d); ok {
		return &bound
	}
	if d.Target() >= v.Bounds.Max {
		return &scaling.Step{Stage: scaling.StageBounds, From: d.Target(), To: d.Target(), Reason: scaling.ReasonAboveMax, Detail: fmt.Sprintf("maxReplicas is %d", v.Bounds.Max)}
	}
	return held(d)
}
