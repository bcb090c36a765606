package counterfactual

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Answers says why the decision for a variant is not another one, and what would change it.
type Answers struct {
	Cycle   scaling.CycleID    `json:"cycle,omitempty"`
	Variant scaling.VariantKey `json:"variant"`
	Decided scaling.Replicas   `json:"decided"`
	// Decisions counts the changed inputs that were decided.
	Decisions int     `json:"decisions"`
	Fewer     Fewer   `json:"fewer"`
	Others    []Other `json:"others,omitempty"` // the other variants of the model, sorted
	// WithoutMax is the decision if the variant had no maxReplicas; 0 where that is no more.
	WithoutMax scaling.Replicas `json:"withoutMax,omitempty"`
	Grows      Turn             `json:"grows"`
	Shrinks    Turn             `json:"shrinks"`
	Late       Late             `json:"late"`
}

// Change is the difference that a changed input makes to the decision for one variant.
type Change struct {
	Variant scaling.VariantKey `json:"variant"`
	From    scaling.Replicas   `json:"from"` // decided on the unchanged input, or of the fleet at rest
	// Wanted is the number that the load calls for, within the bounds; To is the decided number,
	// within all limits.
	Wanted scaling.Replicas `json:"wanted"`
	To     scaling.Replicas `json:"to"`
}

// Ask answers all questions about the decision for a variant. It is pure. It fails where the case
// has no decision for the variant.
func Ask(setup cycle.Setup, c cycle.Case, of scaling.VariantKey) (Answers, error) {
	q, err := newQuestions(setup, c, of)
	if err != nil {
		return Answers{}, err
	}
	out := Answers{Variant: of, Decided: q.decided}
	out.Fewer = q.fewer()
	out.Others = q.others()
	out.WithoutMax = q.withoutMax()
	out.Grows, out.Shrinks = q.turn(up), q.turn(down)
	out.Late = q.late()
	out.Decisions = *q.count
	return out, nil
}

// withoutMax returns the decision without maxReplicas, 0 where that is no more.
func (q questions) withoutMax() scaling.Replicas {
	if q.decided < q.variant.Bounds.Max {
		return 0
	}
	n := targetOf(q.decide(q.setup, MaxLifted(q.from, q.variant.Key, q.snapshot.Model)), q.variant.Key)
	if n <= q.decided {
		return 0
	}
	return n
}

// questions holds the decided input that all questions start from.
type questions struct {
	setup    cycle.Setup
	from     cycle.Case
	snapshot scaling.Snapshot // of the model
	variant  scaling.Variant
	verdict  cycle.Verdict
	decision scaling.Decision
	decided  scaling.Replicas
	count    *int // number of decided inputs
}

func newQuestions(setup cycle.Setup, c cycle.Case, of scaling.VariantKey) (questions, error) {
	q := questions{count: new(int)}
	for _, s := range c.Snapshots {
		for _, v := range s.Variants {
			if v.Key == of {
				q.snapshot, q.variant = s, v
			}
		}
	}
	if q.variant.Key != of {
		return questions{}, fmt.Errorf("the cycle has no variant %s", of)
	}
	q.setup, q.from = setup.Part(c, q.snapshot.Model)
	q.verdict = q.decide(q.setup, q.from)
	d, ok := decisionFor(q.verdict, of)
	if !ok {
		return questions{}, fmt.Errorf("the cycle made no decision for %s", of)
	}
	q.decision, q.decided = d, d.Target()
	return q, nil
}

// decide decides a changed input, and counts it.
func (q questions) decide(setup cycle.Setup, c cycle.Case) cycle.Verdict {
	*q.count++
	return setup.Decide(c)
}

// decisionFor returns the decision for a variant, and false where there is none.
func decisionFor(v cycle.Verdict, of scaling.VariantKey) (scaling.Decision, bool) {
	i := slices.IndexFunc(v.Plan.Decisions, func(d scaling.Decision) bool { return d.Variant == of })
	if i < 0 {
		return scaling.Decision{}, false
	}
	return v.Plan.Decisions[i], true
}

// targetOf returns the decided replicas of a variant, 0 without a decision.
func targetOf(v cycle.Verdict, of scaling.VariantKey) scaling.Replicas {
	d, ok := decisionFor(v, of)
	if !ok {
		return 0
	}
	return d.Target()
}

// delays returns the stages that delay a decision: pace, approval, freeze windows, accelerators and
// roles.
func delays() []scaling.Stage {
	return []scaling.Stage{scaling.StageStabilize, scaling.StageApproval, scaling.StageSchedule, scaling.StageCapacity, scaling.StageRoles}
}

// wanted returns the number of replicas that the load calls for, within the bounds: the number
// before the first stage of delays.
func wanted(d scaling.Decision) scaling.Replicas {
	n := d.Current
	for _, s := range d.Steps {
		if slices.Contains(delays(), s.Stage) {
			break
		}
		n = s.To
	}
	return n
}

// changes returns the decisions of the model that differ from before.
func (q questions) changes(before map[scaling.VariantKey]scaling.Replicas, after cycle.Verdict) []Change {
	var out []Change
	for _, d := range after.Plan.Decisions {
		from := before[d.Variant]
		if d.Model == q.snapshot.Model && (wanted(d) != from || d.Target() != from) {
			out = append(out, Change{Variant: d.Variant, From: from, Wanted: wanted(d), To: d.Target()})
		}
	}
	return out
}

// targets returns the decided replicas of each variant of the model.
func (q questions) targets() map[scaling.VariantKey]scaling.Replicas {
	out := map[scaling.VariantKey]scaling.Replicas{}
	for _, v := range q.snapshot.Variants {
		out[v.Key] = targetOf(q.verdict, v.Key)
	}
	return out
}
