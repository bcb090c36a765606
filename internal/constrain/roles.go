package constrain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// RoleDemand is what one role of a model has to carry, and what one replica of each variant carries.
type RoleDemand struct {
	Demand     float64                        // >= 0, in the unit of the analysis that decided
	PerReplica map[scaling.VariantKey]float64 // >= 0, in the same unit
}

// Roles lets prefill and decode of a model change together, since a request needs both:
//
//   - Neither grows beyond the part of its demand that the other can carry where bounds, accelerators or
//     quotas, freeze windows or the lack of a candidate limit the other.
//   - One gives up replicas that are of no use because the other lacks their accelerators.
//   - Neither is reduced while the load of the other is unknown, unless the model is idle.
//   - Neither has its last replica taken, nor its first one started, while the other differs in that; and
//     to zero decode goes when prefill has gone.
//
// A minimum of a variant goes before. The stage takes back changes of the plan and gives up replicas, so that
// what earlier stages granted is enough.
func Roles(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: slices.Clone(plan.Decisions)}
	models := map[scaling.ModelKey]*roles{}
	for i, d := range out.Decisions {
		if d.Role == "" {
			continue
		}
		m := models[d.Model]
		if m == nil {
			m = &roles{in: in, decisions: out.Decisions, prefill: role{name: scaling.RolePrefill}, decode: role{name: scaling.RoleDecode}}
			models[d.Model] = m
		}
		m.of(d.Role).members = append(m.of(d.Role).members, i)
	}
	for key, m := range models { // each changes only its own decisions
		for _, r := range []*role{&m.prefill, &m.decode} {
			r.demand, r.known = in.Roles[scaling.Part{Model: key, Role: r.name}]
		}
		m.reduceTogether(in.Activity[key])
		m.growTogether(&m.prefill, &m.decode)
		m.growTogether(&m.decode, &m.prefill)
		m.giveUp(&m.prefill, &m.decode)
		m.giveUp(&m.decode, &m.prefill)
		m.neverAlone(&m.prefill, &m.decode)
		m.neverAlone(&m.decode, &m.prefill)
		m.decodeLast()
	}
	return out
}

// roles holds the decisions of one model that is served in parts.
type roles struct {
	in              Input
	decisions       []scaling.Decision // of all models
	prefill, decode role
}

// role is one of them.
type role struct {
	name    scaling.Role
	members []int // of the decisions
	demand  RoleDemand
	known   bool // the demand
}

func (m *roles) of(name scaling.Role) *role {
	if name == scaling.RolePrefill {
		return &m.prefill
	}
	return &m.decode
}

// total counts the decided replicas of a role.
func (m *roles) total(r *role) (n scaling.Replicas) {
	for _, i := range r.members {
		n += m.decisions[i].Target()
	}
	return n
}

// share returns the part of its demand that a role carries with the decided replicas, > 1 where more; +Inf
// where there is no demand.
func (m *roles) share(r *role) float64 {
	if r.demand.Demand <= 0 {
		return math.Inf(1)
	}
	carried := 0.0
	for _, i := range r.members {
		carried += float64(m.decisions[i].Target()) * r.demand.PerReplica[m.decisions[i].Variant]
	}
	return carried / r.demand.Demand
}

// limit says what keeps a role from carrying its demand, and false where one of its variants may still grow.
func (m *roles) limit(r *role) (string, bool) {
	if !r.known || m.share(r) >= 1 {
		return "", false
	}
	said := "it has no variant"
	for n, i := range r.members {
		why := m.full(i)
		if why == "" {
			return "", false
		}
		if n == 0 || r.demand.PerReplica[m.decisions[i].Variant] > 0 {
			said = m.decisions[i].Variant.Name + ": " + why
		}
	}
	return said, true
}

