package main

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/watch"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// lab is a manager's configuration, and what goes by it, over a source in
// memory.
type lab struct {
	*bench
	*applier
	store *config.Store
	book  *ledger.Ledger
	idle  *collector.IdleTracker
	given map[config.Kind][]config.Source // the ConfigMaps that there are
	log   bytes.Buffer
}

// start is what a lab starts with.
type start struct {
	from     factory  // of the backend, nil for one in memory
	settings []string // of a ConfigMap, as pairs
}

// newLab returns a lab of a process that got these arguments.
func newLab(t *testing.T, with start, args ...string) *lab {
	t.Helper()
	l := &lab{bench: newBench(t, args...), book: ledger.New()}
	if with.from == nil {
		with.from = func(surroundings, *config.Operator) (backend, error) { return backend{source: l.source}, nil }
	}
	process := l.bench.operator
	level, err := logging.NewLevel(process.LogLevel)
	if err != nil {
		t.Fatal(err)
	}
	l.given = map[config.Kind][]config.Source{}
	begin, err := newBeginning(process, configMaps(process, config.KindSettings, with.settings...), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	l.store = begin.store
	l.idle = collector.NewIdleTracker(l.policies().retention)
	by := tools{
		backends: map[string]factory{config.BackendPrometheus: with.from}, instruments: l.instruments, hasObjective: l.policies().hasObjective,
		objective: l.policies().objective, idle: l.idle,
	}
	o, from, err := firstBackend(by.backends, by.surroundings, begin.candidates)
	if err != nil {
		t.Fatal(err)
	}
	now, err := newInForce(environment{operator: process, level: level}, o)
	if err != nil {
		t.Fatal(err)
	}
	meter := newMeter(by, o, from)
	l.applier = &applier{inForce: now, meter: meter, fetching: newFetching(now.now, now.cycles, &watch.Watch{
		Clock: clock.RealClock{}, Cluster: l, Collector: meter, Memory: l.book, Analyze: l.analyze,
	})}
	return l
}

// policies are those of models whose variants name no service class.
func (l *lab) policies() policies {
	return policies{store: l.store, classes: func(scaling.ModelKey) []config.ClassRef { return nil }}
}

// analyze analyzes a model as its settings say.
func (l *lab) analyze(last memory.Record, s scaling.Snapshot) []scaling.Analysis {
	return watch.By(l.policies().decides)(last, s)
}

// configure applies a ConfigMap of the system namespace, as pairs, or deletes it
// where there are none, and returns what is not in force of it.
func (l *lab) configure(kind config.Kind, pairs ...string) []config.Finding {
	l.given[kind] = configMaps(l.process, kind, pairs...)
	found := l.store.Apply(slices.Concat(slices.Collect(maps.Values(l.given))...)).Findings
	return append(found, l.apply(l.store.Snapshot().Settings())...)
}

// configMaps returns a ConfigMap with these pairs, none where there are none.
func configMaps(o *config.Operator, kind config.Kind, pairs ...string) []config.Source {
	if len(pairs) == 0 {
		return nil
	}
	source := config.Source{Namespace: o.SystemNamespace, Name: o.Names()[kind][0], Data: map[string]string{}}
	for pair := range slices.Chunk(pairs, 2) {
		source.Data[pair[0]] = pair[1]
	}
	return []config.Source{source}
}

// The behaviours that keys change.

// fetches returns how often the source is asked within 110 seconds of background
// fetching.
func fetches(t *testing.T, l *lab) any {
	ctx, cancel := context.WithTimeout(t.Context(), 110*time.Second)
	defer cancel()
	l.source.Forget()
	if err := l.fetching.run(logr.Discard())(ctx); err != nil {
		t.Error(err)
	}
	n := 0
	for _, ask := range l.source.Asked() {
		if ask == query.AskPages {
			n++
		}
	}
	return n
}

// starts returns when cycles begin in 110 seconds, if something changes after 10.
func starts(t *testing.T, l *lab) any {
	ctx, cancel := context.WithTimeout(t.Context(), 110*time.Second)
	defer cancel()
	began := clock.RealClock{}.Now()
	var out []int
	go func() {
		time.Sleep(10 * time.Second)
		l.cycles.Trigger("changed")
	}()
	if err := l.cycles.Run(ctx, func(context.Context, time.Duration, []string) {
		out = append(out, int(clock.RealClock{}.Since(began)/time.Second))
	}); err != nil {
		t.Error(err)
	}
	return out
}

// keptFor returns for how many seconds a measurement answers, up to 2 minutes.
func keptFor(t *testing.T, l *lab) any {
	l.meter.Collect(t.Context(), l.fleet)
	l.source.Forget()
	for seconds := range 120 {
		if l.meter.Collect(t.Context(), l.fleet); len(l.source.Asked()) > 0 {
			return seconds
		}
		time.Sleep(time.Second)
	}
	return 120
}

// entries returns how many models are kept.
func entries(t *testing.T, l *lab) any {
	l.meter.Collect(t.Context(), l.fleet)
	return len(l.meter.parts().store.Entries())
}

// cleaned returns how many models are kept 3 minutes after a collection.
func cleaned(t *testing.T, l *lab) any {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	l.meter.Collect(ctx, l.fleet)
	if err := l.meter.run(ctx); err != nil {
		t.Error(err)
	}
	return len(l.meter.parts().store.Entries())
}

// freshness returns that of readings of this age.
func freshness(age time.Duration) func(t *testing.T, l *lab) any {
	return func(t *testing.T, l *lab) any {
		l.source.Clear()
		l.source.Serve(l.fleet, collectortest.Page{Interval: 15 * time.Second, Age: age, KVCacheUsage: 0.5, WithoutGateway: true})
		return l.meter.Collect(t.Context(), l.fleet)[0].Replicas[0].KVCacheUsage.State.String()
	}
}

// lowest returns the least important line that is logged.
func lowest(_ *testing.T, l *lab) any {
	log := logging.New(&l.log, l.level)
	log.V(1).Info("debug")
	log.Info("info")
	log.Error(nil, "error")
	return strings.Count(l.log.String(), "\n")
}

// signal returns what an analysis wants of a model whose replicas are half full
// and queue nothing.
func signal(t *testing.T, l *lab) any {
	return l.analyze(memory.Record{}, l.meter.Collect(t.Context(), l.fleet)[0])[0].Signal.String()
}

// path returns the replicas decided on in minutes 0 to 4, if to are wanted and
// from run, and the target follows.
func path(from, to int, startUp time.Duration) func(t *testing.T, l *lab) any {
	return func(_ *testing.T, l *lab) any {
		v := l.fleet.Variants[0]
		v.StartUp = startUp
		history := memory.History{}
		from := from
		var out []int
		for minute := range 5 {
			v.Replicas = scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(from), Ready: scaling.Replicas(from)}
			in := constrain.Input{
				Now: l.fleet.At.Add(time.Duration(minute) * time.Minute), Variants: map[scaling.VariantKey]scaling.Variant{v.Key: v}, History: history,
				Policies: map[scaling.ModelKey]constrain.Pacing{v.Model: l.policies().decides(v.Model).Pacing},
			}
			d := scaling.Decision{Variant: v.Key, Model: v.Model, Current: scaling.Replicas(from)}.Then(scaling.StageOptimize, scaling.Replicas(to), scaling.ReasonSaturated, "it is wanted")
			d = constrain.Apply(in, scaling.Plan{Decisions: []scaling.Decision{d}}).Decisions[0]
			past := history[v.Key]
			past.Wants = constrain.Wants(in, d)
			history = memory.History{v.Key: past.Decide(d.Target(), in.Now)}
			from = int(d.Target())
			out = append(out, from)
		}
		return out
	}
}

