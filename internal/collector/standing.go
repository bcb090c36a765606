package collector

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// standing is how far the numbers of a model may be trusted. They are added up
// over its pods by the source, so that pods that are out of reach make all of
// them a lower bound. While they are the lesser part, what is decided allows for
// them: each counts as full for a reduction.
type standing struct {
	// young are the variants whose newest replica became Ready too short a time
	// ago to have a page.
	young    map[scaling.VariantKey]bool
	freshest scaling.Freshness // of the pages
	ready    int               // Ready pods
	missing  int               // those that should have a Fresh page and have none
	unseen   bool              // a Ready pod is too young to have one
}

// newStanding returns the standing of a model before any of its pods is known,
// at the given instant. A pod need not have a page for the given grace after it
// became Ready: a page as old as that would be Fresh, so what such a pod might say
// is not missed yet, silent or not. Its own sample has no readings meanwhile. When
// a pod became Ready is told of the newest replica of a variant only, so of the
// pods of a variant that were never scraped one is forgiven.
func newStanding(variants []scaling.Variant, at time.Time, grace time.Duration) standing {
	s := standing{young: map[scaling.VariantKey]bool{}}
	for _, v := range variants {
		newest := v.Replicas.NewestReady
		s.young[v.Key] = !newest.IsZero() && at.Sub(newest) < grace
	}
	return s
}

// add takes a pod of the model into account, with its page and how far that may
// be trusted.
func (s *standing) add(pod scaling.Pod, p page, state scaling.Freshness) {
	s.freshest = max(s.freshest, state)
	if pod.Ready {
		s.ready++
	}
	switch {
	case !pod.Ready || state == scaling.Fresh:
	case p == page{} && s.young[pod.Variant]:
		s.young[pod.Variant], s.unseen = false, true
	default:
		s.missing++
	}
}

// page returns the state of the pages as if they were one.
func (s *standing) page() scaling.Freshness {
	if 2*s.missing >= max(1, s.ready) {
		return min(s.freshest, scaling.Aging)
	}
	return s.freshest
}

// whole reports whether every Ready pod has a Fresh page, so that what all of
// them leave out has not happened.
func (s *standing) whole() bool {
	return s.freshest == scaling.Fresh && s.missing == 0 && !s.unseen
}
