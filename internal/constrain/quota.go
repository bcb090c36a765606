package constrain

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// holder is a namespace and a type of accelerator.
type holder struct{ namespace, accelerator string }

// quotas are the accelerators that namespaces own, and those that they use. The
// quotas of one type make up a pool: what its owner leaves idle others may borrow.
type quotas struct {
	own  map[holder]int
	used map[holder]int
	pool map[string]int // owned in all, by type
	out  map[string]int // used in all by namespaces with a quota, by type
}

func newQuotas(list []scaling.Quota) *quotas {
	q := &quotas{own: map[holder]int{}, used: map[holder]int{}, pool: map[string]int{}, out: map[string]int{}}
	for _, each := range list {
		h := holder{each.Namespace, each.Accelerator}
		q.pool[each.Accelerator] += max(0, each.GPUs) - q.own[h]
		q.own[h] = max(0, each.GPUs)
	}
	return q
}

// use adds accelerators to those in use, or takes them away.
func (q *quotas) use(h holder, gpus int) {
	q.used[h] += gpus
	if _, limited := q.own[h]; limited {
		q.out[h.accelerator] += gpus
	}
}

// owned reports whether so many more are within what the namespace owns, or
// nothing limits it.
func (q *quotas) owned(h holder, gpus int) bool {
	own, limited := q.own[h]
	return !limited || q.used[h]+gpus <= own
}

// left reports whether the pool of the type has so many more.
func (q *quotas) left(h holder, gpus int) bool {
	_, limited := q.own[h]
	return !limited || q.out[h.accelerator]+gpus <= q.pool[h.accelerator]
}

// borrows reports whether the namespace uses more than it owns.
func (q *quotas) borrows(h holder) bool {
	own, limited := q.own[h]
	return limited && q.used[h] > own
}
