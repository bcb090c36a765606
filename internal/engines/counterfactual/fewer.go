package counterfactual

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Why names what keeps a variant from one replica fewer. The zero value is unknown.
type Why string

// The reasons.
const (
	WhyUnknown Why = ""
	WhyNone    Why = "none"  // no replica is decided
	WhyRule    Why = "rule"  // without the Rules fewer would be decided
	WhyLoad    Why = "load"  // one fewer would not carry the load: Orders, Because
	WhyWaits   Why = "waits" // one fewer would carry the load, and the decision waits: Rules
	WhyKept    Why = "kept"  // one fewer would carry the load, spread evenly: Because is the decision
)

// Fewer says why a variant does not have one replica fewer than is decided.
type Fewer struct {
	Why      Why              `json:"why,omitempty"`
	Replicas scaling.Replicas `json:"replicas"` // one fewer
	// Rules are the steps that keep the number: limits of the variant and of pace, or what the
	// decision waits for.
	Rules []scaling.Step `json:"rules,omitempty"`
	// Without is the decision without the Rules, where they are limits.
	Without scaling.Replicas `json:"without,omitempty"`
	// Orders is what a cycle would order for the fleet at rest with one fewer, and Because the
	// reason.
	Orders  []Change      `json:"orders,omitempty"`
	Because *scaling.Step `json:"because,omitempty"`
	// Expected holds the expected load and latencies of the replicas of that fleet, sorted by
	// Variant; nil where the engine does not size to objectives.
	Expected []Expected `json:"expected,omitempty"`
	// Detail says why the answer is unknown.
	Detail string `json:"detail,omitempty"`
}

// Expected is the expected load and latency of a replica in the fleet at rest with one fewer.
type Expected struct {
	queueing.Expected

	// TTFTTooLong and ITLTooLong are the excess over the objective, in ms; 0 where the objective is
	// met, where there is none, and while Overloaded.
	TTFTTooLong float64 `json:"ttftTooLong,omitempty"`
	ITLTooLong  float64 `json:"itlTooLong,omitempty"`
	// The objectives, and the percentiles for which they count; percentile 0 is the mean.
	TTFTObjective  float64 `json:"ttftObjective,omitempty"` // ms, 0 for none
	ITLObjective   float64 `json:"itlObjective,omitempty"`  // ms, 0 for none
	TTFTPercentile float64 `json:"ttftPercentile,omitempty"`
	ITLPercentile  float64 `json:"itlPercentile,omitempty"`
}

// fewer returns why one replica fewer is not decided.
func (q questions) fewer() Fewer {
	out := Fewer{Replicas: max(0, q.decided-1)}
	cause := q.decision.Cause()
	switch {
	case q.decided == 0:
		out.Why = WhyNone
		return out
	case q.decision.Fallback || slices.Contains(frozen(), cause.Reason):
		out.Why, out.Rules = WhyWaits, []scaling.Step{cause}
		return out
	}
	if rules, without := q.rules(); len(rules) > 0 {
		out.Why, out.Rules, out.Without = WhyRule, rules, without
		return out
	}
	replicas := q.targets()
	replicas[q.variant.Key]--
	rest, known := AtRest(q.from, q.snapshot.Model, replicas)
	if !known {
		out.Detail = "no replica of a variant with replicas reports its load"
		return out
	}
	rest = MinLifted(rest, q.variant.Key, q.snapshot.Model) // one fewer is allowed
	setup := unlimited(Unpaced(q.setup, q.snapshot.Model), q.snapshot.Model)
	verdict := q.decide(setup, rest)
	out.Expected = q.expected(setup, rest)
	for _, c := range q.changes(replicas, verdict) {
		if c.To > c.From {
			out.Orders = append(out.Orders, c)
		}
	}
	switch {
	case len(out.Orders) > 0:
		out.Why = WhyLoad
		if d, ok := decisionFor(verdict, out.Orders[0].Variant); ok {
			out.Because = new(d.Cause())
		}
	case q.decision.Withheld || slices.Contains(waits(), cause.Reason):
		out.Why, out.Rules = WhyWaits, []scaling.Step{cause}
	default:
		out.Why, out.Because = WhyKept, &cause
	}
	return out
}

