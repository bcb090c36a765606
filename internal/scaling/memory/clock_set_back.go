package memory

import (
	"slices"
	"time"
)

// At returns p as it is remembered at now. A time after now was recorded before the clock was set
// back, by a correction or by the resumption of a machine. Its age is unknown; waiting until the
// clock reaches it would hold a decision for as long as the clock was wrong.
//
//	a single time       becomes the instant before now: a wait since then begins anew
//	a wanted number     the same: it was wanted until then at the latest
//	an idle time        is forgotten if it begins after now, else it ends at now
//	arrivals            are forgotten if the last is after now: their distances are unknown
//
// So nothing is held longer than its configured period, counted from the step of the clock. A zero
// time stays zero.
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

// before returns t, or the instant before now if t is later than now. It is not now itself, because
// the remembered event did not happen in the present cycle.
func before(t, now time.Time) time.Time {
	if t.After(now) {
		return now.Add(-time.Nanosecond)
	}
	return t
}

// at returns w as it is remembered at now; see Past.At.
func (w Wants) at(now time.Time) Wants {
	w.Most, w.Least = slices.Clone(w.Most), slices.Clone(w.Least)
	for _, list := range [][]Want{w.Most, w.Least} {
		for i := range list {
			list[i].Until = before(list[i].Until, now)
		}
	}
	return w
}

// at returns w as it is remembered at now; see Past.At.
func (w Waits) at(now time.Time) Waits {
	w.Runs = slices.Clone(w.Runs)
	for i, r := range w.Runs {
		w.Runs[i].Since, w.Runs[i].Back = before(r.Since, now), before(r.Back, now)
	}
	return w
}

// at returns c as it is remembered at now; see Past.At.
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

// at returns a as it is remembered at now; see Past.At.
func (a Activity) at(now time.Time) Activity {
	if a.IdleSince.After(now) {
		a.IdleSince, a.Until = time.Time{}, time.Time{}
	}
	a.At, a.Seen, a.ReadySince = before(a.At, now), before(a.Seen, now), before(a.ReadySince, now)
	a.Until = before(a.Until, now)
	return a
}

// at returns t as it is remembered at now; see Past.At.
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

// at returns p as it is remembered at now; see Past.At.
func (p Peaks) at(now time.Time) Peaks {
	p.At, p.Of = before(p.At, now), slices.Clone(p.Of)
	for i := range p.Of {
		p.Of[i].Since = before(p.Of[i].Since, now)
	}
	return p
}

// at returns t as it is remembered at now; see Past.At.
func (t Turns) at(now time.Time) Turns {
	t.Reduced, t.Grown = before(t.Reduced, now), before(t.Grown, now)
	t.At, t.Seen, t.Forgot = before(t.At, now), before(t.Seen, now), before(t.Forgot, now)
	return t
}