// full says why a decision has as many replicas as it may have, "" where it may have more.
func (m *roles) full(i int) string {
	d := m.decisions[i]
	v := m.in.Variants[d.Variant]
	for _, s := range d.Steps {
		limits := s.Stage == scaling.StageBounds || s.Stage == scaling.StageCapacity || s.Stage == scaling.StageSchedule
		if limits && s.To < s.From {
			return s.Detail
		}
	}
	switch {
	case v.Paused:
		return "its decision is frozen"
	case d.Target() >= v.Bounds.Max:
		return fmt.Sprintf("its maximum is %d", v.Bounds.Max)
	case d.Cause().Reason == scaling.ReasonNoCandidate:
		return d.Cause().Detail
	}
	return ""
}

// free reports whether a decision may be changed: neither an annotation nor a freeze window holds it.
func (m *roles) free(i int) bool {
	v := m.in.Variants[m.decisions[i].Variant]
	return !v.Paused && v.Freeze.Allow != scaling.AllowNone
}

// runs reports whether the variant of a decision has a replica that may stay.
func (m *roles) runs(i int) bool {
	d := m.decisions[i]
	return d.Current > 0 && m.free(i) && m.in.Variants[d.Variant].Bounds.Max > 0 && !bound(d)
}

// change adds a step to a decision.
func (m *roles) change(i int, to scaling.Replicas, detail string) {
	m.decisions[i] = m.decisions[i].Then(scaling.StageRoles, to, scaling.ReasonOtherRole, detail)
}

// reduceTogether takes back the reductions of a role while the load of the other is unknown.
func (m *roles) reduceTogether(activity scaling.Activity) {
	if activity.Life == scaling.LifeIdle || m.unknown(&m.prefill) == m.unknown(&m.decode) {
		return
	}
	unknown, other := &m.prefill, &m.decode
	if m.unknown(&m.decode) {
		unknown, other = other, unknown
	}
	for _, i := range other.members {
		d := m.decisions[i]
		v := m.in.Variants[d.Variant]
		if !m.free(i) {
			continue
		}
		keep := min(d.Current, m.in.History.LastDesired(v), v.Bounds.Max)
		if d.Target() < keep && !bound(d) {
			m.change(i, keep, fmt.Sprintf("the load of %s is unknown, and a request needs both roles: %s is not reduced", unknown.name, other.name))
		}
	}
}

// unknown reports whether no analysis stands behind the decisions of a role.
func (m *roles) unknown(r *role) bool {
	return len(r.members) > 0 && !slices.ContainsFunc(r.members, func(i int) bool { return !m.decisions[i].Fallback })
}

// bound reports whether a bound or the accelerators that exist took replicas from a decision.
func bound(d scaling.Decision) bool {
	return slices.ContainsFunc(d.Steps, func(s scaling.Step) bool {
		return (s.Stage == scaling.StageBounds || s.Stage == scaling.StageCapacity) && s.To < s.From
	})
}

// growTogether takes back the growth of one role beyond what the other, where it is limited, can join:
// the dearest replicas first, and none that was ordered before.
func (m *roles) growTogether(r, other *role) {
	limit, limited := m.limit(other)
	if !limited || !r.known || len(r.members) == 0 {
		return
	}
	most := m.share(other)
	dearest := slices.Clone(r.members)
	slices.SortFunc(dearest, func(a, b int) int {
		v, w := m.in.Variants[m.decisions[a].Variant], m.in.Variants[m.decisions[b].Variant]
		return cmp.Or(cmp.Compare(w.Cost, v.Cost), w.Key.Compare(v.Key))
	})
	excess := (m.share(r) - most) * r.demand.Demand
	for _, i := range dearest {
		d := m.decisions[i]
		if !m.free(i) {
			continue
		}
		v := m.in.Variants[d.Variant]
		floor := max(d.Current, min(d.Target(), m.in.History.LastDesired(v)), v.Bounds.Min)
		each := r.demand.PerReplica[d.Variant]
		to := d.Target()
		for to > floor && each <= excess {
			to, excess = to-1, excess-each
		}
		if to < d.Target() {
			m.change(i, to, fmt.Sprintf("%s can carry %.0f%% of its load (%s), and a request needs both roles: %s grows no further than that",
				other.name, 100*most, limit, r.name))
		}
	}
}

