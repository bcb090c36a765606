package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Publish replaces the decision series by those of the record. Only the counts of variants that are
// still in the fleet remain from earlier records. agesFrom is the time from which the age of each
// decision counts; a variant that is not in it has no age.
//
// The error names the first variants that lack series: those with a decision that are not in the
// fleet, so that their labels are unknown, and those whose labels equal another's after both were
// cut. It also names models with equal labels. The others are published.
func (m *Metrics) Publish(r memory.Record, agesFrom map[scaling.VariantKey]time.Time) error {
	m.publishing.Lock()
	defer m.publishing.Unlock()

	p := m.press()
	p.plan(r, agesFrom)
	p.cost(r)
	p.predicted(r.Fleet.Variants, r.Analyses)
	p.objectives(r.Objectives)
	p.states(r.Fleet.Variants)
	p.solved(r)
	p.inventory(r.Inventory)
	for _, c := range r.Fleet.Conflicts {
		p.conflict(c)
	}
	for _, s := range r.Snapshots {
		p.saturation(s)
		p.load(s)
		p.learned(s, r.History)
		p.metricsAge(s)
	}
	m.exposition.Store(p.page)
	m.following.keep(r.Fleet.Variants)
	return first(p.faults)
}

// Restore exports the decisions of an earlier process until the first cycle of this one, so that
// the series have no gap. Of the record it uses the variants, the decisions on them and the
// replicas last seen; nothing counts as a change. It has no effect after a cycle was published. The
// error is that of Publish.
func (m *Metrics) Restore(r memory.Record, agesFrom map[scaling.VariantKey]time.Time) error {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	if len(m.exposition.Load().series) > 0 {
		return nil
	}
	p := m.press()
	p.plan(r, agesFrom)
	m.exposition.Store(p.page)
	return first(p.faults)
}

// mostFaults is the largest number of faults that an error names: one namespace could fill the log.
const mostFaults = 12

// first joins the first faults and counts the others.
func first(faults []error) error {
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(faults[:mostFaults:mostFaults], fmt.Errorf("%d more", more))
	}
	return errors.Join(faults...)
}

// press builds a page.
type press struct {
	families map[string]family
	opts     Options
	previous map[scaling.VariantKey]tally
	taken    map[string]bool // the series on the page, by family and labels
	page     *exposition
	faults   []error
}

// press returns a press with an empty page.
func (m *Metrics) press() *press {
	return &press{
		families: m.families,
		opts:     m.opts,
		previous: m.exposition.Load().tally,
		taken:    map[string]bool{},
		page:     &exposition{tally: map[scaling.VariantKey]tally{}},
	}
}

// plan adds the variants of a record and the decisions on them.
func (p *press) plan(r memory.Record, agesFrom map[scaling.VariantKey]time.Time) {
	decided := map[scaling.VariantKey]scaling.Decision{}
	for _, d := range r.Plan.Decisions {
		decided[d.Variant] = d
	}
	for _, v := range r.Fleet.Variants {
		d, ok := decided[v.Key]
		delete(decided, v.Key)
		p.replicas(v, d, ok)
		p.legacyReplicas(v, d, ok)
		p.paused(v)
		p.info(v)
		p.count(v, p.previous[v.Key].next(v, d, ok, isNew(r, v.Key)))
		if ok && !v.Advisory { // an advisory variant holds nothing: another scaler sets its replicas
			p.held(r, v, d)
			p.awaiting(v, d)
		}
		if at, known := agesFrom[v.Key]; ok && known {
			p.since("variant "+v.Key.String(), DecisionAge, at, variant(v.Key)...)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(decided), scaling.VariantKey.Compare) {
		p.faults = append(p.faults, fmt.Errorf("publishing variant %s: not in the fleet", key))
	}
}

// isNew reports whether the decision on a variant got its value in this plan.
func isNew(r memory.Record, key scaling.VariantKey) bool {
	past, ok := r.History[key]
	return ok && past.DecidedAt.Equal(r.Plan.At)
}

// replicas adds the current replicas of the variant and, where there is one, the decision.
func (p *press) replicas(v scaling.Variant, d scaling.Decision, decided bool) {
	if v.Advisory {
		p.advice(v, d, decided)
		return
	}
	if other := v; v.ReadAs != "" { // a scaler asks for the series under this name
		other.Key.Name = v.ReadAs
		p.gauges(v.Key, other, d, decided)
	}
	p.gauges(v.Key, v, d, decided)
	if decided && v.Replicas.Observed {
		p.add(v.Key, ScalingDecision, direction(d.Target(), v.Replicas.Current), variant(v.Key)...)
	}
}

// advice adds the current replicas of the variant and, where there is one, the decision as advice.
// No scaler reads it.
func (p *press) advice(v scaling.Variant, d scaling.Decision, decided bool) {
	labels := p.target(v)
	if v.Replicas.Observed {
		p.add(v.Key, CurrentReplicas, float64(v.Replicas.Current), labels...)
	}
	if decided {
		p.add(v.Key, AdvisedReplicas, float64(d.Target()), labels...)
	}
}

// gauges adds the replica gauges with the labels of v, for the variant with this key.
func (p *press) gauges(key scaling.VariantKey, v scaling.Variant, d scaling.Decision, decided bool) {
	labels, r := p.target(v), v.Replicas
	if r.Observed {
		p.add(key, CurrentReplicas, float64(r.Current), labels...)
	}
	if !decided || v.Withheld {
		return
	}
	p.add(key, DesiredReplicas, float64(d.Target()), labels...)
	if r.Observed {
		p.add(key, DesiredRatio, Ratio(d.Target(), r.Current), labels...)
	}
}

// paused adds whether the annotation paused freezes the decision on the variant.
func (p *press) paused(v scaling.Variant) {
	value := 0.0
	if v.Paused && v.Undecidable == "" {
		value = 1
	}
	p.add(v.Key, Paused, value, variant(v.Key)...)
}

// awaiting adds the number of replicas whose removal waits for approval.
func (p *press) awaiting(v scaling.Variant, d scaling.Decision) {
	if !v.Approval.Required {
		return
	}
	n := scaling.Replicas(0)
	if d.Reduction.Waits() {
		n = d.Reduction.From - d.Reduction.To
	}
	p.add(v.Key, AwaitingApproval, float64(n), variant(v.Key)...)
}

// count adds the changes of the decision so far and keeps them for the next page.
func (p *press) count(v scaling.Variant, t tally) {
	p.page.tally[v.Key] = t
	for _, c := range slices.SortedFunc(maps.Keys(t.changes), change.compare) {
		labels := p.target(v)
		at := len(labels)
		if p.opts.ControllerInstance != "" {
			at-- // the instance is the last label
		}
		labels = slices.Insert(labels, at, c.direction, Label(string(c.reason)))
		p.add(v.Key, ReplicaScaling, t.changes[c], labels...)
	}
	p.legacyCount(v, t)
}

// cost adds the cost of the decided replicas. For an advisory variant the current replicas count.
func (p *press) cost(r memory.Record) {
	fleet := make(map[scaling.VariantKey]scaling.Variant, len(r.Fleet.Variants))
	for _, v := range r.Fleet.Variants {
		fleet[v.Key] = v
	}
	total := 0.0
	for _, d := range r.Plan.Decisions {
		replicas := d.Target()
		if fleet[d.Variant].Advisory {
			replicas = d.Current
		}
		total += float64(replicas) * fleet[d.Variant].Cost
	}
	p.single(PlanCost, total)
}

// conflict adds a target that several variants name, and the resolution for each.
func (p *press) conflict(c scaling.Conflict) {
	winner := c.Contenders[0]
	target := Label(c.Target.Name)
	p.add(winner, TargetConflicts, float64(len(c.Contenders)), target, Label(c.Target.Kind), Label(winner.Namespace))
	p.legacyConflict(c)
	for i, key := range c.Contenders {
		resolution, value := "suppressed", 0.0
		if i == 0 {
			resolution, value = "winner", 1
		}
		p.add(key, ConflictResolution, value, append(variant(key), target, resolution)...)
	}
}

// since adds a series whose value is the time since an instant.
func (p *press) since(subject, name string, instant time.Time, labels ...string) {
	if p.claim(subject, name, labels) {
		p.page.ages = append(p.page.ages, age{name: name, labels: labels, since: instant})
	}
}

// add adds a series of a variant to the page.
func (p *press) add(key scaling.VariantKey, name string, value float64, labels ...string) {
	p.put("variant "+key.String(), name, value, labels...)
}

// put adds a series of any subject to the page.
func (p *press) put(subject, name string, value float64, labels ...string) {
	if p.claim(subject, name, labels) {
		f := p.families[name]
		p.page.series = append(p.page.series, prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...))
	}
}

