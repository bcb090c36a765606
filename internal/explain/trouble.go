package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Severity is how urgent a trouble is.
type Severity int

// The severities.
const (
	Fine   Severity = iota // nothing is wrong
	Note                   // a rule, an annotation or a schedule holds the decision as asked
	Wrong                  // something is not as it should be
	Urgent                 // requests suffer, or the decision is not made or not carried out
)

// Trouble is a problem of a variant.
type Trouble struct {
	// Kind is the type of the condition, or the name of the event, that reports it. Of several
	// troubles of one kind, one is shown.
	Kind     string
	Severity Severity
	Sentence string
}

// The kinds of troubles without a condition.
const (
	kindLimited = "Limited"
	kindStuck   = "Stuck"
	kindSeries  = "Series"
)

// MetricsState says whether there are metrics to decide by.
type MetricsState uint8

// The states of metrics.
const (
	MetricsAreMissing MetricsState = iota
	MetricsAreFailing              // the source does not answer
	MetricsAreStale
	MetricsAreAging
	MetricsAreFound
)

// Metrics returns whether there are metrics of a variant to decide by, and a message about it.
func Metrics(e Explanation) (MetricsState, string) {
	if e.Snapshot.Fault != "" {
		return MetricsAreFailing, PrometheusError(e)
	}
	switch oldest(ownSamples(e)) {
	case scaling.Fresh:
		return MetricsAreFound, MetricsFound(e)
	case scaling.Aging:
		return MetricsAreAging, MetricsAging(e)
	case scaling.Stale:
		return MetricsAreStale, MetricsStale(e)
	default:
		return MetricsAreMissing, MetricsMissing(e)
	}
}

// ownSamples returns the samples by which the metrics of a variant are judged: those of its own
// pods that are Ready or report, or of the whole model while it has none. A pod that is starting
// need not report.
func ownSamples(e Explanation) []scaling.ReplicaSample {
	var own, all []scaling.ReplicaSample
	for _, r := range e.Snapshot.Replicas {
		if !r.Ready && !r.Reports() {
			continue
		}
		all = append(all, r)
		if r.Variant == e.Variant.Key {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}

// oldest returns the least fresh state of the known readings, Absent when there are none. It
// ignores pods without readings while another pod reports: a new pod has none until it is scraped.
// A stuck pod has no readings, but its metrics are there: it counts as Fresh while no reading is
// known.
func oldest(samples []scaling.ReplicaSample) scaling.Freshness {
	found := scaling.Absent
	for _, s := range samples {
		if s.Stuck != "" && found == scaling.Absent {
			found = scaling.Fresh
		}
		for _, state := range []scaling.Freshness{s.KVCacheUsage.State, s.QueueLength.State} {
			if state >= scaling.Stale && (found == scaling.Absent || state < found) {
				found = state
			}
		}
	}
	return found
}

// Overdue returns the first step of a decision that names an overdue order, and false where none
// does.
func Overdue(d scaling.Decision) (scaling.Step, bool) {
	for _, s := range d.Steps {
		switch s.Reason {
		case scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady:
			return s, true
		default: // not about an order
		}
	}
	return scaling.Step{}, false
}

// Troubles returns the troubles that the last decision of a variant and its inputs show, in the
// words of the conditions and events, the most severe first. Troubles that only objects of the
// cluster show, such as why a scaler does not follow, are not among them.
func Troubles(e Explanation) []Trouble {
	var out []Trouble
	add := func(kind string, how Severity, sentence string) { out = append(out, Trouble{kind, how, sentence}) }
	v := e.Variant
	if !v.Replicas.Observed {
		add("TargetResolved", Urgent, TargetNotFound(e))
	}
	switch state, message := Metrics(e); state {
	case MetricsAreFailing, MetricsAreStale:
		add("MetricsAvailable", Urgent, message)
	case MetricsAreMissing:
		switch {
		case v.Replicas.Observed && v.Replicas.Current == 0 && len(e.Snapshot.Replicas) == 0: // nothing runs that could report
		case e.Decided && AwaitsMetrics(e):
			add("MetricsAvailable", Note, FellBack(e))
		default:
			add("MetricsAvailable", Urgent, message)
		}
	case MetricsAreAging:
		add("MetricsAvailable", Note, message)
	case MetricsAreFound:
		if s := cmp.Or(e.Snapshot.Partial, e.Snapshot.Unjoined); s != "" {
			add(kindSeries, Wrong, s)
		}
	}
	if s := stuck(e); s != "" {
		add(kindStuck, Urgent, s[len(". "):])
	}
	out = append(out, decisionTroubles(e)...)
	slices.SortStableFunc(out, func(a, b Trouble) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// decisionTroubles returns the troubles that a decision shows.
func decisionTroubles(e Explanation) []Trouble {
	v := e.Variant
	if !e.Decided {
		return []Trouble{{"OptimizationReady", Urgent, Undecided()}}
	}
	var out []Trouble
	add := func(kind string, how Severity, sentence string) { out = append(out, Trouble{kind, how, sentence}) }
	infeasible, _ := Infeasible(e)
	switch {
	case v.Undecidable != "":
		add("OptimizationReady", Wrong, Undecidable(e))
	case v.Paused:
		add("OptimizationReady", Note, Paused(e))
	case e.Decision.Fallback && !AwaitsMetrics(e):
		add("OptimizationReady", Wrong, FellBack(e))
	case infeasible != "":
		add("OptimizationReady", Wrong, infeasible)
	}
	if s, late := Overdue(e.Decision); late {
		add("ScalerFollowing", Urgent, NotFollowing(s.Reason))
	}
	if s, bound := Bound(e.Decision); bound && !v.Advisory {
		add(kindLimited, Wrong, fmt.Sprintf("Limited to %s: %s (%s)", e.Decision.Target().Text(), s.Reason, s.Detail))
	}
	switch r := e.Decision.Reduction; {
	case r.Waits():
		message, _ := AwaitingApproval(e)
		add("ChangesAllowed", Note, message)
	case v.Freeze.Allow != "" && v.Undecidable == "":
		add("ChangesAllowed", Note, Frozen(e))
	}
	return out
}

// ObjectiveMissed returns the trouble that more requests of a model miss its objective than may;
// false where that is not so, or unknown.
func ObjectiveMissed(s scaling.Snapshot, o scaling.Objective) (Trouble, bool) {
	if !o.Set() {
		return Trouble{}, false
	}
	missed, known := s.Missed(o)
	if !known || missed <= 1-o.Share() {
		return Trouble{}, false
	}
	return Trouble{"Objective", Urgent, fmt.Sprintf("%.3g %% of the requests miss the objective, and %.3g %% may", 100*missed, 100*(1-o.Share()))}, true
}
