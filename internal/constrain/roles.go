package constrain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// RoleDemand is the demand of one role of a model, and the supply of one replica of each variant.
type RoleDemand struct {
	Demand     float64                        // >= 0, in the unit of the analysis that decided
	PerReplica map[scaling.VariantKey]float64 // >= 0, in the same unit
}

// Roles lets prefill and decode of a model change together, since a request needs both:
//
//   - A role does not grow beyond the part of its demand that the other can carry, where bounds,
//     accelerators, quotas, freeze windows or the lack of a candidate limit the other.
//   - A role gives up replicas that are of no use because the other lacks their accelerators.
//   - No role shrinks while the load of the other is unknown, unless the model is idle.
//   - No role loses its last replica while the other has one, nor starts its first while the other
//     has none and gets none. Where both go to zero, prefill goes first.
//
// A minimum of a variant overrides these rules. The stage only takes back changes of the plan and
// gives up replicas, so that it needs no more than earlier stages granted.
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

// role holds the decisions and the demand of one role.
type role struct {
	name    scaling.Role
	members []int // indexes of its decisions
	demand  RoleDemand
	known   bool // whether the demand is known
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

// share returns the supply of the decided replicas of a role over its demand: 1 or more where they
// carry all of it, +Inf without demand.
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

// limit returns what keeps a role from carrying its demand. It returns false where the role carries
// it, one of its variants may still grow, or the demand is unknown.
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

// full returns why a decision cannot have more replicas, "" where it can.
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

// free reports whether a decision may change: neither an annotation nor a freeze window holds it.
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

// reduceTogether takes back the reductions of a role while the load of the other is unknown and the
// model is not idle.
func (m *roles) reduceTogether(activity memory.Activity) {
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

// unknown reports whether a role has decisions, and none of them has an analysis.
func (m *roles) unknown(r *role) bool {
	return len(r.members) > 0 && !slices.ContainsFunc(r.members, func(i int) bool { return !m.decisions[i].Fallback })
}

// bound reports whether a bound, the accelerators that exist or a quota took replicas from a
// decision.
func bound(d scaling.Decision) bool {
	return slices.ContainsFunc(d.Steps, func(s scaling.Step) bool {
		return (s.Stage == scaling.StageBounds || s.Stage == scaling.StageCapacity) && s.To < s.From
	})
}

// growTogether takes back the growth of r beyond the part of its demand that the other role
// carries, where that is limited: the dearest replicas first, and none that was ordered before.
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

// giveUp takes one replica of r that is of no use, because the other role has no accelerator for
// its next replica: with that replica, the other would carry no more of its demand than r without
// its own.
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

// canGiveUp reports whether the variant of a decision may give up a replica whose accelerators
// suffice for a replica of wants.
func (m *roles) canGiveUp(i int, wants scaling.Variant) bool {
	d := m.decisions[i]
	v := m.in.Variants[d.Variant]
	return m.free(i) && !v.Approval.Required && v.Freeze.Allow == "" && v.Accelerator == wants.Accelerator && v.Houses(wants) &&
		d.Target() == d.Current && d.Target() > max(1, v.Bounds.Min)
}

// neverAlone changes the plan where r would have replicas and gone none: one replica of the
// cheapest running variant of gone stays. Where none of gone runs, r starts none.
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
			to = max(to, m.in.History.LastDesired(v)) // to take back an order is a reduction
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

// cheaper reports whether the variant of decision i costs less per replica than that of j; among
// equals the key decides.
func (m *roles) cheaper(i, j int) bool {
	a, b := m.in.Variants[m.decisions[i].Variant], m.in.Variants[m.decisions[j].Variant]
	return cmp.Or(cmp.Compare(a.Cost, b.Cost), a.Key.Compare(b.Key)) < 0
}
