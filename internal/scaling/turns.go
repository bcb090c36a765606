package scaling

import (
	"math"
	"time"
)

const (
	// turnWithin is for how long growth at the same load says that the reduction
	// before it was wrong. Later the requests are others.
	turnWithin = 6 * time.Hour
	// turnWait is for how long nothing is given up after the first such turn; each
	// further one doubles it, up to turnWaitMost.
	turnWait     = time.Hour
	turnWaitMost = 8 * time.Hour
	// turnForget is after how long one turn is forgotten.
	turnForget = 24 * time.Hour
	// turnsAtMost is how many turns are counted.
	turnsAtMost = 4
	// sameLoad is by how much a load may have grown that is still the same: the
	// margin with which a fleet is reduced.
	sameLoad = 0.1
)

// Turns is what is remembered of a model whose reductions were undone by growth
// although no more requests arrived than before: then the fleet was too small, and
// not too large. The zero value remembers nothing. It is a value: no method changes
// it.
type Turns struct {
	// Reduced is when the model last gave up a replica, zero if growth has followed,
	// and Rate what arrived then, requests/s, 0 while unknown.
	Reduced time.Time `json:"reduced,omitzero"`
	Rate    float64   `json:"rate,omitempty"`
	// Undone counts the turns, without those forgotten; At is when the last one was.
	Undone int       `json:"undone,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Then returns t after a decision at now by which the replicas of the model changed
// by more (change > 0), by fewer (< 0), or not at all. rate is what arrives, measured
// over window.
func (t Turns) Then(change int, rate Reading, window time.Duration, now time.Time) Turns {
	if t.Undone > 0 && now.Sub(t.At) >= turnForget {
		t.Undone, t.At = t.Undone-1, t.At.Add(turnForget)
	}
	switch {
	case change < 0:
		t.Reduced, t.Rate = now, rate.Or(0)
	case change > 0 && !t.Reduced.IsZero():
		if now.Sub(t.Reduced) <= turnWithin && t.same(rate, window) {
			t.Undone, t.At = min(t.Undone+1, turnsAtMost), now
		}
		t.Reduced = time.Time{}
	}
	return t
}

// same reports whether rate is the load of the last reduction, as far as so many
// requests tell: their number varies by its square root.
func (t Turns) same(rate Reading, window time.Duration) bool {
	if t.Rate <= 0 || !rate.Known() {
		return false
	}
	noise := 2 / math.Sqrt(max(1, t.Rate*window.Seconds()))
	return rate.Value <= t.Rate*(1+sameLoad+noise)
}

// Wait is for how much longer nothing is given up at now, 0 for no longer.
func (t Turns) Wait(now time.Time) time.Duration {
	if t.Undone == 0 {
		return 0
	}
	wait := min(turnWaitMost, turnWait<<(t.Undone-1))
	return max(0, min(wait, t.At.Add(wait).Sub(now)))
}

// Margin is the part of a fleet that is to stay free after a reduction, beyond the
// usual, a ratio: a tenth after the first turn, and twice the margin after each.
func (t Turns) Margin() float64 {
	return []float64{0, 0.1, 0.3}[min(t.Undone, 2)]
}

// Failures counts the orders of a variant that were cancelled because they did not
// arrive in time. The zero value is none. It is a value: no method changes it.
type Failures struct {
	Count int       `json:"count,omitempty"`
	At    time.Time `json:"at,omitzero"` // of the last
}

const (
	failureWait     = time.Hour // after the first; each further one doubles it
	failureWaitMost = 24 * time.Hour
	failuresAtMost  = 6
)

// Then returns f after one more at now.
func (f Failures) Then(now time.Time) Failures {
	return Failures{Count: min(f.Count+1, failuresAtMost), At: now}
}

// Recent reports whether the variant is not to be tried again at now where another
// can serve as well.
func (f Failures) Recent(now time.Time) bool {
	return f.Count > 0 && now.Sub(f.At) < min(failureWaitMost, failureWait<<(f.Count-1))
}

// Latest returns whichever of the two is of the later time.
func (t Turns) Latest(other Turns) Turns {
	last := func(t Turns) time.Time {
		if t.Reduced.After(t.At) {
			return t.Reduced
		}
		return t.At
	}
	if last(other).After(last(t)) {
		return other
	}
	return t
}
