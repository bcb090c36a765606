package memory

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// turnWithin is the time after a reduction in which growth at the same load shows that it was
	// wrong. Later, requests differ.
	turnWithin = 6 * time.Hour
	// turnHolds is how long a fleet that was too small for a load is not tried again at that load.
	turnHolds = 8 * time.Hour
	// loadFades is the time in which the weight of the earlier load falls by a factor e in the
	// mean. turnJudged is the time after growth at which the mean tells whether the load had grown
	// too.
	loadFades  = 10 * time.Minute
	turnJudged = 2 * loadFades
	// sameLoad is the largest growth of a mean load, a ratio, that counts as the same load.
	sameLoad = 0.1
	// lessLoad is the part of a load below which it is another load, for which a smaller fleet may
	// do. lessNeed is the same for Need, which scatters more.
	lessLoad, lessNeed = 0.9, 0.75
	// turnRests is how long a sufficient fleet is kept after a turn, turnRestsFirst after the first
	// one. enoughTimes limits its cost, as a multiple of the fleet before the wrong reduction.
	turnRests, turnRestsFirst = 8 * time.Hour, time.Hour
	enoughTimes               = 1.25
	// turnForget is the time after which Undone falls by one, from turnsAtMost at most.
	turnForget  = 24 * time.Hour
	turnsAtMost = 4
	// lostLeast is the part of the Ready replicas' cost whose loss makes a fleet another one.
	lostLeast = 0.01
)

// Turns is the memory of the reductions of a model that growth undid although the load had not
// grown: the reduced fleet was too small for it. The zero value remembers nothing. It is a value:
// no method changes it.
type Turns struct {
	// Load is the mean arrival of tokens in the last minutes, tokens/s, input and output. Need is
	// the mean cost per hour of the replicas that the load fills. Both are means at Seen, 0 while
	// unknown. Cost is the cost per hour of the replicas decided on then.
	Load float64   `json:"load,omitempty"`
	Need float64   `json:"need,omitempty"`
	Cost float64   `json:"cost,omitempty"`
	Seen time.Time `json:"seen,omitzero"`
	// Reduced is when the model last gave up a replica, zero once growth after it was judged. Rate
	// and Filled are Load and Need at that time, Least is the least Load since. Before and Left are
	// the costs per hour of the fleet before and after, Serves that of the Ready replicas after.
	Reduced time.Time `json:"reduced,omitzero"`
	Rate    float64   `json:"rate,omitempty"`
	Least   float64   `json:"least,omitempty"`
	Before  float64   `json:"before,omitempty"`
	Left    float64   `json:"left,omitempty"`
	Serves  float64   `json:"serves,omitempty"`
	Filled  float64   `json:"filled,omitempty"`
	// Grown is when the model first grew after Reduced, zero if it did not. Again is the largest
	// cost per hour of the fleet from then until the growth was judged.
	Grown time.Time `json:"grown,omitzero"`
	Again float64   `json:"again,omitempty"`
	// At is when growth last undid a reduction. Wrong and Asked are the Load and the Need at which
	// the reduction was wrong, Few is the cost per hour of the fleet that was too small, and Enough
	// that of a sufficient one.
	At     time.Time `json:"at,omitzero"`
	Wrong  float64   `json:"wrong,omitempty"`
	Asked  float64   `json:"asked,omitempty"`
	Few    float64   `json:"few,omitempty"`
	Enough float64   `json:"enough,omitempty"`
	// Undone counts such reductions, one less for each day without one. Forgot is when it last
	// fell.
	Undone int       `json:"undone,omitempty"`
	Forgot time.Time `json:"forgot,omitzero"`
}

// Resize is the decision of a cycle about the replicas of a model.
type Resize struct {
	Change int     // > 0 for growth, < 0 for a reduction, else 0
	Moves  bool    // the model moves to cheaper variants, which is no growth
	Cost   float64 // cost per hour of the replicas decided on
	Ready  float64 // cost per hour of those that are Ready
	Need   float64 // cost per hour of the replicas that the load fills, 0 while unknown
}

