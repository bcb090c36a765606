package collector

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// snapshot joins the model answer with the live pods of the model, as of now on the manager's
// clock.
//
//nolint:gocyclo // one join, read from top to bottom
func (s *modelAnswer) snapshot(at time.Time, model scaling.ModelVariants, pods podIndex, now time.Time, backend scaling.Backend) scaling.Snapshot {
	snap := scaling.Snapshot{
		Backend:  backend,
		Model:    model.Model,
		At:       at,
		Window:   s.survey.window,
		Variants: model.Variants,
		ClockLag: s.survey.lag(),
	}
	instant := s.survey.now(now)
	covering := func(variants []scaling.Variant) coverage { return newCoverage(variants, at, s.survey.grace) }
	pages, reports, roles := covering(model.Variants), false, newSplit(model.Variants, covering)
	mixed, ranks, lost := s.mixture(model.Model, pods, instant), "", ""
	if backend == scaling.BackendEPP {
		ranks = firstRanks(model, pods, s.namedRanks(pods, model.Model))
	}
	for _, i := range pods.byModel[model.Model] {
		row := s.join(pods, i)
		state := row.page.state(instant)
		pages.add(pods.pods[i], row.page, state)
		// The means of a pool count the first rank alone of a pod with several, and stand for every
		// pod of it.
		gone := s.lostRank(pods, i, instant)
		lost = cmp.Or(lost, gone)
		partial := state >= scaling.Aging && (mixed.pods[pods.pods[i].Name] || ranks != "" || gone != "")
		if partial {
			state = min(state, scaling.Aging)
		}
		r := s.sample(&row, state)
		roles.add(pods.pods[i], &row, row.page.state(instant), r)
		r.Partial = partial
		r.Pod, r.Variant, r.Ready = pods.pods[i].Name, pods.pods[i].Variant, pods.pods[i].Ready
		if r.Ready || r.Reports() {
			snap.Replicas = append(snap.Replicas, r)
			reports = reports || r.Reports() || r.Stuck != ""
		}
	}
	sortReplicas(snap.Replicas)
	snap.Load = s.load(&pages, instant, mixed.rates)
	if roles != nil {
		snap.Roles, snap.Load = s.roles(roles, snap.Load, roleContext{
			now: instant, pages: &pages, mixed: mixed.rates, ended: s.endedServing(model.Model, pods, instant), backend: backend,
		})
	}
	if snap.Partial = mixed.told; slices.ContainsFunc(snap.Replicas, func(r scaling.ReplicaSample) bool { return r.Partial }) {
		snap.Partial = cmp.Or(mixed.told, ranks, lost)
	}
	if !reports {
		snap.SeenModels, snap.SeenElsewhere, snap.Unjoined = s.seen, s.elsewhere, s.unjoined
		snap.Partial = cmp.Or(snap.Partial, mixed.nowhere)
	} else if s.twofold != "" {
		snap.Unjoined = sentence(fmt.Sprintf("pod %s is named in the label %s by one scrape job and in %s by another, so rates of the model would count it twice: let one job scrape it, or both name it alike",
			s.twofold, query.LabelPod, query.LabelPodName))
	} else if name, n := s.strangers(model.Model.Namespace, pods, instant); n > 0 && n >= len(snap.Replicas) {
		snap.Unjoined = sentence(fmt.Sprintf("%d pods that no VariantAutoscaling of the model has report for it too, such as %s, and their requests count in its rates: where they are of another cluster let the store answer for this one alone",
			n, name))
	}
	return snap
}

// strangers counts the pods outside the fleet that report for the model and were scraped since the
// oldest Fresh page of a pod of the fleet: so a pod that ended no longer counts after one scrape.
// It returns the name of the first, too.
func (s *modelAnswer) strangers(namespace string, pods podIndex, instant int64) (first string, n int) {
	oldest := int64(math.MaxInt64)
	var others []*podRow
	for i := range s.pods {
		row := &s.pods[i]
		if row.page.state(instant) != scaling.Fresh {
			continue
		}
		if _, ours := pods.pod(query.Row{Namespace: namespace, Pod: row.name}); ours {
			oldest = min(oldest, row.page.at)
		} else {
			others = append(others, row)
		}
	}
	for _, row := range others {
		if row.page.at < oldest {
			continue
		}
		if n++; n == 1 {
			first = row.name
		}
	}
	return first, n
}

// faulted returns the Snapshot of a model without an answer.
func faulted(at time.Time, model scaling.ModelVariants, pods podIndex, fault string) scaling.Snapshot {
	snap := scaling.Snapshot{Model: model.Model, At: at, Window: unknownWindow, Variants: model.Variants, Fault: fault}
	for _, i := range pods.byModel[model.Model] {
		if p := pods.pods[i]; p.Ready {
			snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{Pod: p.Name, Variant: p.Variant, Ready: true})
		}
	}
	sortReplicas(snap.Replicas)
	return snap
}

// sortReplicas sorts samples in the order of a Snapshot.
func sortReplicas(replicas []scaling.ReplicaSample) {
	slices.SortFunc(replicas, func(a, b scaling.ReplicaSample) int {
		return cmp.Or(a.Variant.Compare(b.Variant), strings.Compare(a.Pod, b.Pod))
	})
}

