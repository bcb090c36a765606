package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Part is the part of a report that a Line belongs to.
type Part string

// The parts, in their order.
const (
	PartInput       Part = "Input"
	PartAnalysis    Part = "Analysis"
	PartPlan        Part = "Plan"
	PartConstraints Part = "Constraints"
	PartCarriedOut  Part = "Carried out"
)

// Line is one sentence about a decision. Title names its subject; a line without a title continues
// the one before.
type Line struct {
	Part  Part
	Title string
	Text  string
}

// Report describes the last decision of a variant: the decision, the steps that led there, what
// keeps it from growing or shrinking, and its inputs, with ages as of now.
func Report(e Explanation, now time.Time) string {
	var b strings.Builder
	v := e.Variant
	// Others write names and messages: none may begin a line of its own.
	b.WriteString(spelling.Visible(fmt.Sprintf("%s: %s on %s, %d GPU a replica, cost %g",
		v.Key, or(v.Model.ID, "an unknown model"), or(v.Accelerator, "an unknown accelerator"), v.GPUsPerReplica, v.Cost), "") + "\n")
	for _, l := range Lines(e, now) {
		fmt.Fprintf(&b, "  %-11s %s\n", l.Title, l.Text)
	}
	b.WriteString(spelling.Visible(inputs(e, now), "\n\t"))
	return b.String()
}

// Lines returns the sentences of Report, without the readings of each replica. They hold no line
// break and no invisible character.
func Lines(e Explanation, now time.Time) []Line {
	var out []Line
	line := func(part Part, title, format string, args ...any) {
		out = append(out, Line{part, title, spelling.Visible(fmt.Sprintf(format, args...), "")})
	}
	v := e.Variant
	line(PartCarriedOut, "target", "%s %s, %s", v.Target, bounds(v.Bounds), counts(v))
	line(PartInput, "start-up", "%s", e.StartUps.tell(now))
	steps(e, now, line)
	line(PartAnalysis, "analysis", "%s", analysis(e.Analysis))
	if e.Decision.Fallback {
		last := "none ever did"
		if !e.AnalyzedAt.IsZero() {
			last = "the last one that did is " + age(e.AnalyzedAt, now) + " old"
		}
		line(PartAnalysis, "", "no analysis stands behind the decision; %s", last)
	} else if e.Analysis.Unit == scaling.UnitReplicas {
		line(PartAnalysis, "", "%s", room(e))
	}
	for _, s := range sizing(e) {
		line(PartAnalysis, "sizing", "%s", s)
	}
	if s := moved(e); s != "" {
		line(PartAnalysis, "profile", "%s", s)
	}
	for _, s := range blocks(e) {
		line(PartConstraints, "blocked", "%s", s)
	}
	if s := idle(e.Past.Activity); s != "" {
		line(PartInput, "idle", "%s", s)
	}
	for _, s := range scalers(e.Actuation) {
		line(PartCarriedOut, "scaler", "%s", s)
	}
	if a := e.Actuation; a.Reason != "" {
		line(PartCarriedOut, "following", "%s: %s", a.Reason, a.Message)
	}
	line(PartInput, "objective", "%s", objective(e.Objective, e.Snapshot.Load))
	if f := e.Snapshot.Fault; f != "" {
		line(PartInput, "fault", "%s", f)
	}
	if len(e.Snapshot.SeenModels) > 0 {
		line(PartInput, "seen", "metrics carry no model %q; they do carry %s", v.Model.ID, strings.Join(e.Snapshot.SeenModels, ", "))
	}
	if p := e.Snapshot.Partial; p != "" {
		line(PartInput, "partial", "%s", p)
	}
	if u := e.Snapshot.Unjoined; u != "" {
		line(PartInput, "unjoined", "%s", u)
	}
	return out
}

// steps reports the decision and the steps that led there.
func steps(e Explanation, now time.Time, line func(part Part, title, format string, args ...any)) {
	if !e.Decided {
		line(PartPlan, "decision", "none: %s", or(e.Variant.Missing, e.Analysis.Detail))
		return
	}
	since := ""
	if !e.Past.DecidedAt.IsZero() {
		since = "since " + age(e.Past.DecidedAt, now) + " ago, "
	}
	line(PartPlan, "decision", "%s, %sby cycle %s %s ago", e.Decision.Target().Text(), since, e.Cycle, age(e.At, now))
	for _, s := range e.Decision.Steps {
		part := PartConstraints
		if s.Stage == scaling.StageOptimize {
			part = PartPlan
		}
		line(part, "  "+string(s.Stage), "%d -> %d  %s: %s", s.From, s.To, s.Reason, s.Detail)
	}
}

// analysis says what an analysis calls for; the decision may differ.
func analysis(a scaling.Analysis) string {
	if a.Analyzer == "" {
		return or(a.Detail, "none was made")
	}
	return fmt.Sprintf("by %s, %s: %s", a.Analyzer, CallsFor(a.Signal), or(a.Detail, "without a reason"))
}

// CallsFor says in words what an analysis with the signal calls for.
func CallsFor(s scaling.Signal) string {
	switch s {
	case scaling.Grow:
		return "more replicas are needed"
	case scaling.Shrink:
		return "fewer replicas would be enough"
	case scaling.Steady:
		return "neither more nor fewer replicas are needed"
	default:
		return "it is not known how many replicas are needed"
	}
}

