package memory

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// lasting is how long a replica must be Ready until it counts as there. A replica that comes and
// goes counts as missing since it was ordered, or since it was last there.
const lasting = 5 * time.Minute

// Waits holds since when each missing replica of a variant is missing. Replicas are numbered from
// 1, and Ready replicas come first: with 8 of 10 Ready, replicas 9 and 10 are missing. A replica
// that is Ready for less than lasting still counts as missing. The zero value knows no replica. It
// is a value: no method changes it.
type Waits struct {
	// There counts the replicas that have been Ready for lasting or longer.
	There scaling.Replicas `json:"there,omitempty"`
	// Runs are the other replicas in order; each run begins after the one before it.
	Runs []Wait `json:"runs,omitempty"`
}

// Wait is a run of replicas that have been missing since the same time.
type Wait struct {
	// To is the number of its last replica, > that of the run before.
	To    scaling.Replicas `json:"to"`
	Since time.Time        `json:"since"` // when they were ordered, or stopped being Ready
	// WasReady is true for replicas that were there before, false for those that were ordered
	// and have not been there yet.
	WasReady bool `json:"lost,omitempty"`
	// Back is the time since which they are Ready again, zero while they are not.
	Back time.Time `json:"back,omitzero"`
}

// Known reports whether w knows of any replica.
func (w Waits) Known() bool { return w.There > 0 || len(w.Runs) > 0 }

// Then returns w after a look at now that found ready of wanted replicas Ready. Replicas beyond
// those that w knows were ordered at the time ordered.
func (w Waits) Then(wanted, ready scaling.Replicas, ordered, now time.Time) Waits {
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

// exchange returns w after replicas that stopped being Ready at since are Ready again at now. The
// pods that became Ready may be newly ordered ones instead. So as many ordered replicas count as
// arrived, and as many that are still missing count as those that were Ready before.
func (w Waits) exchange(since, now time.Time) Waits {
	returned := func(r Wait) bool { return r.WasReady && r.Since.Equal(since) && r.Back.Equal(now) }
	ordered := func(r Wait) bool { return !r.WasReady && r.Back.IsZero() && !r.Since.Before(since) }
	n := min(w.count(returned), w.count(ordered))
	toLost := w.turn(n, ordered) // first, since it turns none that the other would
	return toLost.turn(n, returned)
}

// count returns how many replicas are in runs for which ok holds.
func (w Waits) count(ok func(Wait) bool) scaling.Replicas {
	n, last := scaling.Replicas(0), w.There
	for _, r := range w.Runs {
		if ok(r) {
			n += r.To - last
		}
		last = r.To
	}
	return n
}

// turn returns w with WasReady inverted for the first n replicas of the runs for which ok holds.
func (w Waits) turn(n scaling.Replicas, ok func(Wait) bool) Waits {
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

// upTo returns w with exactly wanted replicas; added ones were ordered at ordered.
func (w Waits) upTo(wanted scaling.Replicas, ordered time.Time) Waits {
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

// Ordered counts the replicas after the first beyond ones, up to wanted, that were ordered and have
// not been Ready yet.
func (w Waits) Ordered(beyond, wanted scaling.Replicas) scaling.Replicas {
	w = w.upTo(wanted, time.Time{})
	n, last := scaling.Replicas(0), w.There
	for _, r := range w.Runs {
		if !r.WasReady {
			n += max(0, r.To-max(last, beyond))
		}
		last = r.To
	}
	return n
}

// join appends a run, or extends the last one if both are alike.
func join(runs []Wait, r Wait) []Wait {
	if n := len(runs); n > 0 && runs[n-1].Since.Equal(r.Since) && runs[n-1].Back.Equal(r.Back) && runs[n-1].WasReady == r.WasReady {
		runs[n-1].To = r.To
		return runs
	}
	return append(runs, r)
}

// Missing lists the missing replicas, from the first that is not Ready up to wanted, one entry for
// each time since which some are missing. Replicas that w does not know count as ordered at
// otherwise.
func (w Waits) Missing(ready, wanted scaling.Replicas, otherwise time.Time) []Missing {
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

// Missing is a number of replicas that have been missing since the same time.
type Missing struct {
	Replicas scaling.Replicas // >= 1
	Since    time.Time
	WasReady bool // they were Ready before; else they were ordered
}

// Unplaced is the number of replicas of a variant that no node has taken, and since when. The zero
// value is none. It is a value: no method changes it.
type Unplaced struct {
	Replicas scaling.Replicas `json:"replicas"`
	Since    time.Time        `json:"since"`  // when the wait began
	Cycles   int              `json:"cycles"` // cycles since then, that one included, >= 1
}

// Then returns u updated at now by the number of replicas that no node takes. A smaller number
// keeps the time; a larger one begins a new wait, since the added replicas are new.
func (u Unplaced) Then(replicas scaling.Replicas, now time.Time) Unplaced {
	switch {
	case replicas <= 0:
		return Unplaced{}
	case replicas > u.Replicas:
		return Unplaced{Replicas: replicas, Since: now, Cycles: 1}
	}
	return Unplaced{Replicas: replicas, Since: u.Since, Cycles: u.Cycles + 1}
}
