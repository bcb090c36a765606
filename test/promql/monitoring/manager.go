package monitoring

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// manager is the autoscaler as Prometheus records it: the metrics of the real one, fed with the
// readings and decisions of invented cycles.
type manager struct {
	fleet    *fleet
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	target   *store.Target
	process  process
	analyzed map[scaling.VariantKey]time.Time
	history  memory.History
	cycles   int
}

func newManager(f *fleet) *manager {
	m := &manager{
		fleet: f, registry: prometheus.NewRegistry(), target: f.store.Target(f.managerLabels()),
		analyzed: map[scaling.VariantKey]time.Time{}, history: memory.History{},
	}
	m.metrics = metrics.New(m.registry, f.clock, metrics.Options{})
	m.process = newProcess(m.registry, f.Begin.Add(-26*time.Hour))
	return m
}

// scrape stores the manager's page.
func (m *manager) scrape(ctx context.Context, at time.Time, fault Fault) error {
	if fault == Gone {
		return m.target.Fail(ctx, at)
	}
	if fault == Failing {
		m.metrics.ObserveCycle(metrics.Failure, 5*time.Second)
		m.metrics.CountError("cycle")
	}
	m.process.pass(Interval, len(m.fleet.variants))
	families, err := m.registry.Gather()
	if err != nil {
		return fmt.Errorf("gathering the manager's metrics: %w", err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return fmt.Errorf("writing the manager's page: %w", err)
		}
	}
	return m.target.Scrape(ctx, at, text.Bytes())
}

// cycle decides on every variant and publishes the decisions.
func (f *fleet) cycle(at time.Time, fault Fault) error {
	m := f.manager
	m.cycles++
	record := memory.Record{Interval: Interval, Gap: scaling.Measured(0.004+0.003*math.Sin(float64(m.cycles)/11), scaling.Fresh), Deciding: 800*time.Microsecond + time.Duration(m.cycles%5)*90*time.Microsecond}
	record.Plan.At = at
	for _, v := range f.variants {
		v.Replicas = v.counts(fault)
		record.Fleet.Variants = append(record.Fleet.Variants, v.Variant)
		snapshot := f.snapshot(v, at)
		record.Snapshots = append(record.Snapshots, snapshot)
		m.history[v.Key] = memory.Past{Fit: profile.Learn(m.history[v.Key].Fit, snapshot, v.Variant)}
		if v.hit && fault == Undecided {
			delete(m.analyzed, v.Key)
			continue
		}
		d := f.decide(v, snapshot, at, fault)
		if !d.Fallback {
			m.analyzed[v.Key] = at
			record.Analyses = append(record.Analyses, f.analysis(v, at))
			if v.objective.Set() {
				record.Objectives = append(record.Objectives, scaling.ModelObjective{Model: v.Model, Objective: v.objective, TTFTPercentile: 0.9})
			}
		}
		record.Plan.Decisions = append(record.Plan.Decisions, d)
	}
	record.Inventory, record.History = f.inventory(fault), m.history
	m.observe(len(f.variants))
	if err := m.metrics.Publish(record, m.analyzed); err != nil {
		return fmt.Errorf("publishing a cycle: %w", err)
	}
	for _, v := range f.variants {
		follows, reason := Healthy.followed()
		if v.hit {
			follows, reason = fault.followed()
		}
		m.metrics.Following(v.Key, follows, reason)
	}
	return nil
}

// observe counts the queries and the cache of a cycle.
func (m *manager) observe(models int) {
	wobble := 1 + 0.3*math.Sin(float64(m.cycles)/6)
	for _, query := range []string{"pages", "kv_cache_usage_peak", "queue_length_peak", "flow", "means", "gateway"} {
		for range 4 { // background fetching queries between cycles
			m.metrics.ObserveQuery(query, metrics.Success, time.Duration(float64(4+len(query))*0.7*wobble*float64(time.Millisecond)))
		}
	}
	if m.cycles%50 == 0 {
		m.metrics.ObserveQuery("means", metrics.Failure, 2*time.Second)
		m.metrics.CountError("collector")
	}
	m.metrics.ObserveCache(models*9/10+1, 1)
	for range 4 {
		m.metrics.CountBackgroundFetch(metrics.Success)
	}
	m.metrics.ObserveCycle(metrics.Success, time.Duration(14*wobble*float64(time.Millisecond)))
}

// snapshot returns the cycle's readings of the model of a variant.
func (f *fleet) snapshot(v *variant, at time.Time) scaling.Snapshot {
	s := scaling.Snapshot{Model: v.Model, At: at, Window: time.Minute, Variants: []scaling.Variant{v.Variant}}
	known := false
	for _, p := range v.pods {
		sample := scaling.ReplicaSample{Pod: p.name, Variant: v.Key, Ready: true, At: p.scraped}
		if at.Sub(p.scraped) < staleAfter {
			known = true
			sample.KVCacheUsage = scaling.Measured(p.Ranks[0].Usage, scaling.Fresh)
			sample.QueueLength = scaling.Measured(p.Ranks[0].Waiting, scaling.Fresh)
			sample.Pace = f.pace(v, at)
		}
		s.Replicas = append(s.Replicas, sample)
	}
	if known {
		s.Load = scaling.Load{
			ArrivalRate:  scaling.Measured(v.rate(at.Sub(f.Begin)), scaling.Fresh),
			InputTokens:  scaling.Measured(1087, scaling.Fresh),
			OutputTokens: scaling.Measured(answer, scaling.Fresh),
		}
	}
	return s
}

