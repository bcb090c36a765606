package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// APAParams are the parameters of AIBrix's own autoscaler.
type APAParams struct {
	Target    float64       // KV cache usage of a replica, a ratio in [0.01, 1]
	Window    time.Duration // of the average, >= 10 s
	Tolerance float64       // a ratio in [0, 0.99], both directions
	MaxUp     float64       // factor of growth at once, >= 1.1
	MaxDown   float64       // factor of reduction at once, >= 1.1
	Up, Down  time.Duration // cooldown windows, >= 0
	Resync    time.Duration // between decisions, >= 1 s
}

// DefaultAPAParams returns the defaults, with the target 0.7 of AIBrix's
// examples.
func DefaultAPAParams() APAParams {
	return APAParams{
		Target: 0.7, Window: 180 * time.Second, Tolerance: 0.1, MaxUp: 2, MaxDown: 2,
		Down: 300 * time.Second, Resync: 10 * time.Second,
	}
}

func (p *APAParams) fields() []field {
	return []field{
		number("target", "KV cache usage of a replica", &p.Target, 0.01, 1, "0.5", "0.6", "0.7", "0.8", "0.9"),
		span("window", "window of the average", &p.Window, 10*time.Second, "60s", "180s"),
		number("tolerance", "ratio by which the target may be missed", &p.Tolerance, 0, 0.99),
		number("max-up", "most growth at once, a factor", &p.MaxUp, 1.1, unlimited),
		number("max-down", "most reduction at once, a factor", &p.MaxDown, 1.1, unlimited),
		span("cooldown-up", "window of the cooldown up", &p.Up, 0),
		span("cooldown-down", "window of the cooldown down", &p.Down, 0),
		span("resync", "time between decisions", &p.Resync, time.Second),
	}
}

// APA returns the replicas that AIBrix's autoscaler wants for a usage averaged over pods and time:
// outside the tolerance, current * usage / target, at most MaxUp times as many and at least
// 1/MaxDown of them.
func APA(current scaling.Replicas, usage float64, p APAParams) scaling.Replicas {
	r, n := usage/p.Target, float64(current)
	switch {
	case r > 1+p.Tolerance:
		return min(ceil(n*r), ceil(n*p.MaxUp))
	case r < 1-p.Tolerance:
		return max(ceil(n*r), scaling.Replicas(math.Floor(n/p.MaxDown)))
	}
	return current
}

type apa struct {
	p     APAParams
	state perVariant[apaState]
}

type apaState struct {
	usage    series
	cooldown cooldown
}

// NewAIBrixAPA returns a rule that follows the KV cache usage, averaged over the window and the
// pods of a variant that report. It keeps one replica: at zero no pod reports, and it could not
// come back.
func NewAIBrixAPA(p APAParams) (Autoscaler, error) {
	return &apa{p, perVariant[apaState]{}}, check("aibrix-apa", p.fields())
}

func (a *apa) Interval() time.Duration { return a.p.Resync }

func (a *apa) Decide(now time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) {
		s := a.state.of(v.Key, func() *apaState { return &apaState{} })
		usage := mean(v.Pods, kvCacheUsage)
		if !usage.Known() {
			return v.Replicas.Current, "APA: hold, no pod reports"
		}
		s.usage.add(now, usage.Value, a.p.Window)
		average := s.usage.mean(now, a.p.Window)
		want := atLeastOne(v.Bounds).Clamp(APA(v.Replicas.Current, average, a.p))
		n := s.cooldown.apply(now, v.Replicas.Current, want, a.p.Up, a.p.Down)
		return atLeastOne(v.Bounds).Clamp(n), fmt.Sprintf("APA: mean KV cache usage %.2f, target %.2f, recommends %d", average, a.p.Target, want)
	})
}

// atLeastOne returns bounds that exclude zero, unless the maximum is zero.
func atLeastOne(b scaling.Bounds) scaling.Bounds {
	return scaling.Bounds{Min: max(1, b.Min), Max: b.Max}
}

// mean returns the mean of the values that pods report, Absent if no pod reports.
func mean(pods []Pod, read func(Pod) scaling.Reading) scaling.Reading {
	var sum float64
	var n int
	for _, p := range pods {
		if r := read(p); r.Known() {
			sum += r.Value
			n++
		}
	}
	if n == 0 {
		return scaling.Reading{}
	}
	return scaling.Measured(sum/float64(n), scaling.Fresh)
}

// cooldown is AIBrix's stabilization: growth takes the greatest recommendation of the window up, a
// reduction the LEAST of the window down, so that one low sample decides for the whole window.
type cooldown struct{ recommended series }

func (c *cooldown) apply(now time.Time, current, want scaling.Replicas, up, down time.Duration) scaling.Replicas {
	c.recommended.add(now, float64(want), max(up, down))
	n := want
	for _, r := range c.recommended {
		switch {
		case want > current && !r.at.Before(now.Add(-up)):
			n = max(n, scaling.Replicas(r.value))
		case want < current && !r.at.Before(now.Add(-down)):
			n = min(n, scaling.Replicas(r.value))
		}
	}
	return n
}
