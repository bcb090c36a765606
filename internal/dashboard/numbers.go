package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// mostReplicasShown bounds the replicas whose readings are listed one by one.
const mostReplicasShown = 32

// Units.
const (
	perSecond = "requests/s"
	requests  = "requests"
	replicas  = "replicas"
	tokens    = "tokens"
	ms        = "ms"
	ratio     = "ratio"
	perHour   = "cost/hour"
)

// stateFresh is the state of configured, counted and computed numbers.
var stateFresh = scaling.Fresh.String()

// since returns the age of a value of a time when a cycle decided; unknown for the zero time.
func since(at, decided time.Time) history.Number {
	if at.IsZero() {
		return history.Unknown()
	}
	return history.Number(max(0, decided.Sub(at)).Seconds())
}

// reading returns a measured number.
func reading(name, unit, how string, r scaling.Reading, age history.Number) Number {
	n := Number{Name: name, Value: history.Unknown(), Unit: unit, How: how, Age: age, State: r.State.String()}
	if r.State >= scaling.Stale {
		n.Value = history.Number(r.Value)
	}
	return n
}

// computed returns a number that the cycle computed.
func computed(name, unit, how string, v float64) Number {
	return Number{Name: name, Value: history.Number(v), Unit: unit, How: how, Age: 0, State: stateFresh}
}

// inputs returns the measurements of the model and of the replicas of the variant.
func inputs(e explain.Explanation) []Number {
	s, l := e.Snapshot, e.Snapshot.Load
	from := "read from " + string(cmp.Or(s.Backend, scaling.BackendPrometheus))
	over := fmt.Sprintf("over the last %s, %s", s.Window, from)
	age := since(s.At, e.At)
	out := []Number{
		reading("arrival rate", perSecond, "requests that arrived, admitted or not, "+over, l.ArrivalRate, age),
		reading("input tokens", tokens, "mean of the requests "+over, l.InputTokens, age),
		reading("output tokens", tokens, "mean of the requests "+over, l.OutputTokens, age),
		reading("TTFT", ms, "mean of the requests "+over+", waiting included", l.TTFT, age),
		reading("ITL", ms, "mean of the requests "+over, l.ITL, age),
		reading("prefix cache hits", ratio, "prompt tokens found in the prefix cache, of all, "+over, l.PrefixHits, age),
		reading("gateway queue", requests, "requests held before any replica, latest value, "+from, l.GatewayQueue, age),
	}
	shown := 0
	for _, r := range s.Sorted() {
		if r.Variant != e.Variant.Key {
			continue
		}
		if shown++; shown > mostReplicasShown {
			continue
		}
		age := since(r.At, e.At)
		out = append(out,
			reading(r.Pod+": KV cache usage", ratio, fmt.Sprintf("peak over the last %s; the age is that of the last scrape", s.Window), r.KVCacheUsage, age),
			reading(r.Pod+": queue length", requests, fmt.Sprintf("peak of the waiting requests over the last %s", s.Window), r.QueueLength, age),
			reading(r.Pod+": running", requests, "requests in the batch at the last scrape", r.Running, age),
		)
	}
	if left := shown - mostReplicasShown; left > 0 {
		out = append(out, computed("further replicas", replicas, "that are not listed here one by one; wva explain lists them", float64(left)))
	}
	return out
}

// analyses returns the results of the analyzer.
func analyses(e explain.Explanation) []Number {
	a := e.Analysis
	if a.Analyzer == "" {
		return nil
	}
	unit, by := string(a.Unit), "by the analyzer "+a.Analyzer
	out := []Number{
		computed("demand", unit, "what the load needs, "+by, a.Demand),
		computed("supply", unit, "what the Ready replicas offer, "+by, a.Supply),
		computed("anticipated supply", unit, "supply with what is ordered and without what is removed, "+by, a.Anticipated),
	}
	if a.Supply > 0 {
		out = append(out, computed("utilization", ratio, "demand over supply; above 1 is overload", a.Demand/a.Supply))
	}
	for _, c := range a.Variants {
		if c.Variant == e.Variant.Key && c.PerReplica > 0 {
			out = append(out, computed("of one replica", unit, c.Source, c.PerReplica))
		}
	}
	for _, c := range a.Ceilings {
		out = append(out, computed("demand of "+c.Name, string(c.Unit), "a further limit of a replica, in a unit of its own", c.Demand))
	}
	if p := e.Sizing.Predicted; p != (scaling.Latency{}) {
		how := "what the queueing model expects in the mean of the measured load on the Ready replicas"
		out = append(out, computed("expected TTFT", ms, how, p.TTFT), computed("expected ITL", ms, how, p.ITL))
	}
	return out
}