// findings returns how many things their user is told.
func findings(_ *testing.T, l *lab) any { return len(l.store.Snapshot().Findings()) }

// limitedByID returns whether an entry for a model's ID alone limits it: in a
// namespace that is not trusted, any model could have that ID.
func limitedByID(_ *testing.T, l *lab) any {
	l.configure(config.KindSaturation, "of-an-id", "model_id: m\nenableLimiter: true")
	return l.store.Snapshot().Policy(scaling.ModelKey{Namespace: "serving", ID: "m"}).Limited
}

// shares returns of how many other namespaces replicas are a prior for one that runs the same.
func shares(_ *testing.T, l *lab) any {
	setup, in := cycle.Setup{Models: map[scaling.ModelKey]settings.Model{}}, cycle.Case{Now: l.fleet.At, History: memory.History{}}
	for _, namespace := range []string{"a", "b"} {
		v := scaling.Variant{
			Key: scaling.VariantKey{Namespace: namespace, Name: "v"}, Model: scaling.ModelKey{Namespace: namespace, ID: "m"},
			Accelerator: "A100", GPUsPerReplica: 1, Template: "t", Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1},
		}
		setup.Models[v.Model] = l.policies().decides(v.Model)
		in.Snapshots = append(in.Snapshots, scaling.Snapshot{Model: v.Model, At: l.fleet.At, Window: time.Minute, Variants: []scaling.Variant{v}})
		if namespace == "a" {
			seen := memory.Sums{}.Plus([3]float64{1, 4, 0}, 20, 2*memory.SamplesEnough, 10)
			of := memory.Subject{Accelerator: "A100", GPUs: 1, Template: "t"}
			in.History[v.Key] = memory.Past{Model: v.Model, Fit: memory.Fit{Of: of, At: l.fleet.At.Add(-time.Minute), Bands: []memory.Band{{Of: 2, ITL: seen}}}}
		}
	}
	return setup.Decide(in).History[scaling.VariantKey{Namespace: "b", Name: "v"}].Fit.Shared.Namespaces
}

