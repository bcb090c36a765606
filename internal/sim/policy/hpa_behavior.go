package policy

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Behavior is spec.behavior of a HorizontalPodAutoscaler.
type Behavior struct {
	Up, Down Rules
}

// Rules limit the changes of a HorizontalPodAutoscaler in one direction.
type Rules struct {
	Window   time.Duration // stabilizationWindowSeconds
	Select   Select
	Policies []Limit // at least one unless Select is Disabled
}

// Select chooses among the limits of one direction.
type Select uint8

// The selections. The zero value is the default of autoscaling/v2.
const (
	MaxChange Select = iota // the limit that allows most
	MinChange               // the limit that allows least
	Disabled                // no change in this direction
)

// Limit is one policy of a direction: how much may change within a period.
type Limit struct {
	Percent bool             // Value is a percentage of the replicas at the start of the period
	Value   scaling.Replicas // > 0, pods or percent
	Period  time.Duration
}

// DefaultBehavior returns the values of autoscaling/v2 for an object that has a behavior section:
// up 4 pods or 100 % in 15 s without stabilization, down 100 % in 15 s after 300 s
// (pkg/apis/autoscaling/v2/defaults.go).
func DefaultBehavior() *Behavior {
	return &Behavior{
		Up: Rules{Policies: []Limit{
			{Value: 4, Period: 15 * time.Second},
			{Percent: true, Value: 100, Period: 15 * time.Second},
		}},
		Down: Rules{Window: 300 * time.Second, Policies: []Limit{
			{Percent: true, Value: 100, Period: 15 * time.Second},
		}},
	}
}

// longest returns the longest period of the limits.
func (r Rules) longest() time.Duration {
	var longest time.Duration
	for _, l := range r.Policies {
		longest = max(longest, l.Period)
	}
	return longest
}

// ceiling returns the most replicas that the limits allow, starting from current and the changes
// made before.
func (r Rules) ceiling(now time.Time, current scaling.Replicas, added, removed series) scaling.Replicas {
	return r.limit(current, func(l Limit) scaling.Replicas {
		start := current - within(added, now, l.Period) + within(removed, now, l.Period)
		if !l.Percent {
			return start + l.Value
		}
		return scaling.Replicas(math.Ceil(float64(start) * (1 + float64(l.Value)/100)))
	}, 1)
}

// floor returns the fewest replicas that the limits allow.
func (r Rules) floor(now time.Time, current scaling.Replicas, added, removed series) scaling.Replicas {
	return r.limit(current, func(l Limit) scaling.Replicas {
		start := current - within(added, now, l.Period) + within(removed, now, l.Period)
		if !l.Percent {
			return start - l.Value
		}
		return scaling.Replicas(float64(start) * (1 - float64(l.Value)/100))
	}, -1)
}

// limit selects among the proposals of the limits; sign is the direction.
func (r Rules) limit(current scaling.Replicas, propose func(Limit) scaling.Replicas, sign scaling.Replicas) scaling.Replicas {
	if r.Select == Disabled || len(r.Policies) == 0 {
		return current
	}
	if r.Select == MinChange {
		sign = -sign
	}
	best := propose(r.Policies[0])
	for _, l := range r.Policies[1:] {
		if n := propose(l); sign*n > sign*best {
			best = n
		}
	}
	return best
}

// within returns the sum of the changes within the last period, its oldest instant excluded.
func within(changes series, now time.Time, period time.Duration) scaling.Replicas {
	var sum scaling.Replicas
	for _, c := range changes {
		if c.at.After(now.Add(-period)) {
			sum += scaling.Replicas(c.value)
		}
	}
	return sum
}
