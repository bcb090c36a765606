package scaling

import "time"

// unseenFor is for how long a target that cannot be read is taken to have the
// replicas that it had: longer than an API server takes to restart, and shorter
// than anybody who waits for a model puts up with.
const unseenFor = 5 * time.Minute

// Absent reports whether v counts for no replica, whatever was decided: its target
// does not exist, or for five minutes neither could it be read nor was a pod of it
// Ready.
func (h History) Absent(v Variant, now time.Time) bool {
	since := h[v.Key].UnseenSince
	return v.Gone || !v.Replicas.Observed && !since.IsZero() && now.Sub(since) >= unseenFor
}

// MayServe reports whether v has a Ready replica, or may have: its target cannot be
// read, it was decided to have replicas, and it is not Absent.
func (h History) MayServe(v Variant, now time.Time) bool {
	if v.Replicas.Observed {
		return v.Replicas.Ready > 0
	}
	return h.LastDesired(v) > 0 && !h.Absent(v, now)
}

// See returns p after a look at now. Seen says whether the target was read or a
// pod of it is Ready.
func (p Past) See(seen bool, now time.Time) Past {
	switch {
	case seen:
		p.UnseenSince = time.Time{}
	case p.UnseenSince.IsZero():
		p.UnseenSince = now
	}
	return p
}
