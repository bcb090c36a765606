package scaling

import (
	"math"
	"time"
)

const (
	// turnWithin is for how long growth at the same load says that the reduction
	// before it was wrong. Later the requests are others.
	turnWithin = 6 * time.Hour
	// turnHolds is for how long a fleet that was too small for a load is not tried
	// again at that load.
	turnHolds = 8 * time.Hour
	// loadFades is how long it takes the load of before to count e times less in the
	// mean, and turnJudged how long after growth the mean tells whether the load had
	// grown too.
	loadFades  = 10 * time.Minute
	turnJudged = 2 * loadFades
	// sameLoad is by how much a mean load may have grown that is still the same.
	sameLoad = 0.1
	// lessLoad is the part of a load below which it is another one, for which a smaller
	// fleet may do, and lessNeed that of what the load fills, which scatters more.
	lessLoad, lessNeed = 0.9, 0.75
	// turnWait is for how long a fleet rests after its first turn; each further one doubles
	// it, up to turnWaitMost. After turnForget one turn less counts, of turnsAtMost.
	turnWait, turnWaitMost = time.Hour, 8 * time.Hour
	turnForget             = 24 * time.Hour
	turnsAtMost            = 4
)

// Turns is what is remembered of a model of which a reduction was undone by growth
// although the load was no more than before: the fleet that the reduction left was too
// small for it. The zero value remembers nothing. It is a value: no method changes it.
type Turns struct {
	// Load is what arrived in the mean of the last minutes, tokens/s, prompts and answers,
	// and Need the cost per hour of what it filled; 0 while unknown, as they were at Seen.
	Load float64   `json:"load,omitempty"`
	Need float64   `json:"need,omitempty"`
	Seen time.Time `json:"seen,omitzero"`
	// Reduced is when the model last gave up a replica, zero once growth after it was
	// judged. Rate is Load then, Least the least Load since, and Left the cost per hour of
	// the fleet that was left, and Filled is Need then.
	Reduced time.Time `json:"reduced,omitzero"`
	Rate    float64   `json:"rate,omitempty"`
	Least   float64   `json:"least,omitempty"`
	Left    float64   `json:"left,omitempty"`
	Filled  float64   `json:"filled,omitempty"`
	// Grown is when the model first grew after Reduced, zero if it did not.
	Grown time.Time `json:"grown,omitzero"`
	// At is when a reduction was last undone, Wrong and Asked the Load and the Need at
	// which it was wrong, and Few the cost per hour of the fleet that was too small.
	At    time.Time `json:"at,omitzero"`
	Wrong float64   `json:"wrong,omitempty"`
	Asked float64   `json:"asked,omitempty"`
	Few   float64   `json:"few,omitempty"`
	// Undone counts such reductions, one less for each day without one, and Forgot is
	// when that was last taken off.
	Undone int       `json:"undone,omitempty"`
	Forgot time.Time `json:"forgot,omitzero"`
}

// Then returns t after a decision at now by which the replicas of the model changed
// by more (change > 0), by fewer (< 0), or not at all, and cost so much per hour. need
// is the cost per hour of what the load fills, 0 while unknown.
func (t Turns) Then(change int, cost, need float64, load Load, now time.Time) Turns {
	left := math.Exp(-max(0, now.Sub(t.Seen)).Seconds() / loadFades.Seconds())
	t.Load, t.Need = faded(t.Load, load.tokenRate(), left), faded(t.Need, need, left)
	t.Seen, t.Least = now, min(t.Least, t.Load)
	if last := latest(t.At, t.Forgot); t.Undone > 0 && now.Sub(last) >= turnForget {
		t.Undone, t.Forgot = t.Undone-1, last.Add(turnForget)
	}
	if !t.Grown.IsZero() && (change < 0 || now.Sub(t.Grown) >= turnJudged) {
		t = t.judged()
	}
	switch {
	case change < 0:
		t.Reduced, t.Rate, t.Least, t.Left, t.Filled = now, t.Load, t.Load, cost, t.Need
	case change > 0 && !t.Reduced.IsZero() && t.Grown.IsZero():
		t.Grown = now
	}
	return t
}

// faded is a mean in which what was before counts so much, and what is now the rest; what
// is not known, 0, counts for nothing.
func faded(before, now, left float64) float64 {
	switch {
	case !(now > 0):
		return before
	case before == 0:
		return now
	}
	return left*before + (1-left)*now
}

// tokenRate is how many tokens arrive, prompts and answers, tokens/s; 0 while that is
// not known.
func (l Load) tokenRate() float64 {
	if !l.ArrivalRate.Known() || !l.InputTokens.Known() || !l.OutputTokens.Known() {
		return 0
	}
	return l.ArrivalRate.Value * (l.InputTokens.Value + l.OutputTokens.Value)
}

// undone reports whether growth undid the last reduction, as far as is known: the load has
// stayed what it was.
func (t Turns) undone() bool {
	same := t.Rate > 0 && t.Load <= t.Rate*(1+sameLoad) && t.Least >= t.Rate*lessLoad
	return same && !t.Grown.IsZero() && t.Grown.Sub(t.Reduced) <= turnWithin
}

// judged returns t with what growth after a reduction says of it.
func (t Turns) judged() Turns {
	if t.undone() {
		t.At, t.Wrong, t.Asked, t.Few = t.Grown, t.Rate, t.Filled, t.Left
		t.Undone = min(t.Undone+1, turnsAtMost)
	}
	t.Reduced, t.Grown = time.Time{}, time.Time{}
	return t
}

// Rests reports whether nothing is given up at now, since a reduction at this load was
// undone lately, or may have been.
func (t Turns) Rests(load Load, now time.Time) bool {
	none := load.ArrivalRate.Known() && load.ArrivalRate.Value == 0
	if t.undone() {
		return !none
	}
	wait := min(turnWaitMost, turnWait<<max(0, t.Undone-1))
	return !none && t.Undone > 0 && now.Sub(t.At) < wait && t.Load >= lessLoad*t.Wrong
}

// Margin is the part of a fleet that is to stay free after a reduction, beyond the
// usual, a ratio: a tenth after the first turn, and three after more.
func (t Turns) Margin() float64 {
	return []float64{0, 0.1, 0.3}[min(t.Undone, 2)]
}

// TooFew is the cost per hour of a fleet that was lately too small for the load of now,
// and since when that is known; 0 where none is known.
func (t Turns) TooFew(load Load, now time.Time) (cost float64, since time.Time) {
	none := load.ArrivalRate.Known() && load.ArrivalRate.Value == 0
	if !none && t.undone() {
		return t.Left, t.Grown
	}
	if none || t.At.IsZero() || now.Sub(t.At) >= turnHolds || t.Load < lessLoad*t.Wrong || t.Need < lessNeed*t.Asked {
		return 0, time.Time{}
	}
	return t.Few, t.At
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

// Latest returns whichever of the two was seen later.
func (t Turns) Latest(other Turns) Turns {
	if other.Seen.After(t.Seen) {
		return other
	}
	return t
}
