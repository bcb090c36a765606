package policy

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// HPAParams are the parameters of a HorizontalPodAutoscaler on one metric.
type HPAParams struct {
	// Target is per replica, in the unit of the metric, >= 0.001.
	Target float64
	// Type is the type of the target of an External metric, TypeAverageValue or
	// TypeValue.
	Type string
	// Share multiplies a target from the Benchmark, in [0.01, 2]. The tolerance and the window down
	// keep more replicas than the target needs, so that the best Share may be above 1.
	Share float64
	// Tolerance is a ratio in [0, 1), for both directions.
	Tolerance float64
	// StabilizeUp and StabilizeDown are the stabilization windows, >= 0.
	StabilizeUp, StabilizeDown time.Duration
	// Sync is --horizontal-pod-autoscaler-sync-period, >= 1 s.
	Sync time.Duration
}

// The types of a target, spelt as in autoscaling/v2.
const (
	TypeAverageValue = "AverageValue"
	TypeValue        = "Value"
)

// DefaultHPAParams returns the defaults of autoscaling/v2 and of the controller's flags, with the
// given target.
func DefaultHPAParams(target float64) HPAParams {
	return HPAParams{
		Target: target, Type: TypeAverageValue, Share: 1, Tolerance: 0.1,
		StabilizeDown: 300 * time.Second, Sync: 15 * time.Second,
	}
}

// fixedFields returns the parameters of an HPA whose target is a number.
func (p *HPAParams) fixedFields(unit string, targets ...string) []field {
	return append([]field{number("target", unit+" per replica", &p.Target, milli, unlimited, targets...)}, p.common()...)
}

// queueFields returns the parameters of hpa-queue.
func (p *HPAParams) queueFields() []field {
	return append(p.fixedFields("waiting requests", "1", "2", "5", "10", "20"),
		choice("type", "type of the target; Value multiplies by the ready replicas", &p.Type, []string{TypeAverageValue, TypeValue}))
}

// sharedFields returns the parameters of an HPA whose target is a share of the Benchmark.
func (p *HPAParams) sharedFields(what string) []field {
	return append([]field{number("share", "part of the benchmark's "+what+" that is the target", &p.Share, 0.01, 2,
		"0.7", "0.85", "1", "1.15", "1.3")}, p.common()...)
}

func (p *HPAParams) common() []field {
	return []field{
		span("stabilize-down", "stabilization window down", &p.StabilizeDown, 0, "60s", "300s"),
		span("stabilize-up", "stabilization window up", &p.StabilizeUp, 0),
		number("tolerance", "ratio by which the target may be missed", &p.Tolerance, 0, 0.99),
		span("sync", "time between decisions", &p.Sync, time.Second),
	}
}

// behavior returns the behavior of autoscaling/v2 with the windows of p.
func (p HPAParams) behavior() *Behavior {
	b := DefaultBehavior()
	b.Up.Window, b.Down.Window = p.StabilizeUp, p.StabilizeDown
	return b
}

// metric is one metric of an HPA, with a target per replica.
type metric struct {
	name   string
	target func(Observation, Variant) float64
	// pod reads a Pods metric, total an External one. Exactly one is set.
	pod   func(Pod) scaling.Reading
	total func(time.Time, Observation, Variant) scaling.Reading
	// value is true for an External metric with a target of type Value.
	value bool
}

// fixed returns a target that never changes.
func fixed(target float64) func(Observation, Variant) float64 {
	return func(Observation, Variant) float64 { return target }
}

