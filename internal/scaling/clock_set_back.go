package scaling

import (
	"slices"
	"time"
)

// At returns p as it is remembered at now. A time after now was written down before
// the clock was set back, by a correction or with a machine that was resumed. How
// long ago it was is not known any more; waiting until the clock is there again
// would hold a decision for as long as the clock was wrong.
//
//	a single time       is the instant before now: a wait that began then begins anew
//	a number wanted     the same: it was wanted until then at the latest
//	a quiet             is forgotten where it begins after now, else it ends at now
//	arrivals            are forgotten: how far they lie apart is not known
//
// So nothing is held longer than the period that is configured for it, counted from
// the step of the clock. A time of 0 stays 0.
func (p Past) At(now time.Time) Past {
	p.ModelPast = p.at(now)
	p.DecidedAt = before(p.DecidedAt, now)
	p.ProgressAt, p.WholeAt = before(p.ProgressAt, now), before(p.WholeAt, now)
	p.Waits = p.Waits.at(now)
	p.Failures.At = before(p.Failures.At, now)
	p.Counts.NewestReady = before(p.Counts.NewestReady, now)
	p.Unplaced.Since, p.Podless.Since = before(p.Unplaced.Since, now), before(p.Podless.Since, now)
	p.Wants = p.Wants.at(now)
	p.Busy = p.Busy.at(now)
	p.Called = before(p.Called, now)
	p.Refused = before(p.Refused, now)
	p.UnseenSince = before(p.UnseenSince, now)
	p.Capacity = p.Capacity.at(now)
	p.Fit.At = before(p.Fit.At, now)
	p.Reductions.Reduction.Since = before(p.Reductions.Reduction.Since, now)
	return p
}

// before returns t, or the instant before now where t is later than now. That is not
// now itself: what is remembered did not happen in the cycle that remembers it.
func before(t, now time.Time) time.Time {
	if t.After(now) {
		return now.Add(-time.Nanosecond)
	}
	return t
}

// at is At of a Past, of the numbers wanted.
func (w Wants) at(now time.Time) Wants {
	w.Most, w.Least = slices.Clone(w.Most), slices.Clone(w.Least)
	for _, list := range [][]Want{w.Most, w.Least} {
		for i := range list {
			list[i].Until = before(list[i].Until, now)
		}
	}
	return w
}

// at is At of a Past, of the replicas that are waited for.
func (w Waits) at(now time.Time) Waits {
	w.Runs = slices.Clone(w.Runs)
	for i, r := range w.Runs {
		w.Runs[i].Since, w.Runs[i].Back = before(r.Since, now), before(r.Back, now)
	}
	return w
}

// at is At of a Past, of what a replica holds.
func (c TokenCapacity) at(now time.Time) TokenCapacity {
	c.At, c.Full = before(c.At, now), slices.Clone(c.Full)
	for i, f := range c.Full {
		c.Full[i].Seen = slices.Clone(f.Seen)
		for k, h := range f.Seen {
			c.Full[i].Seen[k].At = before(h.At, now)
		}
	}
	return c
}

// at is At of a Past, of the life of its model.
func (a Activity) at(now time.Time) Activity {
	if a.IdleSince.After(now) {
		a.IdleSince, a.Until = time.Time{}, time.Time{}
	}
	a.At, a.Seen, a.ReadySince = before(a.At, now), before(a.Seen, now), before(a.ReadySince, now)
	a.Until = before(a.Until, now)
	return a
}

// at is At of a Past, of the requests of its model.
func (t Traffic) at(now time.Time) Traffic {
	if n := len(t.Arrivals); n > 0 && t.Arrivals[n-1].At.After(now) {
		t.Arrivals = nil
	}
	t.Lengths.At, t.Footprint.At, t.Shares.At = before(t.Lengths.At, now), before(t.Footprint.At, now), before(t.Shares.At, now)
	t.Means.At, t.Budget.At = before(t.Means.At, now), before(t.Budget.At, now)
	t.Rose = before(t.Rose, now)
	t.Evidence.At, t.Evidence.Blind = before(t.Evidence.At, now), before(t.Evidence.Blind, now)
	return t
}

// at is At of a Past, of the reductions of its model.
func (t Turns) at(now time.Time) Turns {
	t.Reduced, t.Grown = before(t.Reduced, now), before(t.Grown, now)
	t.At, t.Seen, t.Forgot = before(t.At, now), before(t.Seen, now), before(t.Forgot, now)
	return t
}