// claim reports whether the series is not on the page yet. Two equal series would make the whole
// scrape fail, so the second is left out and the error names its subject.
func (p *press) claim(subject, name string, labels []string) bool {
	id := name + "\x00" + strings.Join(labels, "\x00")
	if p.taken[id] {
		p.faults = append(p.faults, fmt.Errorf("publishing %s: %s has these labels already", subject, name))
		return false
	}
	p.taken[id] = true
	return true
}

// target returns the values of the target labels in the catalogue's order.
func (p *press) target(v scaling.Variant) []string {
	by := TargetLabels(v, p.opts.ControllerInstance)
	values := []string{by[LabelVariant], by[LabelTarget], by[LabelTargetKind], by[LabelNamespace], by[LabelAccelerator]}
	if p.opts.ControllerInstance != "" {
		values = append(values, by[LabelControllerInstance])
	}
	return values
}

// variant returns the values of the labels that name a variant.
func variant(key scaling.VariantKey) []string { return []string{Label(key.Name), Label(key.Namespace)} }

// direction returns the sign of desired - current.
func direction(desired, current scaling.Replicas) float64 {
	switch {
	case desired > current:
		return 1
	case desired < current:
		return -1
	default:
		return 0
	}
}

// info adds the model and the accelerator of the variant, and the cost and the accelerators of one
// replica.
func (p *press) info(v scaling.Variant) {
	p.add(v.Key, VariantInfo, 1, append(variant(v.Key), Label(v.Model.ID), Label(v.Accelerator))...)
	p.add(v.Key, ReplicaCost, v.Cost, variant(v.Key)...)
	p.add(v.Key, ReplicaGPUs, float64(v.GPUs(1)), variant(v.Key)...)
}

// states adds the replicas of each target by state.
func (p *press) states(variants []scaling.Variant) {
	for _, v := range variants {
		r := v.Replicas
		if !r.Observed {
			continue
		}
		for _, state := range []struct {
			name     string
			replicas scaling.Replicas
		}{{"ready", r.Ready}, {"starting", r.Pending - r.Unschedulable}, {"unschedulable", r.Unschedulable}} {
			p.add(v.Key, Replicas, float64(state.replicas), append(variant(v.Key), state.name)...)
		}
	}
}

// held adds the reason why a variant does not get the growth that its load needs.
func (p *press) held(r memory.Record, v scaling.Variant, d scaling.Decision) {
	analysis, _ := r.Analysis(d.Part()) // without one its signal is Unknown
	if reason, held := explain.GrowthHeld(v, d, analysis.Signal); held {
		p.add(d.Variant, GrowthHeld, 1, append(variant(d.Variant), Label(string(reason)))...)
	}
}