// giveUp takes a replica of r that is of no use, because the other role has no accelerator for its next
// replica: with one more it would still not carry more than r without this one. It takes one at a time.
func (m *roles) giveUp(r, other *role) {
	if !r.known || !other.known || m.share(other) >= 1 {
		return
	}
	for _, x := range other.members {
		short := m.decisions[x]
		if n := len(short.Steps); n == 0 || short.Cause().Reason != scaling.ReasonNoStock {
			continue
		}
		wants := m.in.Variants[short.Variant]
		with := m.share(other) + other.demand.PerReplica[short.Variant]/other.demand.Demand
		for _, i := range r.members {
			d := m.decisions[i]
			without := m.share(r) - r.demand.PerReplica[d.Variant]/max(r.demand.Demand, scaling.Smallest)
			if m.canGiveUp(i, wants) && without >= with {
				m.change(i, d.Target()-1, fmt.Sprintf("%s can carry %.0f%% of its load and has no %s for more, and a request needs both roles: a replica of %s gives up its own",
					other.name, 100*m.share(other), wants.Accelerator, r.name))
				return
			}
		}
	}
}

// canGiveUp reports whether the variant of a decision may give up a replica whose accelerators serve one of wants.
func (m *roles) canGiveUp(i int, wants scaling.Variant) bool {
	d := m.decisions[i]
	v := m.in.Variants[d.Variant]
	return m.free(i) && !v.Approval.Required && v.Freeze.Allow == "" && v.Accelerator == wants.Accelerator && v.Houses(wants) &&
		d.Target() == d.Current && d.Target() > max(1, v.Bounds.Min)
}

// neverAlone lets no role have replicas while the other, gone, has none: what the plan takes last of gone
// stays, and where gone has none, the plan starts none of r.
func (m *roles) neverAlone(r, gone *role) {
	if m.total(r) == 0 || m.total(gone) > 0 || len(gone.members) == 0 {
		return
	}
	stays := -1
	for _, i := range gone.members {
		if m.runs(i) && (stays < 0 || m.cheaper(i, stays)) {
			stays = i
		}
	}
	if stays >= 0 {
		m.change(stays, 1, fmt.Sprintf("%s has replicas, and a request needs both roles: one replica of %s stays", r.name, gone.name))
		return
	}
	for _, i := range r.members {
		d := m.decisions[i]
		v := m.in.Variants[d.Variant]
		to := max(d.Current, v.Bounds.Min)
		if v.Freeze.Allow != "" || v.Approval.Required {
			to = max(to, m.in.History.LastDesired(v)) // an order that is taken back is a reduction
		}
		if d.Target() > to && m.free(i) {
			m.change(i, to, fmt.Sprintf("%s has no replica and gets none, and a request needs both roles: %s starts none", gone.name, r.name))
		}
	}
}

// decodeLast keeps one replica of decode until prefill has none, where both go to zero.
func (m *roles) decodeLast() {
	if m.total(&m.prefill) > 0 || m.total(&m.decode) > 0 {
		return
	}
	stays := -1
	for _, i := range m.decode.members {
		if m.runs(i) && (stays < 0 || m.cheaper(i, stays)) {
			stays = i
		}
	}
	if stays >= 0 && slices.ContainsFunc(m.prefill.members, func(i int) bool { return m.decisions[i].Current > 0 }) {
		m.change(stays, 1, "prefill goes to zero first, and decode when prefill has no replica")
	}
}

// cheaper orders decisions by the cost of a replica of their variant, and name.
func (m *roles) cheaper(i, j int) bool {
	a, b := m.in.Variants[m.decisions[i].Variant], m.in.Variants[m.decisions[j].Variant]
	return cmp.Or(cmp.Compare(a.Cost, b.Cost), a.Key.Compare(b.Key)) < 0
}
