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
	// turnRests is for how long the fleet that does is kept after a turn, turnRestsFirst
	// after the first of all. enoughTimes is how many times the fleet before the wrong
	// reduction it may cost.
	turnRests, turnRestsFirst = 8 * time.Hour, time.Hour
	enoughTimes               = 1.25
	// After turnForget one turn less counts, of turnsAtMost.
	turnForget  = 24 * time.Hour
	turnsAtMost = 4
	// lostLeast is the part of a fleet that is lost which makes it another one.
	lostLeast = 0.01
)

// Turns is what is remembered of a model of which a reduction was undone by growth
// although the load was no more than before: the fleet that the reduction left was too
// small for it. The zero value remembers nothing. It is a value: no method changes it.
type Turns struct {
	// Load is what arrived in the mean of the last minutes, tokens/s, prompts and answers,
	// and Need the cost per hour of what it filled; 0 while unknown, as they were at Seen.
	// Cost is that of the replicas decided on then.
	Load float64   `json:"load,omitempty"`
	Need float64   `json:"need,omitempty"`
	Cost float64   `json:"cost,omitempty"`
	Seen time.Time `json:"seen,omitzero"`
	// Reduced is when the model last gave up a replica, zero once growth after it was
	// judged. Rate is Load then, Least the least Load since, Before the cost per hour of the
	// fleet before and Left of the one that was left, Serves that of its replicas that were
	// Ready, and Filled is Need then.
	Reduced time.Time `json:"reduced,omitzero"`
	Rate    float64   `json:"rate,omitempty"`
	Least   float64   `json:"least,omitempty"`
	Before  float64   `json:"before,omitempty"`
	Left    float64   `json:"left,omitempty"`
	Serves  float64   `json:"serves,omitempty"`
	Filled  float64   `json:"filled,omitempty"`
	// Grown is when the model first grew after Reduced, zero if it did not, and Again the
	// most that the fleet cost per hour from then until that was judged.
	Grown time.Time `json:"grown,omitzero"`
	Again float64   `json:"again,omitempty"`
	// At is when a reduction was last undone, Wrong and Asked the Load and the Need at
	// which it was wrong, Few the cost per hour of the fleet that was too small, and Enough
	// of the one that does.
	At     time.Time `json:"at,omitzero"`
	Wrong  float64   `json:"wrong,omitempty"`
	Asked  float64   `json:"asked,omitempty"`
	Few    float64   `json:"few,omitempty"`
	Enough float64   `json:"enough,omitempty"`
	// Undone counts such reductions, one less for each day without one, and Forgot is
	// when that was last taken off.
	Undone int       `json:"undone,omitempty"`
	Forgot time.Time `json:"forgot,omitzero"`
}

// Resize is what a cycle decided about the replicas of a model.
type Resize struct {
	Change int     // > 0 where it grows, < 0 where it gives replicas up, 0 where it does neither
	Moves  bool    // to cheaper variants, which is no growth
	Cost   float64 // per hour of the replicas that are decided on
	Ready  float64 // the same of those of them that are Ready
	Need   float64 // the same of what the load fills, 0 while unknown
}

// Then returns t after a decision at now under a load. Growth says nothing of a reduction
// where the fleet that it left is another one by then: replicas moved, or were lost.
func (t Turns) Then(r Resize, load Load, now time.Time) Turns {
	t = t.seen(r.Need, load, now)
	if last := latest(t.At, t.Forgot); t.Undone > 0 && now.Sub(last) >= turnForget {
		t.Undone, t.Forgot = t.Undone-1, last.Add(turnForget)
	}
	if !t.Grown.IsZero() && (r.Change < 0 || now.Sub(t.Grown) >= turnJudged) {
		t = t.judged()
	}
	switch {
	case r.Change < 0:
		t.Reduced, t.Rate, t.Least, t.Filled = now, t.Load, t.Load, t.Need
		t.Before, t.Left, t.Serves = t.Cost, r.Cost, r.Ready
	case t.Grown.IsZero() && (r.Moves || r.Change > 0 && r.Ready < t.Serves*(1-lostLeast)):
		t.Reduced = time.Time{}
	case r.Change > 0:
		t = t.grown(r.Cost, now)
	}
	t.Cost = r.Cost
	return t
}

