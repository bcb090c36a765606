package constrain

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// remembered is the least time for which wants are kept: the longest period that the configuration
// accepts, so that a period configured later finds its history.
const remembered = time.Hour

// Stabilize lets a decision change only as far as the decisions of the whole stabilization period
// wanted, and by at most the largest step.
//
// A reduction goes to the largest number wanted in the period, growth to the smallest, like the
// stabilization windows of a HorizontalPodAutoscaler. A reduction also waits for as long as a
// replica takes to start (Pacing.ScaleDownStartUps). A variant that this process sees for the first
// time counts as having wanted its current replicas: it does not shrink within one period of the
// start.
//
// The step limits apply only to replicas added to the running ones, or removed from the serving
// ones. They delay neither a cancelled removal nor the cancellation of an order that never became
// Ready; the period does not delay a cancelled removal either. A decision without an analysis is
// not changed: it only keeps the current replicas. Neither period nor step delays a model that goes
// to zero, since its retention period was the wait. A start from zero waits for no period, since
// requests wait, but its step is limited.
func Stabilize(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: make([]scaling.Decision, 0, len(plan.Decisions))}
	for _, d := range plan.Decisions {
		if v, ok := in.Variants[d.Variant]; ok && !d.Fallback {
			p := pace{Pacing: in.Policies[d.Model], variant: v, lastDesired: in.History.LastDesired(v), wants: Wants(in, d), now: in.Now, surplus: in.Surplus[d.Part()]}
			if !unpaced(d, p.lastDesired, p.Zero) {
				d = p.limitReduction(p.stabilize(d))
			}
			d = p.limitGrowth(d)
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

// Wants returns the wants of the variant of d with the present one added: the number that the
// stages before Stabilize decided, less the replicas that could go too (Decision.Spare). A withheld
// reduction adds no want: the last one stays.
func Wants(in Input, d scaling.Decision) memory.Wants {
	v, ok := in.Variants[d.Variant]
	if !ok {
		return memory.Wants{}
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
	lastDesired scaling.Replicas // replicas if the cycle changes nothing
	wants       memory.Wants
	now         time.Time
	surplus     float64 // see Input
}

// stabilize limits a change to the number wanted for the whole period.
func (p pace) stabilize(d scaling.Decision) scaling.Decision {
	to := d.Target()
	period := p.reductionPeriod(p.variant)
	switch from := p.growsFrom(); {
	case to < p.lastDesired && period > 0:
		most := p.wants.MostSince(p.now.Add(-period))
		held := p.within(max(to, min(p.lastDesired, most.Replicas)))
		if held > to {
			return d.Then(scaling.StageStabilize, held, scaling.ReasonStabilizing,
				fmt.Sprintf("fewer than %s have been wanted for %s, %s", held.Text(), p.since(most), p.because(period)))
		}
	case to > from && p.ScaleUpStabilization > 0:
		least := p.wants.LeastSince(p.now.Add(-p.ScaleUpStabilization))
		held := p.within(min(to, max(from, least.Replicas)))
		if held < to {
			return d.Then(scaling.StageStabilize, held, scaling.ReasonStabilizing,
				fmt.Sprintf("more than %s have been wanted for %s, scaleUpStabilization is %s", held.Text(), p.since(least), p.ScaleUpStabilization))
		}
	}
	return d
}

// limitReduction cuts a reduction to the largest step.
func (p pace) limitReduction(d scaling.Decision) scaling.Decision {
	to, from := d.Target(), p.shrinksFrom()
	step, because := p.largestReduction(from)
	if step > 0 && to < from-step {
		if least := p.within(from - step); least > to {
			return d.Then(scaling.StageStabilize, least, scaling.ReasonStepLimited,
				fmt.Sprintf("%s fewer than %d are wanted, %s", (from-to).Text(), from, because))
		}
	}
	return d
}

// largestReduction returns the most replicas that a decision may take from a variant, 0 for no
// limit, and in words why.
func (p pace) largestReduction(from scaling.Replicas) (step scaling.Replicas, because string) {
	if surplus := scaling.Replicas(p.surplus * float64(from)); p.SurplusAtOnce && p.MaxScaleDownStep > 0 && surplus > p.MaxScaleDownStep {
		return surplus, fmt.Sprintf("and %d go at once: twice the largest demand of the last hour does not need them", surplus)
	}
	return p.MaxScaleDownStep, p.DownStep()
}

// limitGrowth cuts growth to the largest step.
func (p pace) limitGrowth(d scaling.Decision) scaling.Decision {
	to, from := d.Target(), p.growsFrom()
	if p.MaxScaleUpStep > 0 && to > from+p.MaxScaleUpStep {
		if most := p.within(from + p.MaxScaleUpStep); most < to {
			return d.Then(scaling.StageStabilize, most, scaling.ReasonStepLimited,
				fmt.Sprintf("%s more than %d are wanted, maxScaleUpStep is %d", (to-from).Text(), from, p.MaxScaleUpStep))
		}
	}
	return d
}

// growsFrom returns the number above which replicas are added. A running replica whose
// removal is cancelled is not added.
func (p pace) growsFrom() scaling.Replicas { return max(p.lastDesired, p.variant.Replicas.Current) }

// shrinksFrom returns the number below which serving replicas are removed. Cancelling an
// ordered replica that does not serve removes none.
func (p pace) shrinksFrom() scaling.Replicas { return min(p.lastDesired, p.variant.Replicas.Ready) }

// within clamps a limit of pace to the bounds, which override pace.
func (p pace) within(n scaling.Replicas) scaling.Replicas { return p.variant.Bounds.Clamp(n) }

// because returns the setting that makes a reduction wait for period.
func (p pace) because(period time.Duration) string {
	if period > p.ScaleDownStabilization {
		return fmt.Sprintf("a replica takes %s to start and scaleDownStartUps is %g", p.variant.StartUp.Round(time.Second), p.ScaleDownStartUps)
	}
	return fmt.Sprintf("scaleDownStabilization is %s", p.ScaleDownStabilization)
}

// since returns the time since w was last wanted, 0 where it is wanted now.
func (p pace) since(w memory.Want) time.Duration {
	if w.Until.IsZero() {
		return 0
	}
	return p.now.Sub(w.Until).Round(time.Second)
}