// effects are what the keys change, beside those of Prometheus and of service
// classes.
var effects = []struct {
	in            config.Kind
	key, value    string
	see           func(t *testing.T, l *lab) any
	before, after any
}{
	{config.KindSettings, "GLOBAL_OPT_INTERVAL", "40s", starts, []int{0, 10, 60}, []int{0, 10, 40, 80}},
	{config.KindSettings, "WVA_EXECUTOR", "polling", starts, []int{0, 10, 60}, []int{0, 60}},
	{config.KindSettings, "LOG_LEVEL", "debug", lowest, 2, 3},
	{config.KindSettings, "WVA_TRUST_NAMESPACES", "false", limitedByID, true, false},
	{config.KindSettings, "WVA_SHARE_PROFILES", "true", shares, 0, 1},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_ENABLED", "false", keptFor, 30, 0},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_MODE", "interval", keptFor, 30, 60},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_TTL", "50s", keptFor, 30, 50},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_CLEANUP_INTERVAL", "1m", cleaned, 3, 0},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_MAX_ENTRIES", "2", entries, 3, 2},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL", "0", fetches, nil, 0},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_FRESH_THRESHOLD", "4m", freshness(3 * time.Minute), "aging", "fresh"},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD", "10m", freshness(8 * time.Minute), "stale", "aging"},
	{config.KindSettings, "PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD", "2m", findings, 0, 1}, // that it has no effect
	{config.KindSaturation, "kvCacheThreshold", "0.55", signal, "steady", "grow"},
	{config.KindSaturation, "queueLengthThreshold", "2", signal, "steady", "grow"},
	{config.KindSaturation, "kvSpareTrigger", "0.4", signal, "steady", "grow"},
	{config.KindSaturation, "queueSpareTrigger", "6", signal, "steady", "grow"},
	{config.KindSaturation, "scaleUpStabilization", "90s", path(2, 9, 0), []int{9, 9, 9, 9, 9}, []int{2, 2, 9, 9, 9}},
	{config.KindSaturation, "maxScaleUpStep", "3", path(2, 9, 0), []int{9, 9, 9, 9, 9}, []int{5, 8, 9, 9, 9}},
	{config.KindSaturation, "scaleDownStabilization", "0s", path(9, 2, 0), []int{9, 9, 8, 7, 6}, []int{8, 7, 6, 5, 4}},
	{config.KindSaturation, "scaleDownStartUps", "2", path(9, 2, 90*time.Second), []int{9, 9, 8, 7, 6}, []int{9, 9, 9, 8, 7}},
	{config.KindSaturation, "maxScaleDownStep", "3", path(9, 2, 0), []int{9, 9, 8, 7, 6}, []int{9, 9, 6, 3, 2}},
}