// frozen returns the reasons of decisions that do not depend on the load.
func frozen() []scaling.Reason {
	return []scaling.Reason{scaling.ReasonPaused, scaling.ReasonHeld, scaling.ReasonFrozen}
}

// waits returns the reasons of decisions that hold until replicas are Ready or readings arrive.
func waits() []scaling.Reason {
	return []scaling.Reason{
		scaling.ReasonInTransition, scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady,
		scaling.ReasonNoData, scaling.ReasonTargetUnreadable,
	}
}

// limit is a limit that may keep a variant from fewer replicas.
type limit struct {
	stage scaling.Stage
	lift  lift
	// step returns the step to show where the decision has none of this stage.
	step func() scaling.Step
}

// lift returns a setup and a case without a limit.
type lift func(cycle.Setup, cycle.Case) (cycle.Setup, cycle.Case)

// limits returns the limits that may keep the variant from fewer replicas, in the order in which
// they are lifted.
func (q questions) limits() []limit {
	of, pace := q.snapshot.Model, q.setup.Models[q.snapshot.Model].Pacing
	// model and variant make a lift of what lifts a limit of the model, or of the variant.
	model := func(lifted func(cycle.Setup, scaling.ModelKey) cycle.Setup) lift {
		return func(setup cycle.Setup, c cycle.Case) (cycle.Setup, cycle.Case) { return lifted(setup, of), c }
	}
	variant := func(lifted func(cycle.Case, scaling.VariantKey, scaling.ModelKey) cycle.Case) lift {
		return func(setup cycle.Setup, c cycle.Case) (cycle.Setup, cycle.Case) {
			return setup, lifted(c, q.variant.Key, of)
		}
	}
	kept := func(stage scaling.Stage, reason scaling.Reason, detail string) func() scaling.Step {
		return func() scaling.Step {
			return scaling.Step{Stage: stage, From: q.decided, To: q.decided, Reason: reason, Detail: detail}
		}
	}
	out := []limit{
		{
			scaling.StageBounds, variant(MinLifted),
			kept(scaling.StageBounds, scaling.ReasonBelowMin, fmt.Sprintf("minReplicas is %d", q.variant.Bounds.Min)),
		},
		{
			scaling.StageStabilize, model(PaceLifted),
			kept(scaling.StageStabilize, scaling.ReasonStabilizing, fmt.Sprintf("scaleDownStabilization is %s, scaleDownStartUps is %g, %s", pace.ScaleDownStabilization, pace.ScaleDownStartUps, pace.DownStep())),
		},
		{
			scaling.StageRetention, model(RetentionLifted),
			kept(scaling.StageRetention, scaling.ReasonRetained, "the last replica goes by the retention period only"),
		},
	}
	if q.variant.Approval.Required {
		out = append(out, limit{
			scaling.StageApproval, variant(ApprovalLifted),
			kept(scaling.StageApproval, scaling.ReasonAwaitingApproval, "reductions need approval"),
		})
	}
	if q.variant.Freeze.Allow == scaling.AllowGrowth {
		out = append(out, limit{
			scaling.StageSchedule, variant(FreezeLifted),
			kept(scaling.StageSchedule, scaling.ReasonGrowthOnly, "no reduction: "+q.variant.Freeze.String()),
		})
	}
	return out
}

// ApprovalLifted returns c with a variant whose reductions need no approval.
func ApprovalLifted(c cycle.Case, v scaling.VariantKey, of scaling.ModelKey) cycle.Case {
	return withVariants(c, of, func(one *scaling.Variant) {
		if one.Key == v {
			one.Approval = scaling.Approval{}
		}
	})
}

// FreezeLifted returns c with a variant that no freeze window holds.
func FreezeLifted(c cycle.Case, v scaling.VariantKey, of scaling.ModelKey) cycle.Case {
	return withVariants(c, of, func(one *scaling.Variant) {
		if one.Key == v {
			one.Freeze = scaling.Freeze{}
		}
	})
}

