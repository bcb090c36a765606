package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// RayParams are the parameters of Ray Serve's autoscaling.
type RayParams struct {
	// Target is target_ongoing_requests, requests per replica, >= 0.001.
	Target   float64
	LookBack time.Duration // look_back_period_s, >= 1 s
	Push     time.Duration // metrics_interval_s: time between the reports of a replica, >= 1 s
	Up, Down time.Duration // upscale_delay_s and downscale_delay_s, >= 0
	// UpFactor and DownFactor are upscaling_factor and downscaling_factor, in
	// [0.01, 10].
	UpFactor, DownFactor float64
	// Loop is the control loop, >= 0.1 s.
	Loop time.Duration
}

// DefaultRayParams returns the defaults of AutoscalingConfig, with a control loop of 1 s instead of
// 0.1 s: the metrics change every 10 s.
func DefaultRayParams() RayParams {
	return RayParams{
		Target: 2, LookBack: 30 * time.Second, Push: 10 * time.Second,
		Up: 30 * time.Second, Down: 600 * time.Second, UpFactor: 1, DownFactor: 1, Loop: time.Second,
	}
}

func (p *RayParams) fields() []field {
	return []field{
		number("target", "ongoing requests per replica", &p.Target, milli, unlimited, "2", "8", "16", "24", "40"),
		span("downscale-delay", "for how long fewer must be wanted", &p.Down, 0, "300s", "600s"),
		span("upscale-delay", "for how long more must be wanted", &p.Up, 0),
		span("look-back", "window of the average", &p.LookBack, time.Second),
		span("push", "time between the reports of a replica", &p.Push, time.Second),
		number("upscaling-factor", "part of the difference that is made up", &p.UpFactor, 0.01, 10),
		number("downscaling-factor", "part of the difference that is given up", &p.DownFactor, 0.01, 10),
		span("loop", "time between decisions", &p.Loop, 100*time.Millisecond),
	}
}

// RayServe returns the replicas that Ray Serve wants for the running and waiting requests, starting
// from running replicas, before bounds and delays. running > 0.
func RayServe(requests float64, running scaling.Replicas, p RayParams) scaling.Replicas {
	n := float64(running)
	want := requests / p.Target
	factor := p.UpFactor
	if want < n {
		factor = p.DownFactor
	}
	got := ceil(n + factor*(want-n))
	if got == running && math.Ceil(want) < n {
		got-- // a small factor would keep it there
	}
	return got
}

type rayServe struct {
	p     RayParams
	state perVariant[rayState]
}

type rayState struct {
	pushed   time.Time
	requests series
	sign     int // the direction wanted, 0 for none
	since    time.Time
}

// NewRayServe returns a rule that follows the running and waiting requests of a variant, those at
// the gateway included, as Ray's handles count theirs.
func NewRayServe(p RayParams) (Autoscaler, error) {
	return &rayServe{p, perVariant[rayState]{}}, check("ray-serve", p.fields())
}

func (r *rayServe) Interval() time.Duration { return r.p.Loop }

func (r *rayServe) Decide(now time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) {
		s := r.state.of(v.Key, func() *rayState { return &rayState{} })
		requests := concurrency(in, v)
		if s.pushed.IsZero() || now.Sub(s.pushed) >= r.p.Push {
			s.pushed = now
			s.requests.add(now, requests, r.p.LookBack)
		}
		current := v.Replicas.Current
		if v.Replicas.Ready == 0 {
			if requests > 0 {
				return v.Bounds.Clamp(max(current, ceil(r.p.UpFactor))), "Ray Serve: requests and no replica"
			}
			return v.Bounds.Clamp(current), "Ray Serve: no replica and no request"
		}
		average := s.requests.mean(now, r.p.LookBack)
		want := v.Bounds.Clamp(RayServe(average, v.Replicas.Ready, r.p))
		why := fmt.Sprintf("Ray Serve: %.3g ongoing requests, %g per replica, wants %d", average, r.p.Target, want)
		if !s.held(now, want-current, r.p) {
			return v.Bounds.Clamp(current), why
		}
		return want, why
	})
}

// held reports whether the direction of the difference has been wanted for its delay. If so, the
// delay begins anew.
func (s *rayState) held(now time.Time, difference scaling.Replicas, p RayParams) bool {
	sign, delay := 0, time.Duration(0)
	switch {
	case difference > 0:
		sign, delay = 1, p.Up
	case difference < 0:
		sign, delay = -1, p.Down
	}
	if sign != s.sign {
		s.sign, s.since = sign, now
	}
	if sign == 0 || now.Sub(s.since) < delay {
		return false
	}
	s.sign = 0
	return true
}
