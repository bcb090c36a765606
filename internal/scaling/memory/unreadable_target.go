package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// unseenFor is how long a target that cannot be read counts with its last known replicas: longer
// than an API server takes to restart, and shorter than users wait for a model.
const unseenFor = 5 * time.Minute

// Absent reports whether v counts as having no replica, whatever was decided: its target does not
// exist, or for five minutes it could not be read and no pod of it was Ready.
func (h History) Absent(v scaling.Variant, now time.Time) bool {
	since := h[v.Key].UnseenSince
	return v.Gone || !v.Replicas.Observed && !since.IsZero() && now.Sub(since) >= unseenFor
}

// MayServe reports whether v has a Ready replica, or may have one: its target cannot be read, its
// last decision is above 0, and it is not Absent.
func (h History) MayServe(v scaling.Variant, now time.Time) bool {
	if v.Replicas.Observed {
		return v.Replicas.Ready > 0
	}
	return h.LastDesired(v) > 0 && !h.Absent(v, now)
}

// See returns p after a look at now. seen says that the target was read or a pod of it is Ready.
func (p Past) See(seen bool, now time.Time) Past {
	switch {
	case seen:
		p.UnseenSince = time.Time{}
	case p.UnseenSince.IsZero():
		p.UnseenSince = now
	}
	return p
}
