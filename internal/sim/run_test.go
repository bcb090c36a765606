package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// restless wants a random number of replicas of every variant.
type restless struct {
	draws *rand.Rand
	every time.Duration
}

func (restless) Name() string              { return "restless" }
func (r restless) Interval() time.Duration { return r.every }

func (r restless) Decide(v View) ([]Target, error) {
	var targets []Target
	for _, s := range v.Snapshots {
		for _, variant := range s.Variants {
			targets = append(targets, Target{Variant: variant.Key, Replicas: scaling.Replicas(r.draws.IntN(5))})
		}
	}
	return targets, nil
}

// turmoil is two models that share a stock too small for what restless wants,
// with everything that can go wrong: refusals, preemption, kills, waiting in
// vain.
func turmoil(tb testing.TB, seed uint64) (Config, restless) {
	c := Config{Seed: seed, Interval: 10 * time.Second, Sync: 5 * time.Second, Tail: time.Minute, MissedScrapes: 0.1}
	for i, id := range []string{"m", "n"} {
		m := testModel(simtest.Chat(tb, "gamma(6,5m,cv=3)", seed+uint64(i)))
		m.Key.ID = id
		m.Hold = time.Duration(i) * 8 * time.Second
		m.Routing = Routing(int(seed) % 4)
		b := testVariant("b-" + id)
		m.Variants[0].Spec.Key.Name = "a-" + id
		m.Variants[0].Profile.MaxQueue = 20
		m.Variants[0].Profile.KVCacheTokens = 8192
		m.Variants[0].StartUp = StartUp{Mean: 9 * time.Second, Deviation: 4 * time.Second}
		b.Replicas, b.Grace, b.Spec.Accelerator, b.Spec.GPUsPerReplica = 0, 0, "H100", 2
		m.Variants = append(m.Variants, b)
		c.Models = append(c.Models, m)
		c.Faults = append(c.Faults, trials(m.Variants[0].Spec.Key, seed)...)
	}
	c.Nodes = []Nodes{{Accelerator: "L40S", Count: 5, GPUs: 1}, {Accelerator: "H100", Count: 1, GPUs: 4}}
	return c, restless{rand.New(rand.NewPCG(seed, 3)), 7 * time.Second}
}

func TestRequestsAreConservedAtEveryEvent(t *testing.T) {
	var total Counts
	for seed := range uint64(4) {
		c, policy := turmoil(t, seed)
		events := 0
		c.check = func(w *world) error {
			events++
			if err := w.conserved(); err != nil {
				return err
			}
			return stockIsConserved(w)
		}
		r, err := Run(t.Context(), c, policy)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if events < 3000 {
			t.Errorf("seed %d: %d events, want thousands", seed, events)
		}
		for _, m := range r.Models {
			total.Finished += m.Counts.Finished
			total.Rejected += m.Counts.Rejected
			total.Expired += m.Counts.Expired
			total.Lost += m.Counts.Lost
			total.Held += m.Counts.Held
			if got := m.Counts.ended() + m.Unfinished; got != m.Counts.Arrived {
				t.Errorf("seed %d: %d requests of %s ended or are unfinished, %d arrived", seed, got, m.Model, m.Counts.Arrived)
			}
		}
	}
	if total.Finished == 0 || total.Rejected == 0 || total.Expired == 0 || total.Lost == 0 || total.Held == 0 {
		t.Errorf("the turmoil is too quiet: %+v", total)
	}
}

// stockIsConserved checks that what nodes lack is what replicas hold.
func stockIsConserved(w *world) error {
	held := map[string]scaling.Accelerators{}
	for _, v := range w.variants {
		for _, p := range slices.Concat(v.pods, v.leaving) {
			if p.node >= 0 {
				held[v.Spec.Accelerator] += v.Spec.GPUsPerReplica
			}
		}
	}
	for _, n := range w.cfg.Nodes {
		free := scaling.Accelerators(0)
		for _, gpus := range w.stock[n.Accelerator] {
			if gpus < 0 || gpus > n.GPUs {
				return fmt.Errorf("a node with %s has %d of %d free", n.Accelerator, gpus, n.GPUs)
			}
			free += gpus
		}
		if free+held[n.Accelerator] != n.GPUs.Times(n.Count) {
			return fmt.Errorf("%d free and %d held of %d %s", free, held[n.Accelerator], n.GPUs.Times(n.Count), n.Accelerator)
		}
	}
	return nil
}