// namedRanks returns how many ranks of each pod of a model the source names as pods of their own.
func (s *modelAnswer) namedRanks(pods podIndex, model scaling.ModelKey) map[string]int {
	named := map[string]int{}
	if !s.ranked {
		return named
	}
	for i := range s.pods {
		name, rank := cutRank(s.pods[i].name)
		if _, alive := pods.byKey[podKey{model.Namespace, s.pods[i].name}]; rank != "" && !alive {
			named[name]++
		}
	}
	return named
}

// join returns the row of the i-th pod: that of its name, and those of its ranks where the source
// names each as a pod of its own. The row of the pod and the sum of its ranks are duplicates: the
// larger counts. The name of a live pod is no rank.
func (s *modelAnswer) join(pods podIndex, i int) podRow {
	pod := pods.pods[i]
	joined := newPodRow("")
	if at, ok := slices.BinarySearchFunc(s.pods, pod.Name, func(p podRow, name string) int {
		return strings.Compare(p.name, name)
	}); ok {
		joined = s.pods[at]
	}
	if !s.ranked {
		return joined
	}
	ranks, n := newPodRow(""), 0
	for _, row := range s.pods {
		name, rank := cutRank(row.name)
		if _, alive := pods.byKey[podKey{pod.Namespace, row.name}]; rank == "" || name != pod.Name || alive {
			continue
		}
		if n++; n == 1 {
			ranks = row
		} else {
			ranks = ranks.beside(row)
		}
	}
	if n > 0 {
		joined = joined.or(ranks)
	}
	return joined
}

// beside returns two ranks of a pod as one row: their requests add up, of cache usage the worse
// counts, and of cache size the larger. The pod is sick if any rank is, and frozen if all are.
func (p podRow) beside(o podRow) podRow {
	for i := range p.gauges {
		switch (firstGauge + query.Quantity(i)).Unit() {
		case query.Requests, query.RequestsPerSecond, query.TokensPerSecond:
			p.gauges[i] += o.gauges[i]
		default:
			p.gauges[i] = larger(p.gauges[i], o.gauges[i])
		}
	}
	switch {
	case math.IsNaN(p.held):
		p.held = o.held
	case !math.IsNaN(o.held):
		p.held += o.held
	}
	if p.stuck != o.stuck {
		p.stuck = max(p.stuck, o.stuck)
		if p.stuck == frozen {
			p.stuck = moves
		}
	}
	p.page = p.page.newer(o.page)
	return p
}

// or returns one row for two duplicates.
func (p podRow) or(o podRow) podRow {
	for i := range p.gauges {
		p.gauges[i] = larger(p.gauges[i], o.gauges[i])
	}
	p.held = larger(p.held, o.held)
	p.stuck = max(p.stuck, o.stuck)
	p.page = p.page.newer(o.page)
	return p
}

// sample returns the readings of a pod whose page has the given freshness. The gauges of a stuck
// replica are no load: they are Absent, as if it were silent. While it is unknown whether the
// replica is stuck, they are Aging at best.
func (s *modelAnswer) sample(p *podRow, state scaling.Freshness) scaling.ReplicaSample {
	r := scaling.ReplicaSample{KVCapacity: s.gauge(p, query.KVCapacity, query.AskKVCapacity).reading(state)}
	if p.page != (pageTimes{}) {
		r.At = s.survey.shown(p.page.at)
	}
	if p.stuck != moves && state >= scaling.Aging {
		r.Stuck, r.Held = scaling.Frozen, larger(measurable(p.held), 0)
		if p.stuck == sick {
			r.Stuck = scaling.Sick
		}
		return r
	}
	failed := s.survey.failed
	if failed.has(query.AskGenerating) || failed.has(query.AskStuck) && !math.IsNaN(p.held) {
		state = min(state, scaling.Aging)
	}
	r.KVCacheUsage = s.gauge(p, query.KVCacheUsagePeak, query.AskKVCacheUsagePeak).reading(state)
	r.QueueLength = s.gauge(p, query.QueueLengthPeak, query.AskQueueLengthPeak).reading(state)
	r.KVCacheUsageNow = s.gauge(p, query.KVCacheUsage, query.AskKVCacheUsage).reading(state)
	r.QueueLengthNow = s.gauge(p, query.QueueLength, query.AskQueueLength).reading(state)
	r.Running = s.gauge(p, query.Running, query.AskRunning).reading(state)
	if state == scaling.Fresh {
		r.Pace = paceOf(p)
	}
	return r
}

// paceOf returns the pace of a pod, as far as it was asked for and is known.
func paceOf(p *podRow) (out scaling.Pace) {
	if decoding, generated := *p.gauge(query.Decoding), *p.gauge(query.Generated); decoding > 0 && generated > 0 {
		out.Decoding, out.ITL = decoding, 1000*decoding/generated
	}
	if starting, started := *p.gauge(query.Starting), *p.gauge(query.Started); starting > 0 && started > 0 {
		out.Started, out.TTFT = started, 1000*starting/started
	}
	return out
}

// gauge returns the number of q of a pod, which ask asks for.
func (s *modelAnswer) gauge(p *podRow, q query.Quantity, ask query.Question) row {
	return row{value: *p.gauge(q), answered: !s.survey.failed.has(ask)}
}
