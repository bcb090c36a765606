package model

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// surplusBeyond is the multiple of the largest demand of the last hour that is no surplus: a load
	// grows beyond what was seen, and the speed of a replica is not known for sure.
	surplusBeyond = 2
	// surplusMost is the largest part of the Ready replicas that is given up at once: the others get
	// half as much load again, and show how they do, before more are given up.
	surplusMost = 1.0 / 3
)

// surplus returns the part of the Ready replicas that twice the largest demand of the last hour did
// not need, 0 to surplusMost, by the analysis that decides foremost. It is 0 while unknown, and where
// the analysis wants no reduction. A fleet has a surplus after a first order by a profile that
// promised far too little, say, and not after a peak of the load: what stays of a peak is insurance,
// since loads come back.
func surplus(a scaling.Analysis, peaks memory.Peaks) float64 {
	most, known := peaks.Most()
	if !known || a.Signal != scaling.Shrink || a.Unit != peaks.Unit || !(a.Supply > 0) {
		return 0
	}
	return min(surplusMost, max(0, 1-surplusBeyond*most/a.Supply))
}

// moved reports whether the last growth of a variant was a move to cheaper replicas. Such a fleet is
// too large by design, until the dearer replicas have gone, and only those are to go.
func moved(in Input) bool {
	return slices.ContainsFunc(in.Snapshot.Variants, func(v scaling.Variant) bool { return in.History[v.Key].MoveTo > 0 })
}
