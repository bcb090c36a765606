package scaling

import "time"

const (
	// turnWithin is for how long growth at the same load says that the reduction
	// before it was wrong. Later the requests are others.
	turnWithin = 6 * time.Hour
	// turnWait is for how long nothing is given up after the first such turn; each
	// further one doubles it, up to turnWaitMost. A fleet that had not changed for
	// turnWithin before waits for as long at once: its load is the same for hours.
	turnWait     = time.Hour
	turnWaitMost = 8 * time.Hour
	// turnForget is after how long one turn is forgotten.
	turnForget = 24 * time.Hour
	// turnsAtMost is how many turns are counted.
	turnsAtMost = 4
	// sameLoad is by how much a load may have grown that is still the same. Of noise
	// that is larger it is seen that more arrives.
	sameLoad = 0.05
)

// Turns is what is remembered of a model whose reductions were undone by growth
// although no more requests arrived than before: then the fleet was too small, and
// not too large. The zero value remembers nothing. It is a value: no method changes
// it.
type Turns struct {
	// Reduced is when the model last gave up a replica, zero if growth has followed,
	// and Rate what arrived then, tokens/s, 0 while unknown.
	Reduced time.Time `json:"reduced,omitzero"`
	Rate    float64   `json:"rate,omitempty"`
	// Changed is when it last grew or gave up a replica, and Rested says that it had not
	// for turnWithin when it began to give up.
	Changed time.Time `json:"changed,omitzero"`
	Rested  bool      `json:"rested,omitempty"`
	// Undone counts the turns, without those forgotten. At is when the last one was,
	// and Wrong the rate at which that reduction was wrong, tokens/s.
	Undone int       `json:"undone,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Wrong  float64   `json:"wrong,omitempty"`
}

// Then returns t after a decision at now by which the replicas of the model changed
// by more (change > 0), by fewer (< 0), or not at all. load is what arrives.
func (t Turns) Then(change int, load Load, now time.Time) Turns {
	if t.Undone > 0 && now.Sub(t.At) >= turnForget {
		t.Undone, t.At = t.Undone-1, t.At.Add(turnForget)
	}
	switch {
	case change < 0:
		continues := !t.Reduced.IsZero() && t.Rested
		t.Rested = continues || !t.Changed.IsZero() && now.Sub(t.Changed) >= turnWithin
		t.Reduced, t.Rate = now, load.tokenRate()
	case change > 0 && !t.Reduced.IsZero():
		if now.Sub(t.Reduced) <= turnWithin && t.same(load.tokenRate()) {
			t.Undone, t.At, t.Wrong = min(t.Undone+1, turnsAtMost), now, t.Rate
			if t.Rested {
				t.Undone = turnsAtMost
			}
		}
		t.Reduced = time.Time{}
	}
	if change != 0 {
		t.Changed = now
	}
	return t
}

// same reports whether rate is the load of the last reduction.
func (t Turns) same(rate float64) bool {
	return t.Rate > 0 && rate > 0 && rate <= t.Rate*(1+sameLoad)
}

// tokenRate is how many tokens arrive, prompts and answers, tokens/s; 0 while that is
// not known.
func (l Load) tokenRate() float64 {
	if !l.ArrivalRate.Known() || !l.InputTokens.Known() || !l.OutputTokens.Known() {
		return 0
	}
	return l.ArrivalRate.Value * (l.InputTokens.Value + l.OutputTokens.Value)
}

// less is which part of the load of the last turn is another load, that needs fewer
// replicas.
const less = 0.75

// Wait is for how much longer nothing is given up at now, 0 for no longer, or where so
// much less arrives that another number of replicas is needed.
func (t Turns) Wait(load Load, now time.Time) time.Duration {
	if rate := load.tokenRate(); t.Undone == 0 || rate > 0 && rate < less*t.Wrong || load.ArrivalRate.Known() && load.ArrivalRate.Value == 0 {
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
