package constrain

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// remembered is for how long wants are kept at least, so that a longer period
// that is configured later finds what it needs: the longest that the
// configuration accepts.
const remembered = time.Hour

// Stabilize lets a decision change only as far as was wanted for the whole
// stabilization period, and by as many replicas as one step may have.
//
// A reduction goes to the most that was wanted at any time of the period, growth
// to the least: as the stabilization windows of a HorizontalPodAutoscaler. Of a
// variant that is seen for the first time, by this process, nothing but what
// stands was wanted before: it does not shrink within a period of the start.
//
// Limited is only what adds replicas to those that run or takes some from those
// that serve. A removal that is taken back, or an order that never arrived, is
// not held up by the size of its step, and the former not by a period either. A
// decision without an analysis is left alone: it only keeps what there is. A model
// that goes to zero waits for neither, since its retention period was the wait; a
// wake-up from zero waits for no period, since requests wait, and is limited in its
// step.
func Stabilize(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: make([]scaling.Decision, 0, len(plan.Decisions))}
	for _, d := range plan.Decisions {
		if v, ok := in.Variants[d.Variant]; ok && !d.Fallback {
			p := pace{Pacing: in.Policies[d.Model], variant: v, lastDesired: in.History.LastDesired(v), wants: Wants(in, d), now: in.Now}
			if !unpaced(d, p.lastDesired, p.Zero) {
				d = p.limitReduction(p.stabilize(d))
			}
			d = p.limitGrowth(d)
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

// Wants returns what was wanted of the variant of d, with what d asks for now:
// before this stage and any after it, and with the replicas that could go too.
// What is withheld is neither wanted nor not wanted: what was, stands.
func Wants(in Input, d scaling.Decision) scaling.Wants {
	v, ok := in.Variants[d.Variant]
	if !ok {
		return scaling.Wants{}
	}
	wants, policy := in.History[d.Variant].Wants, in.Policies[d.Model]
	keep := max(remembered, policy.ScaleUpStabilization, policy.ScaleDownStabilization)
	if !wants.Known() {
		wants = wants.Then(in.History.LastDesired(v), in.Now, keep)
	}
	if d.Withheld {
		return wants
	}
	asked := d.Current
	for _, s := range d.Steps {
		if s.Stage != scaling.StageOptimize && s.Stage != scaling.StageRetention && s.Stage != scaling.StageBounds {
			break
		}
		asked = s.To
	}
	return wants.Then(v.Bounds.Clamp(asked-d.Spare), in.Now, keep)
}

// pace is how fast a variant may change.
type pace struct {
	Pacing
	variant     scaling.Variant
	lastDesired int // replicas that stand if nothing is changed
	wants       scaling.Wants
	now         time.Time
}

// stabilize holds back what was not wanted for the whole period.
func (p pace) stabilize(d scaling.Decision) scaling.Decision {
	to := d.Target()
	switch from := p.growsFrom(); {
	case to < p.lastDesired && p.ScaleDownStabilization > 0:
		most := p.wants.MostSince(p.now.Add(-p.ScaleDownStabilization))
		held := p.within(max(to, min(p.lastDesired, most.Replicas)))
		if held > to {
			return d.Then(scaling.StageStabilize, held, scaling.ReasonStabilizing,
				fmt.Sprintf("fewer than %s have been wanted for %s, scaleDownStabilization is %s", scaling.Replicas(held), p.since(most), p.ScaleDownStabilization))
		}
	case to > from && p.ScaleUpStabilization > 0:
		least := p.wants.LeastSince(p.now.Add(-p.ScaleUpStabilization))
		held := p.within(min(to, max(from, least.Replicas)))
		if held < to {
			return d.Then(scaling.StageStabilize, held, scaling.ReasonStabilizing,
				fmt.Sprintf("more than %s have been wanted for %s, scaleUpStabilization is %s", scaling.Replicas(held), p.since(least), p.ScaleUpStabilization))
		}
	}
	return d
}

// limitReduction cuts a reduction to the largest step.
func (p pace) limitReduction(d scaling.Decision) scaling.Decision {
	to, from := d.Target(), p.shrinksFrom()
	if p.MaxScaleDownStep > 0 && to < from-p.MaxScaleDownStep {
		if least := p.within(from - p.MaxScaleDownStep); least > to {
			return d.Then(scaling.StageStabilize, least, scaling.ReasonStepLimited,
				fmt.Sprintf("%s fewer than %d are wanted, maxScaleDownStep is %d", scaling.Replicas(from-to), from, p.MaxScaleDownStep))
		}
	}
	return d
}

// limitGrowth cuts growth to the largest step.
func (p pace) limitGrowth(d scaling.Decision) scaling.Decision {
	to, from := d.Target(), p.growsFrom()
	if p.MaxScaleUpStep > 0 && to > from+p.MaxScaleUpStep {
		if most := p.within(from + p.MaxScaleUpStep); most < to {
			return d.Then(scaling.StageStabilize, most, scaling.ReasonStepLimited,
				fmt.Sprintf("%s more than %d are wanted, maxScaleUpStep is %d", scaling.Replicas(to-from), from, p.MaxScaleUpStep))
		}
	}
	return d
}

// growsFrom is the number beyond which replicas are added: what is to go and
// still runs is not added by staying.
func (p pace) growsFrom() int { return max(p.lastDesired, p.variant.Replicas.Current) }

// shrinksFrom is the number below which serving replicas are taken away: what
// was ordered and does not serve is not taken away by being cancelled.
func (p pace) shrinksFrom() int { return min(p.lastDesired, p.variant.Replicas.Ready) }

// within keeps a limit of pace within the bounds, which are hard.
func (p pace) within(n int) int { return p.variant.Bounds.Clamp(n) }

// since is for how long w has not been wanted any more.
func (p pace) since(w scaling.Want) time.Duration {
	if w.Until.IsZero() {
		return 0
	}
	return p.now.Sub(w.Until).Round(time.Second)
}
