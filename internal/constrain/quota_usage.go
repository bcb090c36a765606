package constrain

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// holder is a namespace and a type of accelerator.
type holder struct{ namespace, accelerator string }

// quotas are the accelerators that namespaces own and those that they use. The quotas of
// one type make up a pool: other namespaces may borrow what the owner leaves idle.
type quotas struct {
	own  map[holder]scaling.Accelerators
	used map[holder]scaling.Accelerators
	held map[holder]scaling.Accelerators // of used: of replicas with a pod, or room for one
	pool map[string]scaling.Accelerators // owned in all, by type
	out  map[string]scaling.Accelerators // used in all by namespaces with a quota, by type
}

// mostOwned bounds a quota, so that sums of quotas stay within an int.
const mostOwned = 1 << 40

func newQuotas(list []scaling.Quota) *quotas {
	q := &quotas{own: map[holder]scaling.Accelerators{}, used: map[holder]scaling.Accelerators{}, held: map[holder]scaling.Accelerators{}, pool: map[string]scaling.Accelerators{}, out: map[string]scaling.Accelerators{}}
	for _, each := range list {
		h := holder{each.Namespace, each.Accelerator}
		own := min(max(0, each.GPUs), mostOwned)
		q.pool[each.Accelerator] += own - q.own[h]
		q.own[h] = own
	}
	return q
}

// use adds accelerators to those in use, and says how many of them are held. Accelerators in use
// but not held count in the pool only up to the namespace's own quota.
func (q *quotas) use(h holder, gpus, held scaling.Accelerators) {
	before := q.ofPool(h)
	q.used[h] += gpus
	q.held[h] += held
	q.out[h.accelerator] += q.ofPool(h) - before
}

// ofPool returns how much a namespace uses of the pool of a type, 0 without a quota.
func (q *quotas) ofPool(h holder) scaling.Accelerators {
	own, limited := q.own[h]
	if !limited {
		return 0
	}
	return max(q.held[h], min(q.used[h], own))
}

// owned reports whether so many more accelerators are within the namespace's own quota, or
// no quota limits them.
func (q *quotas) owned(h holder, gpus scaling.Accelerators) bool {
	own, limited := q.own[h]
	return !limited || q.used[h]+gpus <= own
}

// left reports whether the pool of the type has so many more, or no quota limits the namespace.
func (q *quotas) left(h holder, gpus scaling.Accelerators) bool {
	_, limited := q.own[h]
	return !limited || q.out[h.accelerator]+gpus <= q.pool[h.accelerator]
}