func TestSameSeedGivesTheSameBytes(t *testing.T) {
	once := func(seed uint64) []byte {
		c, policy := turmoil(t, seed)
		var out bytes.Buffer
		write := func(v any) {
			if err := json.NewEncoder(&out).Encode(v); err != nil {
				t.Error(err)
			}
		}
		c.OnInterval = func(i Interval) { write(i) }
		c.OnDecision = func(at time.Duration, target Target) { write([]any{at, target}) }
		r, err := Run(t.Context(), c, policy)
		if err != nil {
			t.Fatal(err)
		}
		write(r)
		return out.Bytes()
	}
	if a, b := once(4), once(4); !bytes.Equal(a, b) {
		t.Error("two runs with one seed differ")
	}
	if a, b := once(4), once(5); bytes.Equal(a, b) {
		t.Error("two seeds give the same run")
	}
}

func TestRunLeavesItsConfigAlone(t *testing.T) {
	c, policy := turmoil(t, 1)
	var before []scaling.Variant
	for _, m := range c.Models {
		for _, v := range m.Variants {
			before = append(before, v.Spec)
		}
	}
	if _, err := Run(t.Context(), c, policy); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Models {
		for _, v := range m.Variants {
			if v.Spec != before[0] {
				t.Errorf("variant %+v became %+v", before[0], v.Spec)
			}
			before = before[1:]
		}
	}
}

