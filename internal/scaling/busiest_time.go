package scaling

import (
	"math"
	"time"
)

// Busy is how many replicas of a variant were needed when its model was busiest
// lately, and what arrived then. It is for the time after a lull, in which nothing at
// all arrived: a load does not decline to nothing from one minute to the next, what
// sends it was cut off. When it comes back, the fleet may have its size again at once,
// without learning it anew. The zero value remembers nothing.
type Busy struct {
	Replicas Replicas  `json:"replicas,omitempty"`
	Rate     float64   `json:"rate,omitempty"` // requests/s of the model, > 0
	At       time.Time `json:"at,omitzero"`
	// Lull is since when nothing has arrived, and Back since when something does again
	// and a replica is Ready to serve it. Both are zero before.
	Lull time.Time `json:"lull,omitzero"`
	Back time.Time `json:"back,omitzero"`
}

const (
	// busiestFor is for how long the busiest look is kept while less arrives: of a load
	// that declines within it the fleet is larger than what arrives needs.
	busiestFor = 10 * time.Minute
	// lullAtMost is how long a lull may last after which the fleet has its size again.
	lullAtMost = time.Hour
	// backWindows is for how many windows the load must be back before the fleet is
	// what it needs by itself: the first still holds the end of the lull.
	backWindows = 2
)

// Then returns b after a look at the model at which so many replicas of the variant are
// needed. A rate that is not known changes nothing, nor does one that no replica
// serves.
func (b Busy) Then(s Snapshot, replicas Replicas) Busy {
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

// Size returns how many replicas of the variant carried what arrives now, where that is
// known and the load comes back after a lull: as many a request as when the model was
// busy, and no more than there were. Else 0.
func (b Busy) Size(s Snapshot) Replicas {
	rate := s.Load.ArrivalRate
	if !rate.Known() || rate.Value == 0 || !served(s.Variants) || !b.returns(s) {
		return 0
	}
	const rounding = 1e-9
	return Replicas(math.Ceil(float64(b.Replicas)*min(1, rate.Value/b.Rate) - rounding))
}

// returns reports whether requests that arrive now come back after a lull.
func (b Busy) returns(s Snapshot) bool {
	return !b.Lull.IsZero() && s.At.Sub(b.Lull) <= lullAtMost && (b.Back.IsZero() || s.At.Sub(b.Back) <= backWindows*s.Window)
}

// served reports whether a replica is Ready.
func served(variants []Variant) bool {
	for _, v := range variants {
		if v.Replicas.Observed && v.Replicas.Ready > 0 {
			return true
		}
	}
	return false
}

// at is At of a Past, of when its model was busy.
func (b Busy) at(now time.Time) Busy {
	b.At, b.Lull, b.Back = before(b.At, now), before(b.Lull, now), before(b.Back, now)
	return b
}
