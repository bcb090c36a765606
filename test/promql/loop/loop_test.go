package loop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/faulty"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

const (
	namespace = "serving"
	model     = "org/model"
	variant   = "model-l40s"
	replicas  = 4

	scrapes = 15 * time.Second // between two of a pod
	cycles  = time.Minute      // between two decisions
)

// began is when the loop begins, on the clock of the store.
var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// options are what tests vary. The zero value is a loop in which all is well.
type options struct {
	Source    prometheus.Config // but for the URL
	Collector collector.Options
	Skew      time.Duration // by how much the manager's clock is ahead of the store's
	Cached    bool          // with a cache of the default options
	Load      load
	Twice     bool // every pod is scraped by two servers, whose rows differ in a label
}

// load is what every pod shows.
type load struct{ Usage, Waiting float64 }

// loop is everything from the pages to the decision.
type loop struct {
	t       *testing.T
	now     *testingclock.FakePassiveClock // of the store
	manager *testingclock.FakeClock
	proxy   *faulty.Proxy
	pods    []*pod
	foreign []*pod        // of another cluster, in the same store
	store   *store.Store  // that scrapes
	poison  *store.Target // of a pod of another namespace, nil for none
	twice   bool
	reached func(*pod) *pod // whose page a scrape of a pod gets, nil for its own
	source  *prometheus.Source
	collect *collector.Collector
	history memory.History
}

// pod is a serving pod and the target that scrapes it.
type pod struct {
	*page.Pod
	name   string
	target *store.Target
	again  *store.Target // of a second server, nil for none
	silent bool          // its page does not answer
	hangs  bool          // it generates nothing
}

// begin starts a loop whose pods have been scraped for 10 minutes.
func begin(t *testing.T, o options) *loop {
	t.Helper()
	l := &loop{t: t, now: testingclock.NewFakePassiveClock(began), manager: testingclock.NewFakeClock(began.Add(o.Skew)), history: memory.History{}, twice: o.Twice}
	first := l.newStore()
	if o.Load == (load{}) {
		o.Load = load{Usage: 0.2}
	}
	for i := range replicas {
		p := &pod{Pod: page.NewPod(query.VLLM, page.Newest, model, 1), name: fmt.Sprintf("%s-%d", variant, i)}
		p.Ranks[0].Running, p.Ranks[0].Usage, p.Ranks[0].Waiting = 5, o.Load.Usage, o.Load.Waiting
		l.pods = append(l.pods, p)
	}
	l.scrapeInto(first)
	var err error
	if l.proxy, err = faulty.New(first); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.proxy.Refuse(); err != nil {
			t.Error(err)
		}
	})
	o.Source.URL, o.Source.AllowInsecure = l.proxy.URL(), true
	o.Source.Rand = rand.New(rand.NewPCG(1, 2))
	if l.source, err = prometheus.New(o.Source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.source.Close)
	if o.Cached {
		o.Collector.Cache = cache.New(l.manager, cache.Options{})
	}
	l.collect = collector.New(l.source, l.manager, o.Collector)
	l.pass(10 * time.Minute)
	return l
}

