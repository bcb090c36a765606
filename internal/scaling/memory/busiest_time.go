package memory

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Busy remembers the replicas of a variant, and the arrival rate, at the recent peak of its model.
// It is for the return of load after a lull. A load does not decline to nothing within a minute:
// its source was cut off. When the load comes back, the fleet may have its size again at once,
// without learning it anew. The zero value remembers nothing.
type Busy struct {
	Replicas scaling.Replicas `json:"replicas,omitempty"`
	Rate     float64          `json:"rate,omitempty"` // requests/s of the model, > 0
	At       time.Time        `json:"at,omitzero"`
	// Lull is when arrivals stopped, zero before. Back is when a look first saw them again with a
	// Ready replica, zero before.
	Lull time.Time `json:"lull,omitzero"`
	Back time.Time `json:"back,omitzero"`
}

const (
	// busiestFor is how long the peak is kept while the rate is lower: for a load that declines
	// within it the kept size is larger than needed.
	busiestFor = 10 * time.Minute
	// lullAtMost is the longest time since the beginning of a lull after which the size is
	// restored.
	lullAtMost = time.Hour
	// backWindows is the number of windows after a lull for which the size is restored: the first
	// window still contains the end of the lull.
	backWindows = 2
)

// Then returns b updated by a look at the model, at which the variant needs the given replicas. An
// unknown rate changes nothing, nor does a rate above zero without a Ready replica.
func (b Busy) Then(s scaling.Snapshot, replicas scaling.Replicas) Busy {
	rate := s.Load.ArrivalRate
	switch {
	case !rate.Known():
		return b
	case rate.Value == 0:
		if b.Rate > 0 && b.Lull.IsZero() {
			b.Lull = s.At
		}
		b.Back = time.Time{}
		return b
	case !served(s.Variants):
		return b
	case b.returns(s):
		if b.Back.IsZero() {
			b.Back = s.At
		}
		return b
	case b.Lull.IsZero() && rate.Value < b.Rate && s.At.Sub(b.At) <= busiestFor:
		return b
	}
	return Busy{Replicas: replicas, Rate: rate.Value, At: s.At}
}

// Size returns the replicas of the variant that carried the present rate before the lull, in
// proportion to the peak and at most as many as then. It is 0 where no load comes back after a
// lull, or that is unknown.
func (b Busy) Size(s scaling.Snapshot) scaling.Replicas {
	rate := s.Load.ArrivalRate
	if !rate.Known() || rate.Value == 0 || !served(s.Variants) || !b.returns(s) {
		return 0
	}
	const rounding = 1e-9
	return scaling.Replicas(math.Ceil(float64(b.Replicas)*min(1, rate.Value/b.Rate) - rounding))
}

// returns reports whether requests that arrive at s come back after a lull.
func (b Busy) returns(s scaling.Snapshot) bool {
	return !b.Lull.IsZero() && s.At.Sub(b.Lull) <= lullAtMost && (b.Back.IsZero() || s.At.Sub(b.Back) <= backWindows*s.Window)
}

// served reports whether a replica is Ready.
func served(variants []scaling.Variant) bool {
	for _, v := range variants {
		if v.Replicas.Observed && v.Replicas.Ready > 0 {
			return true
		}
	}
	return false
}

// at returns b as it is remembered at now; see Past.At.
func (b Busy) at(now time.Time) Busy {
	b.At, b.Lull, b.Back = before(b.At, now), before(b.Lull, now), before(b.Back, now)
	return b
}
