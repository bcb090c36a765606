package scaling

import (
	"slices"
	"time"
)

// lasting is for how long a replica must be Ready before it counts as there: one
// that comes and goes is still waited for since it was ordered, or lost.
const lasting = 5 * time.Minute

// Waits says for each replica of a variant that is not lastingly Ready since when
// it has been waited for. Replicas are numbered from 1, and those that are Ready
// are always the first: 8 Ready of 10 are replicas 1 to 8, and 9 and 10 are waited
// for. The zero value knows of no replica. It is a value: no method changes it.
type Waits struct {
	// There counts the replicas that have been Ready for long enough.
	There int `json:"there,omitempty"`
	// Runs are the others in order: each the replicas after the run before it.
	Runs []Wait `json:"runs,omitempty"`
}

// Wait is one run of replicas that have been waited for since the same time.
type Wait struct {
	// To is the number of its last replica, > that of the run before.
	To    int       `json:"to"`
	Since time.Time `json:"since"` // when they were ordered, or lost
	// Lost is true of replicas that were there, false of those that were ordered.
	WasReady bool `json:"lost,omitempty"`
	// Back is since when they are Ready, zero while they are not.
	Back time.Time `json:"back,omitzero"`
}

// Known reports whether w knows of any replica.
func (w Waits) Known() bool { return w.There > 0 || len(w.Runs) > 0 }

// Then returns w after a look at now, at which wanted replicas were asked for and
// ready of them were Ready. Replicas beyond those of w are ordered since ordered.
func (w Waits) Then(wanted, ready int, ordered, now time.Time) Waits {
	next := w.upTo(wanted, ordered)
	if lost := next.There; ready < lost {
		next.There = ready
		next.Runs = slices.Insert(next.Runs, 0, Wait{To: lost, Since: now, WasReady: true})
	}
	var runs []Wait
	for _, r := range next.Runs {
		first := next.There + 1
		if len(runs) > 0 {
			first = runs[len(runs)-1].To + 1
		}
		back, gone := r, r
		if back.To = min(r.To, ready); back.To >= first {
			if back.Back.IsZero() {
				back.Back = now
			}
			if len(runs) == 0 && now.Sub(back.Back) >= lasting {
				next.There = back.To
			} else {
				runs = join(runs, back)
			}
		}
		if gone.To > ready {
			gone.Back = time.Time{}
			runs = join(runs, gone)
		}
	}
	next.Runs = runs
	for _, r := range runs {
		if r.WasReady && r.Back.Equal(now) {
			next = next.exchange(r.Since, now)
		}
	}
	return next
}

// exchange returns w after replicas that were lost at since are Ready at now. Those that
// became Ready may as well be replicas that were ordered since then: these are taken
// for the ones that arrived, and as many that are still missing for those that were lost.
func (w Waits) exchange(since, now time.Time) Waits {
	returned := func(r Wait) bool { return r.WasReady && r.Since.Equal(since) && r.Back.Equal(now) }
	ordered := func(r Wait) bool { return !r.WasReady && r.Back.IsZero() && !r.Since.Before(since) }
	n := min(w.count(returned), w.count(ordered))
	toLost := w.turn(n, ordered) // first, since it turns none that the other would
	return toLost.turn(n, returned)
}

// count returns how many replicas are in runs for which ok holds.
func (w Waits) count(ok func(Wait) bool) int {
	n, last := 0, w.There
	for _, r := range w.Runs {
		if ok(r) {
			n += r.To - last
		}
		last = r.To
	}
	return n
}

// turn returns w with Lost the other way round for the first n replicas of the runs for
// which ok holds.
func (w Waits) turn(n int, ok func(Wait) bool) Waits {
	var runs []Wait
	last := w.There
	for _, r := range w.Runs {
		if some := min(n, r.To-last); some > 0 && ok(r) {
			other := r
			other.WasReady, other.To = !r.WasReady, last+some
			runs, n = join(runs, other), n-some
			last = other.To
		}
		if r.To > last {
			runs = join(runs, r)
		}
		last = r.To
	}
	w.Runs = runs
	return w
}

// upTo returns w with exactly so many replicas.
func (w Waits) upTo(wanted int, ordered time.Time) Waits {
	out := Waits{There: min(w.There, wanted)}
	last := out.There
	for _, r := range w.Runs {
		if r.To = min(r.To, wanted); r.To > last {
			out.Runs = append(out.Runs, r)
			last = r.To
		}
	}
	if wanted > last {
		out.Runs = append(out.Runs, Wait{To: wanted, Since: ordered})
	}
	return out
}

// Ordered counts the replicas beyond the first so many, up to wanted, that were ordered and
// have not been there, unlike those that were lost.
func (w Waits) Ordered(beyond, wanted int) int {
	w = w.upTo(wanted, time.Time{})
	n, last := 0, w.There
	for _, r := range w.Runs {
		if !r.WasReady {
			n += max(0, r.To-max(last, beyond))
		}
		last = r.To
	}
	return n
}

// join appends a run, to the last one where they are alike.
func join(runs []Wait, r Wait) []Wait {
	if n := len(runs); n > 0 && runs[n-1].Since.Equal(r.Since) && runs[n-1].Back.Equal(r.Back) && runs[n-1].WasReady == r.WasReady {
		runs[n-1].To = r.To
		return runs
	}
	return append(runs, r)
}

// Missing lists the waits for the replicas after the first ready ones up to wanted,
// each once, with as many replicas as it waits for. Of replicas that w does not know
// the wait is one for an order since otherwise.
func (w Waits) Missing(ready, wanted int, otherwise time.Time) []Missing {
	var out []Missing
	from := max(ready, min(w.There, wanted))
	if n := from - ready; n > 0 { // was there at the last look
		out = append(out, Missing{Replicas: n, Since: otherwise, WasReady: true})
	}
	for _, r := range w.Runs {
		if to := min(r.To, wanted); to > from {
			out = append(out, Missing{Replicas: to - from, Since: r.Since, WasReady: r.WasReady})
			from = to
		}
	}
	if wanted > from {
		out = append(out, Missing{Replicas: wanted - from, Since: otherwise})
	}
	return out
}

// Missing is a number of replicas that are waited for.
type Missing struct {
	Replicas int // >= 1
	Since    time.Time
	WasReady bool // they were there; else they were ordered
}