// answer is the mean length of an answer [tokens].
const answer = 190

// latency returns the mean latencies of requests at a utilization.
func latency(u float64) scaling.Latency {
	return scaling.Latency{TTFT: 1000 * (0.15 + 0.25*math.Pow(u, 4)), ITL: 1000 * (0.022 + 0.0125*u)}
}

// pace returns the measured pace of one replica.
func (f *fleet) pace(v *variant, at time.Time) scaling.Pace {
	started := v.rate(at.Sub(f.Begin)) / float64(len(v.pods))
	shows := latency(started / v.perReplica)
	itl := shows.ITL * (1 + 0.03*math.Sin(float64(f.manager.cycles)/9))
	return scaling.Pace{Decoding: started * (answer - 1) * itl / 1000, ITL: itl, Started: started, TTFT: shows.TTFT}
}

// analysis returns an analysis that predicts the mean latencies of the requests.
func (f *fleet) analysis(v *variant, at time.Time) scaling.Analysis {
	u := v.rate(at.Sub(f.Begin)) / float64(len(v.pods)) / v.perReplica
	signal := scaling.Steady
	if v.wanted(v.rate(at.Sub(f.Begin))) > len(v.pods) {
		signal = scaling.Grow
	}
	return scaling.Analysis{Model: v.Model, Analyzer: "queueing", Signal: signal, Predicted: latency(u)}
}

// ruling is a decision on a variant: the replicas, the reason, and the reason of the bound that
// takes one more replica away, "" for none.
type ruling struct {
	to     int
	reason scaling.Reason
	bound  scaling.Reason
}

// decide returns the decision on a variant.
func (f *fleet) decide(v *variant, s scaling.Snapshot, at time.Time, fault Fault) scaling.Decision {
	d := scaling.Decision{Variant: v.Key, Model: v.Model, Current: v.Replicas.Current}
	r := ruling{to: v.desired, reason: scaling.ReasonSteady}
	rate := s.Load.ArrivalRate
	faulty, hit := f.underFault(v, fault)
	switch {
	case v.Paused && f.faulty(at):
		d.Fallback, r.reason = true, scaling.ReasonPaused
	case !rate.Known():
		d.Fallback, r.reason = true, scaling.ReasonNoData
	case hit:
		r = faulty
	case at.Sub(f.orders[v].since) <= 2*followAfter:
		r.reason = scaling.ReasonInTransition
	default:
		r.to = v.wanted(rate.Value)
		switch {
		case r.to > v.desired:
			r.reason = scaling.ReasonSaturated
		case r.to < v.desired:
			r.reason = scaling.ReasonSpareCapacity
		}
	}
	v.desired = r.to
	if r.bound != "" {
		return d.Then(scaling.StageOptimize, scaling.Replicas(r.to+1), r.reason, "as recorded").Then(scaling.StageCapacity, scaling.Replicas(r.to), r.bound, "as recorded")
	}
	return d.Then(scaling.StageOptimize, scaling.Replicas(r.to), r.reason, "as recorded")
}

// underFault returns the decision on a variant under a fault, and false where the fault leaves the
// decision alone.
func (f *fleet) underFault(v *variant, fault Fault) (r ruling, hit bool) {
	pods := len(v.pods)
	switch {
	case !v.hit:
	case fault == NoStock:
		return ruling{pods, scaling.ReasonSaturated, scaling.ReasonNoStock}, true
	case fault == Held:
		return ruling{pods, scaling.ReasonSaturated, scaling.ReasonAboveMax}, true
	case fault == Confined:
		return ruling{pods, scaling.ReasonSteady, ""}, true
	case fault == Unnamed:
		return ruling{pods, scaling.ReasonSteady, ""}, true
	case fault == Ignored, fault == Orphaned:
		return ruling{pods + 2, scaling.ReasonSaturated, ""}, true
	case fault.stuck() && v.Replicas.Pending == 0:
		return ruling{v.desired + 2, scaling.ReasonSaturated, ""}, true
	case fault.stuck():
		return ruling{v.desired, scaling.ReasonPodsNotReady, ""}, true
	case fault == Flapping && f.manager.cycles%4 == 0:
		return ruling{v.desired + 1 - 2*(f.manager.cycles/4%2), scaling.ReasonSaturated, ""}, true
	}
	return ruling{}, false
}

// inventory returns the accelerators of the cluster.
func (f *fleet) inventory(fault Fault) scaling.Inventory {
	i := scaling.Inventory{Known: len(f.variants) > 0}
	for _, v := range f.variants {
		group := scaling.NodeGroup{Accelerator: v.Accelerator, Total: 8}
		if !v.hit || fault != NoStock {
			group.Free = []scaling.FreeNodes{{GPUs: scaling.Accelerators(max(1, 8-len(v.pods))), Nodes: 1}}
		}
		i.Groups = append(i.Groups, group)
	}
	return i
}
