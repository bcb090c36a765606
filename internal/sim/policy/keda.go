package policy

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// KEDAParams are the parameters of a ScaledObject. It has the bounds of the variant; a Min of 0
// lets it go to zero.
type KEDAParams struct {
	Target   float64       // threshold of the trigger, >= 0.001
	Polling  time.Duration // pollingInterval, >= 1 s: between looks at activity
	Cooldown time.Duration // cooldownPeriod, >= 0: from the last activity to zero
	// StabilizeDown is the window down of the HPA that KEDA makes, >= 0.
	StabilizeDown time.Duration
}

// DefaultKEDAParams returns KEDA's defaults with the threshold of a trigger.
func DefaultKEDAParams(target float64) KEDAParams {
	return KEDAParams{Target: target, Polling: 30 * time.Second, Cooldown: 300 * time.Second, StabilizeDown: legacyWindow}
}

func (p *KEDAParams) fields(targets ...string) []field {
	return []field{
		number("target", "waiting requests per replica", &p.Target, milli, unlimited, targets...),
		span("stabilize-down", "stabilization window down of the HPA", &p.StabilizeDown, 0, "60s", "300s"),
		span("polling", "time between looks at the triggers for 0 to 1", &p.Polling, time.Second),
		span("cooldown", "time from the last activity to zero replicas", &p.Cooldown, 0),
	}
}

// keda is a ScaledObject for every variant: an HPA between 1 and the maximum,
// and the operator's own loop between 0 and 1.
type keda struct {
	hpa      *hpaPolicy
	polling  time.Duration
	cooldown time.Duration
	// active reports whether any trigger of a variant is above its activation
	// threshold of 0.
	active  func(Observation, Variant) bool
	objects perVariant[scaledObject]
}

var _ Autoscaler = (*keda)(nil)

// scaledObject is the operator's state of one ScaledObject.
type scaledObject struct {
	polled     time.Time
	lastActive time.Time // zero when it never was
}

func (k *keda) Interval() time.Duration { return k.hpa.sync }

func (k *keda) Decide(now time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) {
		o := k.objects.of(v.Key, func() *scaledObject { return &scaledObject{} })
		if o.polled.IsZero() || now.Sub(o.polled) >= k.polling {
			o.polled = now
			if n, why, done := k.poll(now, o, in, v); done {
				return n, why
			}
		}
		return k.hpa.reconcile(now, in, v)
	})
}

// poll runs one round of the operator. done says that the operator sets the replicas itself.
func (k *keda) poll(now time.Time, o *scaledObject, in Observation, v Variant) (n scaling.Replicas, why string, done bool) {
	switch {
	case k.active(in, v):
		o.lastActive = now
		if v.Replicas.Current == 0 {
			return min(max(1, v.Bounds.Min), v.Bounds.Max), "KEDA: active, from zero", true
		}
	case v.Replicas.Current < v.Bounds.Min:
		return v.Bounds.Min, "KEDA: below the minimum", true
	case v.Replicas.Current > 0 && v.Bounds.Min == 0 && o.lastActive.Add(k.cooldown).Before(now):
		return 0, "KEDA: not active for longer than the cooldown", true
	}
	return 0, "", false
}

// NewKEDA returns a ScaledObject with one Prometheus trigger on the requests that wait in the
// gateway and in the replicas, and with KEDA's defaults otherwise: its HPA has no behavior section,
// unless its window differs from the cluster's. A query without a result is 0 (ignoreNullValues).
func NewKEDA(p KEDAParams) (Autoscaler, error) {
	waiting := func(in Observation, v Variant) float64 { return gatewayQueue(in) + v.sum(queueLength).Or(0) }
	k := newKEDA(p, metric{
		name: "requests waiting", target: fixed(p.Target),
		total: func(_ time.Time, in Observation, v Variant) scaling.Reading {
			return scaling.Measured(waiting(in, v), scaling.Fresh)
		},
	})
	k.active = func(in Observation, v Variant) bool { return waiting(in, v) > 0 }
	if p.StabilizeDown != legacyWindow {
		k.hpa.behavior = DefaultBehavior()
		k.hpa.behavior.Down.Window = p.StabilizeDown
	}
	return k, check("keda", p.fields())
}

// newKEDA returns a ScaledObject whose HPA has no behavior section.
func newKEDA(p KEDAParams, metrics ...metric) *keda {
	h := newHPA(DefaultHPAParams(p.Target), metrics...)
	h.behavior = nil
	return &keda{hpa: h, polling: p.Polling, cooldown: p.Cooldown, objects: perVariant[scaledObject]{}}
}
