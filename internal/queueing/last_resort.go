package queueing

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// growsWithin is the time, beyond a start-up, in which variants below their maximum should have grown
// to a load. Something holds them if a queue has not fallen for longer: no node, no stock, a quota.
const growsWithin = 10 * time.Minute

// lastResort sizes the variants that get no load because they miss the objectives, each to the best
// that it can do, while a queue does not fall and the other variants do not serve what arrives and
// cannot grow: late requests are better than requests that wait for ever. It returns the variants in
// words, "" for none.
func lastResort(sized []sizing, load load, objective scaling.Objective, options Options, snap scaling.Snapshot, past Memory) string {
	excluded := func(s sizing) bool { return s.infeasible != nil && s.fixed && s.usable }
	serve, needs, patience := 0.0, load.rate+memory.Queue{Waiting: load.backlog, Fill: 1}.Rate(), snap.Window
	for _, s := range sized {
		if excluded(s) {
			continue
		}
		_, current := s.replicas()
		serve += s.rate * current
		if s.rate > 0 && s.variant.Replicas.Current < s.variant.Bounds.Max {
			patience = memory.Lead(snap.Variants, past.Interval) + growsWithin
		}
	}
	if serve >= needs || !queueStands(sized, load, snap, past, patience) {
		return ""
	}
	var serving []string
	for i, s := range sized {
		if excluded(s) {
			s.fixed = false
			sized[i] = relaxed(s, load, raised(s, load, objective, options), options)
			serving = append(serving, s.variant.Key.Name)
		}
	}
	if len(serving) == 0 {
		return ""
	}
	return "; requests wait and the other variants do not grow, so that those serve, too, that miss the objectives: " + first(serving)
}