// newStore returns an empty store.
func (l *loop) newStore() *store.Store {
	l.t.Helper()
	dir, err := os.MkdirTemp(l.t.TempDir(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := store.Open(dir, l.now)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return s
}

// scrapeInto lets another store scrape the pods from now on.
func (l *loop) scrapeInto(s *store.Store) {
	l.store = s
	for _, p := range slices.Concat(l.pods, l.foreign) {
		of := []string{"namespace", namespace, "pod", p.name, "job", "engines", "instance", p.name + ":8000"}
		p.target = s.Target(labels.FromStrings(of...))
		if l.twice {
			p.target = s.Target(labels.FromStrings(append(of, "prometheus_replica", "a")...))
			p.again = s.Target(labels.FromStrings(append(of, "prometheus_replica", "b")...))
		}
	}
}

// pass lets time pass for pods, store and manager. The pods work and are scraped.
func (l *loop) pass(d time.Duration) {
	l.t.Helper()
	for range d / scrapes {
		now := l.now.Now().Add(scrapes)
		l.now.SetTime(now)
		l.manager.Step(scrapes)
		if l.poison != nil {
			if err := l.poison.Scrape(l.t.Context(), now, poisoned()); err != nil {
				l.t.Fatal(err)
			}
		}
		for _, p := range slices.Concat(l.pods, l.foreign) {
			if !p.hangs {
				p.Ranks[0].End(page.Request{Input: 200, Output: 100, TTFT: 0.1, ITL: 0.02, Reason: "stop"}, 30)
			}
			if p.target == nil {
				continue
			}
			of := p
			if l.reached != nil {
				of = l.reached(p)
			}
			scrape := func() error { return p.target.Scrape(l.t.Context(), now, of.Page()) }
			if p.silent {
				scrape = func() error { return p.target.Fail(l.t.Context(), now) }
			}
			if err := scrape(); err != nil {
				l.t.Fatal(err)
			}
			if p.again != nil {
				if err := p.again.Scrape(l.t.Context(), now, p.Page()); err != nil {
					l.t.Fatal(err)
				}
			}
		}
	}
}

// standStill lets time pass in which nothing is scraped: the store is there, and
// marks nothing as stale.
func (l *loop) standStill(d time.Duration) {
	l.now.SetTime(l.now.Now().Add(d))
	l.manager.Step(d)
}

// restart puts an empty store in place of the present one.
func (l *loop) restart() {
	l.t.Helper()
	empty := l.newStore()
	l.proxy.Replace(empty)
	l.scrapeInto(empty)
}

// fleet returns what the cluster says: the pods are Ready.
func (l *loop) fleet() scaling.Fleet { return l.fleetAt(l.manager.Now()) }

func (l *loop) fleetAt(at time.Time) scaling.Fleet {
	key := scaling.VariantKey{Namespace: namespace, Name: variant}
	fleet := scaling.Fleet{At: at, Variants: []scaling.Variant{{
		Key: key, Model: scaling.ModelKey{Namespace: namespace, ID: model},
		Target:         scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: variant},
		GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Unbounded(),
		Replicas: scaling.ReplicaCounts{Observed: true, Current: replicas, Ready: replicas, NewestReady: began},
	}}}
	for _, p := range l.pods {
		fleet.Pods = append(fleet.Pods, scaling.Pod{Namespace: namespace, Name: p.name, Variant: key, Ready: true})
	}
	return fleet
}

// outcome is what one cycle measured and decided.
type outcome struct {
	snapshot scaling.Snapshot
	decision scaling.Decision
}

// spare decides by spare capacity, which reads what every fault here is about.
func spare(snapshots []scaling.Snapshot) cycle.Setup {
	how := settings.Default()
	how.Method = settings.Spare
	setup := cycle.Setup{Models: map[scaling.ModelKey]settings.Model{}}
	for _, s := range snapshots {
		setup.Models[s.Model] = how
	}
	return setup
}

// shrinking returns the engines that give a replica up, each with its default settings and a
// profile.
func shrinking(now time.Time, snapshots []scaling.Snapshot) (engines []settings.Engine) {
	snap := snapshots[0]
	snap.Variants = slices.Clone(snap.Variants)
	snap.Variants[0].Profile = scaling.Profile{Alpha: 10, Beta: 0.1, Gamma: 20, Delta: 0.001, MaxBatchSize: 64}
	for _, by := range []settings.Engine{settings.Saturation, settings.Queueing, settings.Hybrid} {
		how := settings.Default()
		how.Engine, how.Objective = by, scaling.Objective{TTFT: 5000, ITL: 100}
		setup := cycle.Setup{Models: map[scaling.ModelKey]settings.Model{snap.Model: how}}
		for _, d := range setup.Decide(cycle.Case{Now: now, Snapshots: []scaling.Snapshot{snap}, History: memory.History{}}).Plan.Decisions {
			if d.Target() < replicas {
				engines = append(engines, by)
			}
		}
	}
	return engines
}

// decide runs one cycle. Its decision is not carried out: the same replicas run
// in the next, so that a decision that was right stays right.
func (l *loop) decide() outcome {
	l.t.Helper()
	snapshots := l.collect.Collect(l.t.Context(), l.fleet())
	verdict := spare(snapshots).Decide(cycle.Case{Now: l.manager.Now(), Snapshots: snapshots, History: l.history})
	if len(snapshots) != 1 || len(verdict.Plan.Decisions) != 1 {
		l.t.Fatalf("%d snapshots and %d decisions for one model with one variant", len(snapshots), len(verdict.Plan.Decisions))
	}
	got := outcome{snapshots[0], verdict.Plan.Decisions[0]}
	if got.decision.Target() < replicas && !got.known() {
		l.t.Errorf("shrinks to %d on what is not Fresh: %+v", got.decision.Target(), got.snapshot)
	}
	return got
}

// known reports whether the load of half of the replicas or more is Fresh, and
// nothing failed. The others count as full.
func (o outcome) known() bool {
	fresh := 0
	for _, r := range o.snapshot.Replicas {
		if r.KVCacheUsage.State == scaling.Fresh && r.QueueLength.State == scaling.Fresh {
			fresh++
		}
	}
	return o.snapshot.Fault == "" && len(o.snapshot.Replicas) == replicas && 2*fresh >= replicas
}

// want fails the test unless the decision is for so many replicas.
func (o outcome) want(t *testing.T, when string, target scaling.Replicas) {
	t.Helper()
	if got := o.decision.Target(); got != target {
		t.Errorf("%s: decided for %d replicas, want %d\nfault: %q\nsteps: %+v\nload: %+v\nfirst replica: %+v", when, got, target,
			o.snapshot.Fault, o.decision.Steps, o.snapshot.Load, o.snapshot.Replicas[0])
	}
}
