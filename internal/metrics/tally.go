package metrics

import (
	"cmp"
	"maps"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// tally holds the counts of one variant. It is never modified.
type tally struct {
	known   bool // whether desired is known
	desired scaling.Replicas
	changes map[change]float64
}

// change is one kind of change of a decision.
type change struct {
	direction string
	reason    scaling.Reason
}

// compare orders changes by direction, then reason.
func (c change) compare(o change) int {
	return cmp.Or(cmp.Compare(c.direction, o.direction), cmp.Compare(c.reason, o.reason))
}

// next returns the tally after one more cycle. A change is a target that differs from the one
// before. Where none is known (a new variant, a new leader), a decision that is new in this cycle
// is compared with the current replicas; the earlier process has counted one that is older.
func (t tally) next(v scaling.Variant, d scaling.Decision, decided, isNew bool) tally {
	switch {
	case v.Advisory:
		return tally{changes: t.changes} // advice changes nothing
	case !decided:
		return t
	}
	from := t.desired
	if !t.known {
		from = d.Target()
		if isNew && v.Replicas.Observed {
			from = v.Replicas.Current
		}
	}
	to := tally{known: true, desired: d.Target(), changes: t.changes}
	if from == to.desired {
		return to
	}
	c := change{direction: "up", reason: d.Cause().Reason}
	if to.desired < from {
		c.direction = "down"
	}
	to.changes = maps.Clone(t.changes)
	if to.changes == nil {
		to.changes = map[change]float64{}
	}
	to.changes[c]++
	return to
}