// room says which part of the supply the peaks fill. Where they exceed the supply it gives no
// number of replicas: a queue that has built up is a stock and not a rate.
func room(e Explanation) string {
	a := e.Analysis
	text := fmt.Sprintf("the peaks over %s fill %.2f of %.2f %s", e.Snapshot.Window, a.Demand, a.Supply, a.Unit)
	if a.Demand > a.Supply {
		text = fmt.Sprintf("the peaks over %s are more than the %.2f %s that serve can hold", e.Snapshot.Window, a.Supply, a.Unit)
	}
	if a.Anticipated > a.Supply {
		text += fmt.Sprintf("; with what is ordered there are %.2f", a.Anticipated)
	}
	return text
}

// blocks says what keeps the model from the change that the analysis calls for.
func blocks(e Explanation) []string {
	var obstacles []string
	of := map[string][]string{} // the names of variants, by obstacle
	blocked := func(d scaling.Decision, by scaling.Step) {
		obstacle := fmt.Sprintf("%s, %s", by.Reason, by.Detail)
		if !slices.Contains(obstacles, obstacle) {
			obstacles = append(obstacles, obstacle)
		}
		of[obstacle] = append(of[obstacle], d.Variant.Name)
	}
	changes := false
	for _, d := range e.Model {
		cause := d.Cause()
		if bound, ok := Bound(d); ok {
			blocked(d, bound)
			continue
		}
		switch cause.Reason {
		case scaling.ReasonAtFloor, scaling.ReasonNoData,
			scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady, scaling.ReasonTargetUnreadable,
			scaling.ReasonBelowMin, scaling.ReasonStabilizing, scaling.ReasonStepLimited, scaling.ReasonPaused, scaling.ReasonHeld, scaling.ReasonInTransition,
			scaling.ReasonAwaitingApproval, scaling.ReasonFrozen, scaling.ReasonGrowthOnly:
			blocked(d, cause)
		case scaling.ReasonSaturated, scaling.ReasonSpareCapacity, scaling.ReasonDemand, scaling.ReasonCheaperMix, scaling.ReasonShared:
			changes = true
		default: // not an obstacle
		}
	}
	out := make([]string, 0, len(obstacles))
	for _, obstacle := range obstacles {
		out = append(out, strings.Join(of[obstacle], ", ")+": "+obstacle)
	}
	if len(out) == 0 && !changes && e.Analysis.Signal == scaling.Steady {
		out = append(out, "nothing: neither growth nor reduction is called for")
	}
	return out
}

// inputs lists the readings of each replica of the model, and their age.
func inputs(e Explanation, now time.Time) string {
	if len(e.Snapshot.Replicas) == 0 {
		return ""
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  replica\tage\tKV cache peak/now\tqueue peak/now\trunning")
	for _, r := range e.Snapshot.Replicas {
		if r.Stuck != "" {
			fmt.Fprintf(table, "  %s\t%s\t%s: holds %.0f requests and nothing moves\n", r.Pod, age(r.At, now), r.Stuck, r.Held)
			continue
		}
		mark := ""
		if r.Partial {
			mark = "\tpartial"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s / %s\t%s / %s\t%s%s\n", r.Pod, age(r.At, now),
			r.KVCacheUsage, r.KVCacheUsageNow, r.QueueLength, r.QueueLengthNow, r.Running, mark)
	}
	table.Flush() // into memory: it cannot fail
	l := e.Snapshot.Load
	fmt.Fprintf(&b, "  peaks over %s; arrivals %s req/s, input %s and output %s tokens, TTFT %s ms, ITL %s ms, gateway queue %s\n",
		e.Snapshot.Window, l.ArrivalRate, l.InputTokens, l.OutputTokens, l.TTFT, l.ITL, l.GatewayQueue)
	return b.String()
}

func counts(v scaling.Variant) string {
	r := v.Replicas
	if !r.Observed {
		return v.Missing
	}
	text := fmt.Sprintf("%d current, %d Ready", r.Current, r.Ready)
	if r.Pending > 0 {
		text += fmt.Sprintf(", %d pending", r.Pending)
	}
	if r.Unschedulable > 0 {
		text += fmt.Sprintf(" (%d without a node)", r.Unschedulable)
	}
	return text
}

func bounds(b scaling.Bounds) string {
	if b.Max == math.MaxInt {
		return fmt.Sprintf("(min %d, no max)", b.Min)
	}
	return fmt.Sprintf("(min %d, max %d)", b.Min, b.Max)
}

func age(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return max(0, now.Sub(at)).Round(time.Second).String()
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// idle says for how long the model has been idle, or else why it is not known to be idle and so
// does not go to zero; "" where no cycle has looked.
func idle(a memory.Activity) string {
	switch {
	case a.At.IsZero():
		return ""
	case a.Life == scaling.LifeIdle:
		return fmt.Sprintf("for %s: %s", a.IdleFor().Round(time.Second), a.Detail)
	case a.Life == scaling.LifeActive:
		return "no: " + a.Detail
	}
	return "not known: " + a.Detail
}
