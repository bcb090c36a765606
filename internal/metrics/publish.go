package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Publish replaces the decision series by those of the record. Nothing of an
// earlier one remains but the counts of variants that are still in the fleet.
// analyzedAt is when the analysis behind each decision was made; a variant that
// is not in it has no age.
//
// The error names the variants that have no series or not all of them: those
// decided on and not in the fleet, so that their labels are unknown, and those
// whose labels equal another's after both were cut; it names models of which the
// latter is true, too. The others are published.
func (m *Metrics) Publish(r scaling.Record, analyzedAt map[scaling.VariantKey]time.Time) error {
	m.publishing.Lock()
	defer m.publishing.Unlock()

	p := press{
		descs:    m.descs,
		instance: m.instance,
		taken:    map[string]bool{},
		page:     &page{tally: map[scaling.VariantKey]tally{}},
	}
	decided := map[scaling.VariantKey]scaling.Decision{}
	for _, d := range r.Plan.Decisions {
		decided[d.Variant] = d
	}
	previous := m.page.Load().tally
	for _, v := range r.Fleet.Variants {
		d, ok := decided[v.Key]
		delete(decided, v.Key)
		p.replicas(v, d, ok)
		p.count(v, previous[v.Key].next(v, d, ok, isNew(r, v.Key)))
		if at, known := analyzedAt[v.Key]; ok && known {
			p.age(v.Key, at)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(decided), scaling.VariantKey.Compare) {
		p.faults = append(p.faults, fmt.Errorf("publishing variant %s: not in the fleet", key))
	}
	for _, s := range r.Snapshots {
		p.saturation(s)
		p.load(s)
		p.metricsAge(s)
	}
	m.page.Store(p.page)
	return errors.Join(p.faults...)
}

// isNew reports whether the decision on a variant took its value in this plan.
func isNew(r scaling.Record, key scaling.VariantKey) bool {
	past, ok := r.History[key]
	return ok && past.DecidedAt.Equal(r.Plan.At)
}

// press sets a page.
type press struct {
	descs    map[string]*prometheus.Desc
	instance string
	taken    map[string]bool // the series on the page, by family and labels
	page     *page
	faults   []error
}

// replicas adds what the variant runs and, where there is one, the decision.
func (p *press) replicas(v scaling.Variant, d scaling.Decision, decided bool) {
	labels := p.target(v)
	current := v.Replicas.Current
	if v.Replicas.Observed {
		p.add(v.Key, CurrentReplicas, float64(current), labels...)
	}
	if !decided {
		return
	}
	p.add(v.Key, DesiredReplicas, float64(d.Target()), labels...)
	if v.Replicas.Observed {
		p.add(v.Key, DesiredRatio, Ratio(d.Target(), current), labels...)
		p.add(v.Key, ScalingDecision, direction(d.Target(), current), variant(v.Key)...)
	}
}

// count adds the changes of the decision so far and keeps them for the next.
func (p *press) count(v scaling.Variant, t tally) {
	p.page.tally[v.Key] = t
	for _, c := range slices.SortedFunc(maps.Keys(t.changes), change.compare) {
		labels := p.target(v)
		at := len(labels)
		if p.instance != "" {
			at-- // the instance is the last label
		}
		labels = slices.Insert(labels, at, c.direction, Label(string(c.reason)))
		p.add(v.Key, ReplicaScaling, t.changes[c], labels...)
	}
}

// age adds the time at which the analysis behind the decision was made.
func (p *press) age(key scaling.VariantKey, since time.Time) {
	p.since("variant "+key.String(), DecisionAge, since, variant(key)...)
}

// metricsAge adds when the model's replica that was scraped longest ago was.
func (p *press) metricsAge(s scaling.Snapshot) {
	var oldest time.Time
	for _, r := range s.Replicas {
		if !r.At.IsZero() && (oldest.IsZero() || r.At.Before(oldest)) {
			oldest = r.At
		}
	}
	if !oldest.IsZero() {
		p.since("model "+s.Model.String(), MetricsAge, oldest, Label(s.Model.Namespace), Label(s.Model.ID))
	}
}

// since adds a series that counts the time from an instant on.
func (p *press) since(subject, name string, instant time.Time, labels ...string) {
	if p.claim(subject, name, labels) {
		p.page.ages = append(p.page.ages, age{name: name, labels: labels, since: instant})
	}
}

// saturation adds the mean of what the replicas of each variant report.
func (p *press) saturation(s scaling.Snapshot) {
	for _, v := range s.Variants {
		var kv, queue mean
		for _, r := range s.Replicas {
			if r.Variant == v.Key {
				kv.add(r.KVCacheUsage)
				queue.add(r.QueueLength)
			}
		}
		p.addMean(v.Key, "kv_cache", kv)
		p.addMean(v.Key, "queue", queue)
	}
}

// addMean adds a level, if any replica reported.
func (p *press) addMean(key scaling.VariantKey, signal string, m mean) {
	if m.n > 0 {
		p.add(key, SaturationLevel, m.sum/float64(m.n), append(variant(key), signal)...)
	}
}

// load adds what is known of the load of a model, for each of its variants.
func (p *press) load(s scaling.Snapshot) {
	quantities := []struct {
		name    string
		reading scaling.Reading
	}{
		{"arrival_rate", s.Load.ArrivalRate},
		{"input_tokens", s.Load.InputTokens},
		{"output_tokens", s.Load.OutputTokens},
	}
	for _, v := range s.Variants {
		for _, q := range quantities {
			if q.reading.Known() {
				p.add(v.Key, CurrentLoad, q.reading.Value, append(variant(v.Key), Label(s.Model.ID), q.name)...)
			}
		}
	}
}

// add puts a series on the page.
func (p *press) add(key scaling.VariantKey, name string, value float64, labels ...string) {
	if !p.claim("variant "+key.String(), name, labels) {
		return
	}
	kind := prometheus.GaugeValue
	if name == ReplicaScaling {
		kind = prometheus.CounterValue
	}
	p.page.series = append(p.page.series, prometheus.MustNewConstMetric(p.descs[name], kind, value, labels...))
}

// claim reports whether the series is not on the page yet. Two equal series
// would make the whole scrape fail, so the second is left out and its subject
// named.
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
	by := TargetLabels(v, p.instance)
	values := []string{by[LabelVariant], by[LabelTarget], by[LabelTargetKind], by[LabelNamespace], by[LabelAccelerator]}
	if p.instance != "" {
		values = append(values, by[LabelControllerInstance])
	}
	return values
}

// variant returns the values of the labels that name a variant.
func variant(key scaling.VariantKey) []string { return []string{Label(key.Name), Label(key.Namespace)} }

// direction returns the sign of desired - current.
func direction(desired, current int) float64 {
	switch {
	case desired > current:
		return 1
	case desired < current:
		return -1
	default:
		return 0
	}
}

// mean gathers readings that are known.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(r scaling.Reading) {
	if r.Known() {
		m.sum += r.Value
		m.n++
	}
}
