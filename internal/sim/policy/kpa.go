package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// KPAParams are the parameters of Knative's pod autoscaler.
type KPAParams struct {
	// Target is the container concurrency in requests, >= 0; 0 means the Benchmark's.
	Target      float64
	Utilization float64       // part of Target to aim at, in [0.01, 1]
	Stable      time.Duration // stable window, >= 6 s
	PanicShare  float64       // panic window as a share of the stable one, in [0.01, 1]
	Panic       float64       // panic threshold, a ratio >= 1.1
	MaxUp       float64       // most growth of the ready replicas at once, a factor >= 1.1
	MaxDown     float64       // most reduction at once, a factor >= 1.1
	ScaleToZero time.Duration // grace period between inactive and zero, >= 0
	Tick        time.Duration // between decisions, >= 1 s
}

// DefaultKPAParams returns the defaults of Knative's ConfigMap config-autoscaler; the target is the
// Benchmark's, because Knative's 100 does not fit an LLM.
func DefaultKPAParams() KPAParams {
	return KPAParams{
		Utilization: 0.7, Stable: time.Minute, PanicShare: 0.1, Panic: 2,
		MaxUp: 1000, MaxDown: 2, ScaleToZero: 30 * time.Second, Tick: 2 * time.Second,
	}
}

func (p *KPAParams) fields() []field {
	return []field{
		number("utilization", "part of the target that is aimed at", &p.Utilization, 0.01, 1, "0.5", "0.6", "0.7", "0.85", "1"),
		span("stable-window", "window of the stable average", &p.Stable, 6*time.Second, "60s", "300s"),
		number("target", "requests in flight per replica, 0 for the benchmark's", &p.Target, 0, unlimited),
		number("panic-window", "panic window as a share of the stable one", &p.PanicShare, 0.01, 1),
		number("panic-threshold", "wanted over ready replicas at which panic begins", &p.Panic, 1.1, unlimited),
		number("max-up", "most growth at once, a factor", &p.MaxUp, 1.1, unlimited),
		number("max-down", "most reduction at once, a factor", &p.MaxDown, 1.1, unlimited),
		span("grace-period", "from inactive to zero replicas", &p.ScaleToZero, 0),
		span("tick", "time between decisions", &p.Tick, time.Second),
	}
}

// kpa gives every variant an autoscaler on its concurrency.
type kpa struct {
	p     KPAParams
	state perVariant[kpaState]
}

type kpaState struct {
	KPA
	requests  series
	activeAt  time.Time // when it last became active, zero while it is not
	idleSince time.Time // when it became inactive, zero while it is not
}

// NewKPA returns Knative's autoscaler on the requests in flight of a variant, those at the gateway
// included.
func NewKPA(p KPAParams) (Autoscaler, error) {
	return &kpa{p, perVariant[kpaState]{}}, check("kpa", p.fields())
}

func (k *kpa) Interval() time.Duration { return k.p.Tick }

func (k *kpa) Decide(now time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) {
		s := k.state.of(v.Key, func() *kpaState {
			return &kpaState{KPA: NewKPADecider(k.p, now, v.Replicas.Ready)}
		})
		target := k.p.Target
		if target == 0 {
			target = v.Benchmark.Concurrency
		}
		s.requests.add(now, concurrency(in, v), k.p.Stable)
		target *= k.p.Utilization
		if !(target > 0) {
			return v.Replicas.Current, "KPA: hold, there is neither a target nor a benchmark"
		}
		stable := s.requests.mean(now, k.p.Stable)
		panicking := s.requests.mean(now, time.Duration(float64(k.p.Stable)*k.p.PanicShare))
		n, mode := s.Desired(now, v.Replicas.Ready, stable/target, panicking/target)
		why := fmt.Sprintf("KPA: %s, %.3g in flight on average (%.3g in the panic window), target %.3g", mode, stable, panicking, target)
		if n > 0 || v.Bounds.Min > 0 {
			if s.activeAt.IsZero() || !s.idleSince.IsZero() {
				s.activeAt, s.idleSince = now, time.Time{}
			}
			return v.Bounds.Clamp(n), why
		}
		return s.toZero(now, k.p, v), why + ", idle"
	})
}

// toZero returns the replicas on the way from the last one to zero: active for a stable window,
// then inactive for the grace period.
func (s *kpaState) toZero(now time.Time, p KPAParams, v Variant) scaling.Replicas {
	switch {
	case v.Replicas.Current == 0:
		s.activeAt, s.idleSince = time.Time{}, time.Time{}
		return 0
	case s.activeAt.IsZero():
		s.activeAt = now
	}
	if now.Sub(s.activeAt) < p.Stable {
		return v.Bounds.Clamp(1)
	}
	if s.idleSince.IsZero() {
		s.idleSince = now
	}
	if now.Sub(s.idleSince) < p.ScaleToZero {
		return v.Replicas.Current
	}
	return 0
}

// KPA is the decider of one revision (pkg/autoscaler/scaling/autoscaler.go).
type KPA struct {
	p        KPAParams
	panicAt  time.Time // zero while it does not panic
	maxPanic scaling.Replicas
}

// NewKPADecider returns the decider of a controller that starts while ready replicas serve. More
// than one make it begin in panic, so that a restart of the controller keeps them.
func NewKPADecider(p KPAParams, now time.Time, ready scaling.Replicas) KPA {
	if ready > 1 {
		return KPA{p: p, panicAt: now, maxPanic: ready}
	}
	return KPA{p: p}
}

// Desired returns the replicas that the averages ask for, both in replicas (concurrency over
// target), and the mode, "stable" or "panic". In panic the number never falls.
func (k *KPA) Desired(now time.Time, ready scaling.Replicas, stable, panicking float64) (n scaling.Replicas, mode string) {
	r := float64(max(1, ready))
	up, down := math.Ceil(k.p.MaxUp*r), math.Floor(r/k.p.MaxDown)
	wantStable, wantPanic := math.Ceil(stable), math.Ceil(panicking)
	limited := scaling.Replicas(min(max(wantStable, down), up))
	over := wantPanic/r >= k.p.Panic
	switch {
	case over:
		k.panicAt = now
	case !k.panicAt.IsZero() && k.panicAt.Add(k.p.Stable).Before(now):
		k.panicAt, k.maxPanic = time.Time{}, 0
	}
	if k.panicAt.IsZero() {
		return limited, "stable"
	}
	k.maxPanic = max(k.maxPanic, limited, scaling.Replicas(min(max(wantPanic, down), up)))
	return k.maxPanic, "panic"
}