// propose returns the Proposal of the metric.
func (m metric) propose(now time.Time, in Observation, v Variant, t Tolerance) Proposal {
	p := Proposal{Metric: m.name}
	target := m.target(in, v)
	if !(target >= milli) {
		p.Invalid = fmt.Sprintf("its target per replica would be %.3g, want at least %v (is the benchmark missing?)", target, milli)
		return p
	}
	if m.total != nil {
		total := m.total(now, in, v)
		if !total.Known() {
			p.Invalid = total.String()
			return p
		}
		if m.value {
			p.Replicas = Value(total.Value, target, v.Replicas.Current, v.Replicas.Ready, t)
		} else {
			p.Replicas = AverageValue(total.Value, target, v.Replicas.Current, t)
		}
		return p
	}
	var reported []float64
	var missing, pending int
	for _, pod := range v.Pods {
		value := m.pod(pod)
		switch {
		case pod.Unstarted:
			pending++
		case value.Known():
			reported = append(reported, value.Value)
		default:
			missing++
		}
	}
	n, err := PodsAverage(reported, missing, pending, v.Replicas.Current, target, t)
	if err != nil {
		p.Invalid = err.Error()
	}
	p.Replicas = n
	return p
}

// hpaPolicy gives every variant an HPA with the same metrics.
type hpaPolicy struct {
	sync      time.Duration
	tolerance Tolerance
	behavior  *Behavior
	metrics   []metric
	hpas      perVariant[HPA]
}

var _ Autoscaler = (*hpaPolicy)(nil)

func newHPA(p HPAParams, metrics ...metric) *hpaPolicy {
	return &hpaPolicy{
		sync: p.Sync, tolerance: Tolerance{Up: p.Tolerance, Down: p.Tolerance},
		behavior: p.behavior(), metrics: metrics, hpas: perVariant[HPA]{},
	}
}

func (h *hpaPolicy) Interval() time.Duration { return h.sync }

func (h *hpaPolicy) Decide(now time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) { return h.reconcile(now, in, v) })
}

func (h *hpaPolicy) reconcile(now time.Time, in Observation, v Variant) (scaling.Replicas, string) {
	proposals := make([]Proposal, len(h.metrics))
	for i, m := range h.metrics {
		proposals[i] = m.propose(now, in, v, h.tolerance)
	}
	hpa := h.hpas.of(v.Key, func() *HPA { return &HPA{Behavior: h.behavior} })
	return hpa.Reconcile(now, Scale{Spec: v.Replicas.Current, Bounds: v.Bounds}, proposals)
}

// NewHPAQueue returns an HPA on the waiting requests of a variant's replicas, an External metric
// with Target requests per replica, or, with TypeValue, Target requests in all, which multiplies: a
// queue of twice the target doubles the replicas while it lasts.
func NewHPAQueue(p HPAParams) (Autoscaler, error) {
	return newHPA(p, metric{
		name: "queue length", target: fixed(p.Target), value: p.Type == TypeValue,
		total: func(_ time.Time, _ Observation, v Variant) scaling.Reading { return v.sum(queueLength) },
	}), check("hpa-queue", p.queueFields())
}

// NewHPAKV returns an HPA on the mean KV cache usage, a Pods metric with Target as a ratio.
func NewHPAKV(p HPAParams) (Autoscaler, error) {
	return newHPA(p, metric{name: "KV cache usage", target: fixed(p.Target), pod: kvCacheUsage}),
		check("hpa-kv", p.fixedFields("KV cache usage"))
}

// NewHPARate returns an HPA on the arrival rate of a variant. Its target is Share of the
// Benchmark's rate.
func NewHPARate(p HPAParams) (Autoscaler, error) {
	return newHPA(p, metric{
		name:   "arrival rate",
		target: func(_ Observation, v Variant) float64 { return p.Share * v.Benchmark.Rate },
		total:  func(_ time.Time, _ Observation, v Variant) scaling.Reading { return v.ArrivalRate },
	}), check("hpa-rate", p.sharedFields("request rate"))
}

// NewHPAInflight returns an HPA on the running and waiting requests of a variant. Its target is
// Share of the Benchmark's concurrency.
func NewHPAInflight(p HPAParams) (Autoscaler, error) {
	return newHPA(p, metric{
		name:   "requests in flight",
		target: func(_ Observation, v Variant) float64 { return p.Share * v.Benchmark.Concurrency },
		total:  func(_ time.Time, _ Observation, v Variant) scaling.Reading { return v.sum(inFlight) },
	}), check("hpa-inflight", p.sharedFields("concurrency"))
}