// plans returns the numbers before and after the optimizer, and the costs.
func plans(e explain.Explanation) []Number {
	if !e.Decided {
		return nil
	}
	v := e.Variant
	out := []Number{computed("replicas before", replicas, "what the target asked for when the cycle looked", float64(e.Decision.Current))}
	for _, s := range e.Decision.Steps {
		if s.Stage == scaling.StageOptimize {
			out = append(out, computed("replicas wanted", replicas, "by the optimizer, before any limit", float64(s.To)))
		}
	}
	return append(out,
		computed("replicas decided", replicas, "after all limits", float64(e.Decision.Target())),
		computed("cost of a replica", perHour, "configured: "+string(cmp.Or(v.CostSource, "the default")), v.Cost),
		computed("cost decided", perHour, "cost of a replica times the replicas decided", v.CostPerHour(e.Decision.Target())),
	)
}

// constraints returns the limits of the decision.
func constraints(e explain.Explanation, c record.Cycle) []Number {
	b := e.Variant.Bounds
	out := []Number{computed("least replicas", replicas, "configured (minReplicas)", float64(b.Min))}
	if b.Max != math.MaxInt {
		out = append(out, computed("most replicas", replicas, "configured (maxReplicas)", float64(b.Max)))
	}
	settings, ok := c.Configuration[e.Variant.Model]
	if !ok {
		return out
	}
	p := settings.Pacing
	for _, of := range []struct {
		name string
		d    time.Duration
	}{{"growth stabilization", p.ScaleUpStabilization}, {"reduction stabilization", p.ScaleDownStabilization}} {
		if of.d > 0 {
			out = append(out, computed(of.name, "s", "configured: for how long a change must have been wanted", of.d.Seconds()))
		}
	}
	if p.ScaleDownStartUps > 0 {
		out = append(out, computed("reduction start-ups", "", "configured: for how many start-ups of a replica a reduction must have been wanted", p.ScaleDownStartUps))
	}
	if p.MaxScaleUpStep > 0 {
		out = append(out, computed("largest growth", replicas, "configured: of one decision", float64(p.MaxScaleUpStep)))
	}
	if p.MaxScaleDownStep > 0 {
		of := "configured: of one decision"
		if p.SurplusAtOnce {
			of += ", up to a third of the replicas where they serve more than twice the largest demand of the last hour"
		}
		out = append(out, computed("largest reduction", replicas, of, float64(p.MaxScaleDownStep)))
	}
	for _, q := range c.Quotas {
		if q.Namespace == e.Variant.Key.Namespace && q.Accelerator == e.Variant.Accelerator {
			out = append(out, computed("quota", "accelerators", "configured: what the namespace may use of "+q.Accelerator, float64(q.GPUs)))
		}
	}
	return out
}

// carried returns the replicas of the target.
func carried(e explain.Explanation) []Number {
	r := e.Variant.Replicas
	if !r.Observed {
		return nil
	}
	how := "counted from the target and its pods by the informers, when the cycle began"
	out := []Number{
		computed("current", replicas, "what the target asks for (spec.replicas of its scale), when the cycle began", float64(r.Current)),
		computed("Ready", replicas, how, float64(r.Ready)),
		computed("pending", replicas, how+": asked for, and not Ready", float64(r.Pending)),
	}
	if r.Unschedulable > 0 {
		out = append(out, computed("without a node", replicas, how, float64(r.Unschedulable)))
	}
	if r.Surplus > 0 {
		out = append(out, computed("beyond the current", replicas, how+": pods that hold accelerators and do not terminate yet", float64(r.Surplus)))
	}
	if e.StartUps.Usual > 0 {
		out = append(out, computed("usual start-up", "s", fmt.Sprintf("median from creation to Ready, of the last %d pods", e.StartUps.Pods), time.Duration(e.StartUps.Usual).Seconds()))
	}
	return out
}
