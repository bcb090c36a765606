package collector

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// coverage counts which of a model's Ready pods have a page. The source adds up the numbers of a
// model over its pods, so pods without a page make every sum a lower bound. While these are fewer
// than half, the sums count as fresh, and a reduction takes each of them for full.
type coverage struct {
	// young are the variants whose newest replica became Ready too recently to have a page.
	young    map[scaling.VariantKey]bool
	freshest scaling.Freshness // of the pages
	ready    int               // Ready pods
	missing  int               // Ready pods that should have a Fresh page and have none
	unseen   bool              // a Ready pod is too young to have one
}

// newCoverage returns the coverage of a model without pods, at the given instant. A pod without a
// page does not count as missing for the given grace after it became Ready: a page of that age
// would be Fresh. Only the newest replica of a variant has a known Ready time, so one pod of each
// variant has this grace.
func newCoverage(variants []scaling.Variant, at time.Time, grace time.Duration) coverage {
	s := coverage{young: map[scaling.VariantKey]bool{}}
	for _, v := range variants {
		s.young[v.Key] = v.Replicas.ReadyWithin(at, grace)
	}
	return s
}

// add counts a pod of the model, with its page and the freshness of that.
func (s *coverage) add(pod scaling.Pod, p pageTimes, state scaling.Freshness) {
	s.freshest = max(s.freshest, state)
	if pod.Ready {
		s.ready++
	}
	switch {
	case !pod.Ready || state == scaling.Fresh:
	case p == pageTimes{} && s.young[pod.Variant]:
		s.young[pod.Variant], s.unseen = false, true
	default:
		s.missing++
	}
}

// freshness returns the freshness of all pages as one: that of the freshest page, but Aging at best
// while half of the Ready pods or more are missing.
func (s *coverage) freshness() scaling.Freshness {
	if 2*s.missing >= max(1, s.ready) {
		return min(s.freshest, scaling.Aging)
	}
	return s.freshest
}

// complete reports whether every Ready pod has a Fresh page, so that a number which all of them
// lack is 0.
func (s *coverage) complete() bool {
	return s.freshest == scaling.Fresh && s.missing == 0 && !s.unseen
}