// MinLifted returns c with a variant without minReplicas.
func MinLifted(c cycle.Case, v scaling.VariantKey, of scaling.ModelKey) cycle.Case {
	return withVariants(c, of, func(one *scaling.Variant) {
		if one.Key == v {
			one.Bounds.Min = 0
		}
	})
}

// MaxLifted returns c with a variant without maxReplicas.
func MaxLifted(c cycle.Case, v scaling.VariantKey, of scaling.ModelKey) cycle.Case {
	return withVariants(c, of, func(one *scaling.Variant) {
		if one.Key == v {
			one.Bounds.Max = scaling.Unbounded().Max
		}
	})
}

// PaceLifted returns setup with a model whose reductions are not paced.
func PaceLifted(setup cycle.Setup, of scaling.ModelKey) cycle.Setup {
	return withSettings(setup, of, func(s *settings.Model) {
		s.Pacing.ScaleDownStabilization, s.Pacing.ScaleDownStartUps, s.Pacing.MaxScaleDownStep = 0, 0, 0
	})
}

// RetentionLifted returns setup with a model that no retention period keeps from zero.
func RetentionLifted(setup cycle.Setup, of scaling.ModelKey) cycle.Setup {
	return withSettings(setup, of, func(s *settings.Model) { s.Pacing.Zero = constrain.Zero{} })
}

// rules returns the limits without which fewer replicas would be decided, and that number: the
// first that suffices alone; else, where lifting all suffices, those that must be among the lifted
// ones, or all where none must. It returns no limits where lifting all does not suffice.
func (q questions) rules() ([]scaling.Step, scaling.Replicas) {
	setup, together := q.setup, q.from
	for _, l := range q.limits() {
		if n := targetOf(q.decide(l.lift(q.setup, q.from)), q.variant.Key); n < q.decided {
			return []scaling.Step{q.rule(l)}, n
		}
		setup, together = l.lift(setup, together)
	}
	n := targetOf(q.decide(setup, together), q.variant.Key)
	if n >= q.decided {
		return nil, 0
	}
	// Of all, the limits that must be lifted.
	var rules []scaling.Step
	for i, l := range q.limits() {
		setup, others := q.setup, q.from
		for k, o := range q.limits() {
			if k != i {
				setup, others = o.lift(setup, others)
			}
		}
		if targetOf(q.decide(setup, others), q.variant.Key) >= q.decided {
			rules = append(rules, q.rule(l))
		}
	}
	if len(rules) == 0 { // no limit must: several sets of them suffice
		for _, l := range q.limits() {
			rules = append(rules, q.rule(l))
		}
	}
	return rules, n
}

// rule returns the step of a limit in the decision, or the step of limit.step.
func (q questions) rule(l limit) scaling.Step {
	for _, s := range slices.Backward(q.decision.Steps) {
		if s.Stage == l.stage && s.To >= s.From {
			return s
		}
	}
	return l.step()
}

// expected returns the expected load and latencies of the replicas of a changed fleet, with the
// objectives.
func (q questions) expected(setup cycle.Setup, c cycle.Case) []Expected {
	of, roles := setup.Models[q.snapshot.Model], map[scaling.VariantKey]scaling.Role{}
	for _, v := range q.snapshot.Variants {
		roles[v.Key] = q.part(v).Role
	}
	var out []Expected
	for _, e := range setup.Expect(c, q.snapshot.Model) {
		objective := of.Objective.Of(roles[e.Variant])
		one := Expected{
			Expected: e, TTFTObjective: objective.TTFT, ITLObjective: objective.ITL,
			TTFTPercentile: of.Sizing.TTFTPercentile, ITLPercentile: of.Sizing.ITLPercentile,
		}
		if !e.Overloaded && one.TTFTObjective > 0 {
			one.TTFTTooLong = max(0, e.TTFT-one.TTFTObjective)
		}
		if !e.Overloaded && one.ITLObjective > 0 {
			one.ITLTooLong = max(0, e.ITL-one.ITLObjective)
		}
		out = append(out, one)
	}
	return out
}