// Then returns t updated by a decision at now under a load. Growth does not judge a reduction if
// the fleet has changed since: replicas moved, or were lost.
func (t Turns) Then(r Resize, load scaling.Load, now time.Time) Turns {
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

// grown returns t after growth to a fleet with the given cost per hour; the largest one counts.
func (t Turns) grown(cost float64, now time.Time) Turns {
	switch {
	case !t.Grown.IsZero():
		t.Again = max(t.Again, cost)
	case !t.Reduced.IsZero():
		t.Grown, t.Again = now, cost
	}
	return t
}

// seen returns t with the means of the load and of need updated to now.
func (t Turns) seen(need float64, load scaling.Load, now time.Time) Turns {
	left := math.Exp(-max(0, now.Sub(t.Seen)).Seconds() / loadFades.Seconds())
	if rate, known := tokenRate(load); known {
		t.Load = faded(t.Load, rate, left)
	}
	if need > 0 {
		t.Need = faded(t.Need, need, left)
	}
	t.Seen, t.Least = now, min(t.Least, t.Load)
	return t
}

// faded returns the mean of before, with the weight left, and now.
func faded(before, now, left float64) float64 {
	if before == 0 {
		return now
	}
	return left*before + (1-left)*now
}

// tokenRate returns the input and output tokens/s of the arriving requests, and whether they are
// known.
func tokenRate(l scaling.Load) (rate float64, known bool) {
	switch {
	case l.ArrivalRate.Known() && l.ArrivalRate.Value == 0:
		return 0, true
	case !l.ArrivalRate.Known() || !l.InputTokens.Known() || !l.OutputTokens.Known():
		return 0, false
	}
	return l.ArrivalRate.Value * (l.InputTokens.Value + l.OutputTokens.Value), true
}

// undone reports whether growth undid the last reduction while the load stayed the same, as far as
// is known.
func (t Turns) undone() bool {
	same := t.Rate > 0 && t.Load <= t.Rate*(1+sameLoad) && t.Least >= t.Rate*lessLoad
	return same && !t.Grown.IsZero() && t.Grown.Sub(t.Reduced) <= turnWithin
}

// judged returns t after judging the last reduction by the growth after it.
func (t Turns) judged() Turns {
	if t.undone() {
		t.At, t.Wrong, t.Asked, t.Few, t.Enough = t.Grown, t.Rate, t.Filled, t.Left, t.enough()
		t.Undone = min(t.Undone+1, turnsAtMost)
	}
	t.Reduced, t.Grown = time.Time{}, time.Time{}
	return t
}

// enough returns the cost per hour of a sufficient fleet for the load at which growth undid a
// reduction: that of the fleet before the reduction, plus a limited part of the growth beyond it.
func (t Turns) enough() float64 {
	if t.Before == 0 {
		return t.Again
	}
	return max(t.Before, min(t.Again, enoughTimes*t.Before))
}

// Keeps returns the cost per hour of the fleet to keep at now, because growth recently undid a
// reduction at this load, or seems to; 0 for none.
func (t Turns) Keeps(load scaling.Load, now time.Time) float64 {
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

// Margin returns the part of a fleet that must stay free after a reduction, beyond the usual: 0.1
// after the first turn, 0.3 after more.
func (t Turns) Margin() float64 {
	return []float64{0, 0.1, 0.3}[min(t.Undone, 2)]
}

// TooFew returns the cost per hour of a fleet that was recently too small for the present load, and
// since when that is known; zero for none.
func (t Turns) TooFew(load scaling.Load, now time.Time) (cost float64, since time.Time) {
	none := load.ArrivalRate.Known() && load.ArrivalRate.Value == 0
	if !none && t.undone() {
		return t.Left, t.Grown
	}
	if none || t.At.IsZero() || now.Sub(t.At) >= turnHolds || t.Load < lessLoad*t.Wrong || t.Need < lessNeed*t.Asked {
		return 0, time.Time{}
	}
	return t.Few, t.At
}

// Failures counts the orders of a variant that were cancelled because their replicas did not become
// Ready in time. The zero value is none. It is a value: no method changes it.
type Failures struct {
	Count int       `json:"count,omitempty"`
	At    time.Time `json:"at,omitzero"` // of the last
	// Early says that the start-up of the variant was unknown at the last failure.
	Early bool `json:"early,omitempty"`
}

const (
	failureWait     = time.Hour // after the first failure; each further one doubles it
	failureWaitMost = 24 * time.Hour
	failuresAtMost  = 6
)

// FewFail is the number of failed replicas, as a part of the Ready ones, that does not count as a
// failure: a few bad nodes must not block a variant.
const FewFail = 0.1

// Then returns f after an order of v was cancelled at now for the given number of replicas.
func (f Failures) Then(v scaling.Variant, cancelled scaling.Replicas, now time.Time) Failures {
	if float64(cancelled) <= FewFail*float64(v.Replicas.Ready) {
		return f
	}
	return Failures{Count: min(f.Count+1, failuresAtMost), At: now, Early: v.StartUp <= 0}
}

// Recent reports whether the variant should not be tried again at now, if another can serve as
// well.
func (f Failures) Recent(now time.Time) bool { return now.Before(f.Until()) }

// Until returns until when the failures are recent; the zero time for none.
func (f Failures) Until() time.Time {
	if f.Count == 0 {
		return time.Time{}
	}
	return f.At.Add(min(failureWaitMost, failureWait<<(f.Count-1)))
}

// Patience returns how long to wait for an ordered replica of v, as v.Patience does. While the
// start-up of v is unknown it doubles with each order that failed, up to LongestStartUp: the last
// orders may only have been given up too early, and no start-up is measured on replicas that go.
func (p Past) Patience(v scaling.Variant, startUps float64) time.Duration {
	if v.StartUp > 0 || !p.Failures.Early {
		return v.Patience(startUps)
	}
	return min(LongestStartUp, v.Patience(startUps)<<p.Failures.Count)
}

// Latest returns t or other, whichever was updated later; of equals, t.
func (t Turns) Latest(other Turns) Turns {
	if other.Seen.After(t.Seen) {
		return other
	}
	return t
}