// TestMemoryDoesNotGrowWithTheLengthOfTheTrace compares what a run keeps with
// what is in flight and what the windows hold.
func TestMemoryDoesNotGrowWithTheLengthOfTheTrace(t *testing.T) {
	c := testConfig(simtest.Chat(t, "constant(8,1h)", 1))
	inFlight, slots, pages, agenda, pods := 0, 0, 0, 0, 0
	c.check = func(w *world) error {
		inFlight = max(inFlight, w.models[0].inFlight())
		slots, agenda = len(w.requests.slots), max(agenda, len(w.agenda.heap))
		v := w.variants[0]
		pods = max(pods, len(v.pods)+len(v.leaving)+len(v.gone))
		for _, p := range v.pods {
			pages = max(pages, len(p.pages), len(w.models[0].pages))
		}
		return nil
	}
	r, err := Run(t.Context(), c, &restless{rand.New(rand.NewPCG(1, 1)), 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if n := int(r.Models[0].Counts.Arrived); n < 25_000 || slots > 2*inFlight {
		t.Errorf("%d requests took %d slots with at most %d in flight", n, slots, inFlight)
	}
	if perPod := int(remembered / c.withDefaults().ScrapeInterval); pages > 2*perPod+2 || agenda > 50 || pods > 20 {
		t.Errorf("kept %d pages (%d are needed), %d events, %d pods", pages, perPod, agenda, pods)
	}
}

// trace is requests at the given seconds, all of one length.
func trace(input, output int, seconds ...float64) func(func(workload.Request, error) bool) {
	return func(yield func(workload.Request, error) bool) {
		for _, s := range seconds {
			if !yield(workload.Request{At: time.Duration(s * float64(time.Second)), InputTokens: input, OutputTokens: output}, nil) {
				return
			}
		}
	}
}

// want is a target of the variant that testConfig has.
func want(replicas scaling.Replicas) []Target {
	return []Target{{Variant: scaling.VariantKey{Namespace: "ns", Name: "a"}, Replicas: replicas}}
}

func TestModelAtZeroHoldsRequestsUntilAReplicaIsReady(t *testing.T) {
	c := testConfig(trace(100, 2, 1, 5))
	c.Models[0].Variants[0].Replicas = 0
	r, err := Run(t.Context(), c, &scripted{every: 10 * time.Second, targets: [][]Target{want(1)}})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Models[0]
	if m.Counts.Held != 2 || m.Counts.Finished != 2 || m.Variants[0].ColdStarts != 1 {
		t.Errorf("got %+v and %d cold starts, want both held, both finished, one cold start", m.Counts, m.Variants[0].ColdStarts)
	}
	// Decided at 10s, ready 30s later: the first waited 39s, the second 35s. Both
	// are prefilled in one step of gamma + 200 * delta = 23 ms.
	if got, want := m.TTFT.Max, 39_023.0; got != want {
		t.Errorf("the longest TTFT is %g ms, want %g", got, want)
	}
	if m.Attainment != 0 {
		t.Errorf("the attainment is %g, want 0: both waited for longer than their objective", m.Attainment)
	}
}

func TestRequestsWithoutAReplicaAreRejectedOrExpire(t *testing.T) {
	for _, tt := range []struct {
		hold time.Duration
		want Counts
	}{
		{0, Counts{Arrived: 2, Rejected: 2}},
		{20 * time.Second, Counts{Arrived: 2, Expired: 2, Held: 2}},
		{37 * time.Second, Counts{Arrived: 2, Expired: 1, Held: 2, Finished: 1, OutputTokens: 2, MetITL: 1}},
	} {
		c := testConfig(trace(100, 2, 1, 5))
		c.Models[0].Variants[0].Replicas, c.Models[0].Hold = 0, tt.hold
		r, err := Run(t.Context(), c, &scripted{every: 10 * time.Second, targets: [][]Target{want(1)}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, r.Models[0].Counts); diff != "" {
			t.Errorf("held for %s (-want +got):\n%s", tt.hold, diff)
		}
	}
}

// TestRemovedReplicaDrainsWithinItsGrace: the request takes 18.35 ms for each of
// 1000 tokens, 18s in all, and the replica is removed 5s after it came.
func TestRemovedReplicaDrainsWithinItsGrace(t *testing.T) {
	for _, tt := range []struct {
		grace          time.Duration
		finished, lost uint64
		hours          time.Duration
	}{
		{30 * time.Second, 1, 0, 23343650*time.Microsecond + 1},
		{10 * time.Second, 0, 1, 20 * time.Second},
		{0, 0, 1, 10 * time.Second},
	} {
		c := testConfig(trace(100, 1000, 5))
		c.Models[0].Variants[0].Grace, c.Duration = tt.grace, time.Hour
		r, err := Run(t.Context(), c, &scripted{every: 10 * time.Second, targets: [][]Target{want(0)}})
		if err != nil {
			t.Fatal(err)
		}
		m := r.Models[0]
		if m.Counts.Finished != tt.finished || m.Counts.Lost != tt.lost {
			t.Errorf("grace %s: got %+v, want %d finished and %d lost", tt.grace, m.Counts, tt.finished, tt.lost)
		}
		if got := time.Duration(m.Variants[0].ReplicaHours * float64(time.Hour)); (got - tt.hours).Abs() > 30*time.Millisecond {
			t.Errorf("grace %s: the replica cost for %s, want %s", tt.grace, got, tt.hours)
		}
	}
}

func TestReplicasWaitForANodeAndCostNothingMeanwhile(t *testing.T) {
	c := testConfig(trace(10, 1, 0))
	c.Nodes = []Nodes{{Accelerator: "L40S", Count: 2, GPUs: 1}}
	c.Duration = time.Hour
	var last scaling.ReplicaCounts
	policy := &scripted{
		every: time.Minute, targets: [][]Target{want(4)},
		seen: func(v View) { last = v.Snapshots[0].Variants[0].Replicas },
	}
	r, err := Run(t.Context(), c, policy)
	if err != nil {
		t.Fatal(err)
	}
	if last.Current != 4 || last.Ready != 2 || last.Pending != 2 || last.Unschedulable != 2 {
		t.Errorf("the policy sees %+v, want 2 of 4 ready and 2 without a node", last)
	}
	got, want := r.Models[0].Variants[0].ReplicaHours, (time.Hour + 59*time.Minute).Hours()
	if got != want {
		t.Errorf("replica-hours %g, want %g: one from the start and one from the first minute", got, want)
	}
}

func TestUnplacedAndYoungReplicasAreRemovedFirst(t *testing.T) {
	c := testConfig(trace(10, 1, 0))
	c.Nodes = []Nodes{{Accelerator: "L40S", Count: 3, GPUs: 1}}
	c.Duration = 6 * time.Minute
	var names [][]string
	policy := &scripted{
		// Two more are started, then one without room, then they go one by one.
		every: time.Minute, targets: [][]Target{want(2), want(4), want(3), want(2), want(1)},
		seen: func(v View) {
			var now []string
			for _, p := range v.Models[0].Pods {
				now = append(now, strings.TrimPrefix(p.Name, "a-0000"))
			}
			names = append(names, now)
		},
	}
	if _, err := Run(t.Context(), c, policy); err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"1"}, {"1", "2"}, {"1", "2", "3", "4"}, {"1", "2", "3"}, {"1", "2"}}
	if diff := cmp.Diff(want, names[:5]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStartUpTimesHaveTheirMeanAndDeviation(t *testing.T) {
	s := StartUp{Mean: 108 * time.Second, Deviation: 20 * time.Second}
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 20_000
	var sum, square float64
	for range n {
		d := s.Draw(rng).Seconds()
		sum += d
		square += d * d
	}
	mean := sum / n
	deviation := square/n - mean*mean
	if mean < 107.5 || mean > 108.5 || deviation < 19*19 || deviation > 21*21 {
		t.Errorf("mean %g s and variance %g, want 108 and 400", mean, deviation)
	}
}

func TestRoutingUsesEveryReplica(t *testing.T) {
	for routing := RoundRobin; routing <= KVAware; routing++ {
		name, err := ParseRouting(routing.String())
		if err != nil || name != routing {
			t.Errorf("%s is read as %v, %v", routing, name, err)
		}
		c := testConfig(simtest.Chat(t, "constant(12,10m)", 1))
		c.Models[0].Routing = routing
		c.Models[0].Variants[0].Replicas = 4
		uneven := 0.0
		c.check = func(w *world) error {
			least, most := 1<<30, 0
			for _, p := range w.variants[0].pods {
				least, most = min(least, p.live), max(most, p.live)
			}
			uneven = max(uneven, float64(most-least))
			return nil
		}
		r, err := Run(t.Context(), c, hold())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Models[0].Attainment; got < 0.99 {
			t.Errorf("%s: the attainment is %g, want almost 1 with four replicas", routing, got)
		}
		if bound := map[Routing]float64{RoundRobin: 45, LeastLoaded: 10, KVAware: 40}[routing]; uneven > bound {
			t.Errorf("%s: one replica holds %g requests more than another, want at most %g", routing, uneven, bound)
		}
	}
	if _, err := ParseRouting("roundrobin"); err == nil || !strings.Contains(err.Error(), "did you mean round-robin?") {
		t.Errorf("a routing without its dash: got %v", err)
	}
	if _, err := ParseRouting("random"); err == nil || !strings.Contains(err.Error(), "least-loaded") {
		t.Errorf("an unknown routing gives %v, want an error that names the known ones", err)
	}
}

// TestEngineFollowsTheLoad is the closed loop: a step that one replica cannot
// carry, and its end.
func TestEngineFollowsTheLoad(t *testing.T) {
	c := testConfig(simtest.Chat(t, "constant(1,10m),constant(12,20m),constant(1,40m)", 1))
	c.Sync = 15 * time.Second
	c.Models[0].Variants[0].Grace = 2 * time.Minute // longer than any answer
	most, last := scaling.Replicas(0), scaling.Replicas(0)
	c.OnInterval = func(i Interval) { most, last = max(most, i.Variants[0].Ready), i.Variants[0].Wanted }
	reasons := map[string]bool{}
	c.OnDecision = func(_ time.Duration, target Target) { reasons[target.Reason] = true }
	r, err := Run(t.Context(), c, testEngine(saturation.Default()))
	if err != nil {
		t.Fatal(err)
	}
	if most < 2 || last != 1 {
		t.Errorf("the engine rose to %d replicas and ended with %d, want 2 or more, and 1", most, last)
	}
	if !reasons[string(scaling.ReasonSaturated)] || !reasons[string(scaling.ReasonSpareCapacity)] {
		t.Errorf("the decisions give the reasons %v, want a growth and a reduction among them", reasons)
	}
	if r.Models[0].Counts.Finished != r.Models[0].Counts.Arrived {
		t.Errorf("%+v: want all requests finished", r.Models[0].Counts)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	valid := func() Config { return testConfig(trace(10, 1, 0)) }
	broken := errors.New("line 7: no")
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no model":        {func(c *Config) { c.Models = nil }, "models is empty, want one model or more"},
		"scrape interval": {func(c *Config) { c.ScrapeInterval = time.Hour }, "scrapeInterval is 1h0m0s, want 2m30s or less"},
		"missed scrapes":  {func(c *Config) { c.MissedScrapes = 1 }, "missedScrapes is 1, want a ratio in [0, 1)"},
		"profile":         {func(c *Config) { c.Models[0].Variants[0].Profile.KVCacheTokens = 4 }, `models[0].variants[0].profile "8b": kvCacheTokens is 4`},
		"same key twice":  {func(c *Config) { c.Models = append(c.Models, c.Models[0]) }, "models[1].key is ns/m, want a key not used before"},
		"too few nodes":   {func(c *Config) { c.Nodes = []Nodes{{"L40S", 0, 8}} }, "replicas of ns/a is 1, want at most 0"},
		"node too small": {
			func(c *Config) { c.Models[0].Variants[0].Spec.GPUsPerReplica = 9; c.Nodes = []Nodes{{"L40S", 1, 8}} },
			"models[0].variants[0].spec.gpusPerReplica is 9, want at most 8",
		},
		"workload": {func(c *Config) {
			c.Models[0].Requests = func(yield func(workload.Request, error) bool) { yield(workload.Request{}, broken) }
		}, "reading the workload of ns/m after 0 requests: line 7: no"},
		"order of time": {func(c *Config) { c.Models[0].Requests = trace(1, 1, 3, 2) }, "request 2 of the workload of ns/m arrives at 2s, before the 3s"},
	} {
		c := valid()
		tt.change(&c)
		if _, err := Run(t.Context(), c, hold()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tt.want)
		}
	}
	if _, err := Run(t.Context(), valid(), &scripted{every: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "100ms or more") {
		t.Errorf("a policy without an interval: got %v", err)
	}
	stranger := []Target{{Variant: scaling.VariantKey{Name: "x"}, Replicas: 1}}
	if _, err := Run(t.Context(), testConfig(simtest.Chat(t, "constant(1,1m)", 1)), &scripted{every: time.Second, targets: [][]Target{stranger}}); err == nil || !strings.Contains(err.Error(), "want a variant of the run") {
		t.Errorf("a policy that names a stranger: got %v", err)
	}
}

func TestInterruptedRunReportsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := testConfig(simtest.Chat(t, "constant(5,10h)", 1))
	c.OnInterval = func(i Interval) {
		if i.End >= time.Hour {
			cancel()
		}
	}
	r, err := Run(ctx, c, hold())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v, want that of the context", err)
	}
	if r.Complete || r.Horizon < time.Hour || r.Horizon > 2*time.Hour || r.Models[0].Counts.Finished == 0 {
		t.Errorf("got complete %t after %s with %+v, want what happened in a little more than an hour", r.Complete, r.Horizon, r.Models[0].Counts)
	}
}