// grown returns t after growth to a fleet of a cost, the largest of which counts.
func (t Turns) grown(cost float64, now time.Time) Turns {
	switch {
	case !t.Grown.IsZero():
		t.Again = max(t.Again, cost)
	case !t.Reduced.IsZero():
		t.Grown, t.Again = now, cost
	}
	return t
}

// seen returns t with the means brought up to a load at now and what it fills.
func (t Turns) seen(need float64, load Load, now time.Time) Turns {
	left := math.Exp(-max(0, now.Sub(t.Seen)).Seconds() / loadFades.Seconds())
	if rate, known := load.tokenRate(); known {
		t.Load = faded(t.Load, rate, left)
	}
	if need > 0 {
		t.Need = faded(t.Need, need, left)
	}
	t.Seen, t.Least = now, min(t.Least, t.Load)
	return t
}

// faded is a mean in which what was before counts so much, and what is now the rest.
func faded(before, now, left float64) float64 {
	if before == 0 {
		return now
	}
	return left*before + (1-left)*now
}

// tokenRate is how many tokens arrive, prompts and answers, tokens/s, and whether that
// is known.
func (l Load) tokenRate() (rate float64, known bool) {
	switch {
	case l.ArrivalRate.Known() && l.ArrivalRate.Value == 0:
		return 0, true
	case !l.ArrivalRate.Known() || !l.InputTokens.Known() || !l.OutputTokens.Known():
		return 0, false
	}
	return l.ArrivalRate.Value * (l.InputTokens.Value + l.OutputTokens.Value), true
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
		t.At, t.Wrong, t.Asked, t.Few, t.Enough = t.Grown, t.Rate, t.Filled, t.Left, t.enough()
		t.Undone = min(t.Undone+1, turnsAtMost)
	}
	t.Reduced, t.Grown = time.Time{}, time.Time{}
	return t
}

// enough is the cost per hour of the fleet that does for the load at which growth undid a
// reduction: the one before it, and some of what growth brought beyond that.
func (t Turns) enough() float64 {
	if t.Before == 0 {
		return t.Again
	}
	return max(t.Before, min(t.Again, enoughTimes*t.Before))
}

// Keeps returns the cost per hour of the fleet that is kept at now, since a reduction at
// this load was undone lately, or may have been; 0 where none is.
func (t Turns) Keeps(load Load, now time.Time) float64 {
	rest := turnRests
	if t.Undone == 1 && t.Forgot.IsZero() {
		rest = turnRestsFirst
	}
	switch none := load.ArrivalRate.Known() && load.ArrivalRate.Value == 0; {
	case none:
		return 0
	case t.undone():
		return t.enough()
	case t.Undone > 0 && now.Sub(t.At) < rest && t.Load >= lessLoad*t.Wrong && t.Load <= t.Wrong*(1+sameLoad):
		return t.Enough
	}
	return 0
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
	// Early says that the start-up of the variant was not known at the last.
	Early bool `json:"early,omitempty"`
}

const (
	failureWait     = time.Hour // after the first; each further one doubles it
	failureWaitMost = 24 * time.Hour
	failuresAtMost  = 6
)

// FewFail is the part of the replicas that serve up to which others may fail to start
// without a word about the next order: a few bad nodes must not pin a variant.
const FewFail = 0.1

// Then returns f after an order of v at now of which so many replicas were cancelled.
func (f Failures) Then(v Variant, cancelled Replicas, now time.Time) Failures {
	if float64(cancelled) <= FewFail*float64(v.Replicas.Ready) {
		return f
	}
	return Failures{Count: min(f.Count+1, failuresAtMost), At: now, Early: v.StartUp <= 0}
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