func TestAKeyOfAConfigMapChangesWhatTheManagerDoes(t *testing.T) {
	for _, tt := range effects {
		t.Run(tt.key, func(t *testing.T) {
			pairs := []string{tt.key, tt.value}
			if tt.in == config.KindSaturation {
				pairs = []string{"default", tt.key + ": " + tt.value}
			}
			see := func(configure func(l *lab)) (seen any) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, start{})
					configure(l)
					seen = tt.see(t, l)
				})
				return seen
			}
			before := see(func(*lab) {})
			if diff := cmp.Diff(tt.before, before); diff != "" && tt.before != nil {
				t.Errorf("by default (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.after, see(func(l *lab) { l.configure(tt.in, pairs...) })); diff != "" {
				t.Errorf("configured (-want +got):\n%s", diff)
			}
			if cmp.Equal(before, tt.after) {
				t.Error("the test sees no difference")
			}
			if diff := cmp.Diff(before, see(func(l *lab) { l.configure(tt.in, pairs...); l.configure(tt.in) })); diff != "" {
				t.Errorf("configured and deleted again (-default +got):\n%s", diff)
			}
		})
	}
}

// elsewhere are the keys whose effect another test of this package sees.
var elsewhere = map[config.Kind][]string{
	config.KindSettings:   {"COLLECTOR_BACKEND", "WVA_ANNOTATION_DISCOVERY", "WVA_ADVISORY"},
	config.KindSaturation: {"model_id", "namespace"},
	config.KindUnitCosts:  {"device", "cost"},
}

func TestEveryDocumentedKeyHasAnEffectThatIsTested(t *testing.T) {
	known := map[config.Kind][]string{}
	for _, tt := range effects {
		known[tt.in] = append(known[tt.in], tt.key)
	}
	for _, tt := range engineEffects {
		known[tt.in] = append(known[tt.in], tt.key)
	}
	for _, tt := range objectiveEffects {
		known[tt.in] = append(known[tt.in], tt.key)
	}
	for _, tt := range prometheusEffects {
		known[config.KindSettings] = append(known[config.KindSettings], tt.key)
	}
	for _, tt := range zeroEffects {
		known[tt.in] = append(known[tt.in], tt.key)
	}
	for kind, names := range elsewhere {
		known[kind] = append(known[kind], names...)
	}
	documented := map[config.Kind][]string{}
	for _, key := range config.Catalogue() {
		documented[key.In] = append(documented[key.In], key.Name)
	}
	for _, names := range []map[config.Kind][]string{known, documented} {
		for kind := range names {
			slices.Sort(names[kind])
		}
	}
	if diff := cmp.Diff(documented, known); diff != "" {
		t.Errorf("keys (-documented +tested):\n%s", diff)
	}
}

func TestAnEntryChangesTheModelsThatItIsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, start{})
		l.configure(config.KindSaturation,
			"one", "model_id: m000\nkvCacheThreshold: 0.55",
			"others", "namespace: elsewhere\nkvCacheThreshold: 0.55")
		var got []string
		for _, s := range l.meter.Collect(t.Context(), l.fleet) {
			got = append(got, s.Model.ID+" "+l.analyze(memory.Record{}, s)[0].Signal.String())
		}
		if diff := cmp.Diff([]string{"m000 grow", "m001 steady", "m002 steady"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// atStart returns the keys of which it is documented that they wait for a start.
func atStart() []string {
	var out []string
	for _, key := range config.Catalogue() {
		if key.AtStart {
			out = append(out, key.Name)
		}
	}
	return out
}

func TestAnotherBackendWaitsForTheNextStart(t *testing.T) {
	l := newLab(t, start{})
	for range 2 {
		found := l.configure(config.KindSettings, "COLLECTOR_BACKEND", "pods", "GLOBAL_OPT_INTERVAL", "30s")
		if len(found) != 1 || !slices.Equal(atStart(), []string{found[0].Key}) || !strings.Contains(found[0].String(), "takes effect when the manager starts again; in force: prometheus") {
			t.Errorf("findings %v", found)
		}
		if o := l.now(); o.Collector.Backend != config.BackendPrometheus || o.Interval != 30*time.Second {
			t.Errorf("in force: backend %s, interval %s", o.Collector.Backend, o.Interval)
		}
	}
	// At the start it is the one that is built.
	pods := configMaps(l.process, config.KindSettings, "COLLECTOR_BACKEND", "pods")
	begin, err := newBeginning(l.process, pods, logr.Discard())
	if got := begin.candidates; err != nil || len(got) != 2 || got[0].Collector.Backend != config.BackendPods || got[1].Collector.Backend != config.BackendPrometheus {
		t.Errorf("candidates %+v, %v", got, err)
	}
}
