package cycle

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// randomSetup draws a case in which each model has a random engine, limited or not, and the inputs
// of that engine.
func randomSetup(r *rand.Rand) (Setup, Case) {
	types := []string{"A100", "H100", ""}
	e, c := randomCase(r)
	e.Interval, e.Inventory = time.Duration(r.IntN(3))*30*time.Second, scaling.Inventory{Known: r.IntN(5) > 0}
	for _, on := range types[:2] {
		e.Inventory.Groups = append(e.Inventory.Groups, scaling.NodeGroup{Accelerator: on, Total: 16, Free: []scaling.FreeNodes{{GPUs: scaling.Accelerators(1 + r.IntN(8)), Nodes: 1 + r.IntN(2)}}})
		if r.IntN(3) == 0 {
			e.Quotas = append(e.Quotas, scaling.Quota{Namespace: "ns0", Accelerator: on, GPUs: scaling.Accelerators(r.IntN(12))})
		}
	}
	reading := func(most float64) scaling.Reading {
		if r.IntN(12) == 0 {
			return scaling.Measured(most*r.Float64(), scaling.Freshness(r.IntN(5)))
		}
		return scaling.Measured(most*r.Float64(), scaling.Fresh)
	}
	for i, s := range c.Snapshots {
		how := e.settings(s.Model)
		how.Engine = []settings.Engine{settings.Saturation, settings.Queueing, settings.Hybrid}[r.IntN(3)]
		how.Method = []settings.Method{settings.Spare, settings.Tokens}[r.IntN(2)]
		how.Limited = r.IntN(2) == 0
		if r.IntN(8) > 0 {
			how.Objective = scaling.Objective{Class: "c", Priority: r.IntN(4), TTFT: 200 + 2000*r.Float64(), ITL: 20 + 40*r.Float64()}
		}
		e.Models[s.Model] = how
		s.Load = scaling.Load{
			ArrivalRate: reading(40), InputTokens: reading(1000), OutputTokens: reading(300), TTFT: reading(1000), ITL: reading(60),
			GatewayQueue: reading(20), PrefixHits: reading(1),
		}
		for j := range s.Variants {
			v := &s.Variants[j]
			v.Accelerator, v.GPUsPerReplica, v.CostSource = types[r.IntN(3)], 1<<r.IntN(3), scaling.CostVariant
			if r.IntN(4) == 0 {
				v.Workers, v.GPUsPerWorker = 1+r.IntN(3), scaling.Accelerators(1+r.IntN(4))
				v.GPUsRequested = scaling.Accelerators(v.Workers)*v.GPUsPerWorker + scaling.Accelerators(r.IntN(5))
			}
			if r.IntN(8) > 0 {
				v.Profile = scaling.Profile{Source: "x", Alpha: 30 * r.Float64(), Beta: r.Float64(), Gamma: 10 * r.Float64(), Delta: 0.05 * r.Float64(), MaxBatchSize: 1 + r.IntN(16)}
			}
			past, ok := c.History[v.Key]
			if ok && r.IntN(2) == 0 {
				past.Informed = []memory.Informed{{Analyzer: "queueing", At: now.Add(-time.Duration(r.IntN(240)) * time.Second)}}
				past.Backlog = memory.Backlog{Waiting: float64(r.IntN(20)), At: now.Add(-time.Minute), Falling: r.IntN(2) == 0}
				past.Capacity = memory.TokenCapacity{PerReplica: 1000 * r.Float64(), At: now.Add(-time.Hour)}
				c.History[v.Key] = past
			}
		}
		c.Snapshots[i] = randomRoles(s, r, reading)
	}
	return e, c
}

// randomRoles splits some models into prefill and decode.
func randomRoles(s scaling.Snapshot, r *rand.Rand, reading func(most float64) scaling.Reading) scaling.Snapshot {
	if r.IntN(3) > 0 {
		return s
	}
	for j := range s.Variants {
		s.Variants[j].Role = []scaling.Role{scaling.RoleDecode, scaling.RolePrefill}[r.IntN(2)]
	}
	decode, prefill := s.Load, s.Load
	decode.GatewayQueue, decode.PrefixHits = scaling.Reading{State: scaling.NotApplicable}, reading(1)
	prefill.ArrivalRate, prefill.OutputTokens, prefill.ITL = reading(40), scaling.Measured(1, scaling.Fresh), scaling.Reading{State: scaling.NotApplicable}
	s.Roles = []scaling.RoleLoad{{Role: scaling.RoleDecode, Load: decode}, {Role: scaling.RolePrefill, Load: prefill}}
	return s
}

// frozenOrPaused reports whether a pause, a freeze window or an approval may hold the variant
// against its plan.
func frozenOrPaused(v scaling.Variant) bool {
	return v.Paused || v.Freeze.Allow != "" || v.Approval.Required
}

// checkRoles checks that no plan gives or leaves replicas to one role of a model while the other
// role has none.
func checkRoles(t *testing.T, seed uint64, c Case, plan scaling.Plan) {
	t.Helper()
	type role struct {
		decided, runs scaling.Replicas
		grows, bound  bool
	}
	roles, variants := map[scaling.Part]role{}, variantsOf(c)
	for _, d := range plan.Decisions {
		of, v := roles[d.Part()], variants[d.Variant]
		of.decided, of.runs = of.decided+d.Target(), of.runs+d.Current
		of.grows = of.grows || d.Target() > max(d.Current, v.Bounds.Min) && !frozenOrPaused(v)
		of.bound = of.bound || v.Bounds.Max == 0 || frozenOrPaused(v)
		for _, s := range d.Steps {
			of.bound = of.bound || (s.Stage == scaling.StageBounds || s.Stage == scaling.StageCapacity) && s.To < s.From
		}
		roles[d.Part()] = of
	}
	for _, s := range c.Snapshots {
		p, hasP := roles[scaling.Part{Model: s.Model, Role: scaling.RolePrefill}]
		d, hasD := roles[scaling.Part{Model: s.Model, Role: scaling.RoleDecode}]
		if !hasP || !hasD {
			continue
		}
		for _, pair := range [][2]role{{p, d}, {d, p}} {
			has, none := pair[0], pair[1]
			if has.decided > 0 && none.decided == 0 && (has.grows || none.runs > 0 && !none.bound) {
				t.Errorf("seed %d: %s: one role alone: %+v beside %+v", seed, s.Model, has, none)
			}
		}
		if p.decided == 0 && d.decided == 0 && p.runs > 0 && d.runs > 0 && !d.bound {
			t.Errorf("seed %d: %s: decode goes to zero while prefill runs", seed, s.Model)
		}
	}
}

// checkSetup checks the rules of all engines.
func checkSetup(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 37))
	e, c := randomSetup(r)
	verdict := e.Decide(c)
	want := encode(t, verdict)
	if got := encode(t, e.Decide(shuffled(c, r))); got != want {
		t.Errorf("seed %d: the case shuffled:\n%s\n%s", seed, want, got)
	}
	variants := variantsOf(c)
	checkRoles(t, seed, c, verdict.Plan)
	for _, d := range verdict.Plan.Decisions {
		v, from := variants[d.Variant], d.Current
		cut := false
		for _, s := range d.Steps {
			if s.From != from || s.Reason == "" || s.Detail == "" {
				t.Errorf("seed %d: %s: step %+v does not follow %d or says nothing", seed, d.Variant, s, from)
			}
			from, cut = s.To, cut || s.Stage == scaling.StageCapacity
		}
		if v.Bounds.Clamp(d.Target()) != d.Target() && !cut {
			t.Errorf("seed %d: %s: target %d outside %+v", seed, d.Variant, d.Target(), v.Bounds)
		}
		held := max(d.Current, c.History.LastDesired(v))
		if s := e.Models[d.Model]; s.Limited && !e.Inventory.Known && d.Target() > held {
			t.Errorf("seed %d: %s: from %d to %d while the stock is not known", seed, d.Variant, held, d.Target())
		}
	}
	checkDoubt(t, seed, c, e)
}

// checkDoubt makes every reading too old to trust. Then no replica is removed, except by a bound or
// where other models are entitled to its accelerators.
func checkDoubt(t *testing.T, seed uint64, c Case, e Setup) {
	t.Helper()
	aging := func(readings ...*scaling.Reading) {
		for _, r := range readings {
			r.State = min(r.State, scaling.Aging)
		}
	}
	for i := range c.Snapshots {
		s := &c.Snapshots[i]
		aging(&s.Load.ArrivalRate, &s.Load.InputTokens, &s.Load.OutputTokens, &s.Load.GatewayQueue, &s.Load.ITL, &s.Load.TTFT)
		for j := range s.Replicas {
			r := &s.Replicas[j]
			aging(&r.KVCacheUsage, &r.QueueLength, &r.KVCacheUsageNow, &r.QueueLengthNow)
		}
	}
	for _, d := range e.Decide(c).Plan.Decisions {
		least := d.Current
		if past, ok := c.History[d.Variant]; ok && past.Desired > 0 {
			least = min(least, past.Desired)
		}
		if first := d.Steps[0]; first.To < least && reports(c, d.Part()) {
			t.Errorf("seed %d: %s: %d replicas after %s (%s), least known %d", seed, d.Variant, first.To, first.Reason, first.Detail, least)
		}
	}
}

func TestEveryEngineKeepsToTheRules(t *testing.T) {
	for seed := range uint64(race.Cases(500)) {
		if checkSetup(t, seed); t.Failed() {
			return
		}
	}
}

func FuzzSetup(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkSetup)
}

// TestLimitedModelsShareWhatThereIs: three models want more than the nodes have. The most important
// model gets what it needs, and each model gets its minimum.
func TestLimitedModelsShareWhatThereIs(t *testing.T) {
	e := Setup{Models: map[scaling.ModelKey]settings.Model{}, Interval: 15 * time.Second}
	c := Case{Now: now, History: memory.History{}}
	sites := map[string]*site{}
	for i, name := range []string{"gold", "silver", "bronze"} {
		v := siteVariant("v", 10, 1, 1)
		v.Bounds.Min = 1
		s := &site{variants: []scaling.Variant{v}, settings: covering["model"], rate: steady(45), startUp: 30 * time.Second, tick: 15 * time.Second, created: [][]time.Duration{{-time.Hour}}}
		s.settings.Limited, s.settings.Objective.Priority = true, 1+i
		sites[name] = s
	}
	const gpus = 10
	for t0 := time.Duration(0); t0 < 20*time.Minute; t0 += 15 * time.Second {
		c.Now, c.Snapshots = now.Add(t0), nil
		used := 0
		for name, s := range sites {
			s.serve(t0)
			snap := s.observe(t0)
			snap.Model = scaling.ModelKey{Namespace: name, ID: "m"}
			for j := range snap.Variants {
				snap.Variants[j].Key.Namespace, snap.Variants[j].Model, snap.Variants[j].Accelerator = name, snap.Model, "A100"
			}
			for j := range snap.Replicas {
				snap.Replicas[j].Variant.Namespace = name
			}
			used += len(s.created[0])
			c.Snapshots, e.Models[snap.Model] = append(c.Snapshots, snap), s.settings
		}
		if used > gpus {
			t.Fatalf("%s: %d replicas on %d accelerators", t0, used, gpus)
		}
		e.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{{Accelerator: "A100", Total: gpus}}}
		if free := gpus - used; free > 0 {
			e.Inventory.Groups[0].Free = []scaling.FreeNodes{{GPUs: 1, Nodes: free}}
		}
		verdict := e.Decide(c)
		c.History = verdict.History
		for _, d := range verdict.Plan.Decisions {
			s := sites[d.Variant.Namespace]
			for scaling.Replicas(len(s.created[0])) < d.Target() {
				s.created[0] = append(s.created[0], t0)
			}
			s.created[0] = s.created[0][:d.Target()]
		}
	}
	// 45 requests/s need 6 replicas of 8.9 each, and one more while a queue lasts.
	if gold, silver, bronze := len(sites["gold"].created[0]), len(sites["silver"].created[0]), len(sites["bronze"].created[0]); gold < 6 || silver < 1 || bronze < 1 || gold+silver+bronze != gpus || bronze > silver {
		t.Errorf("gold %d, silver %d, bronze %d of %d", gold, silver, bronze, gpus)
	}
}

// TestAModelGrowsOnAnotherVariantWhereStockIsShort covers all steps from the load to the grant: the
// cheapest choice is 16 cheap replicas, and 4 of them find an accelerator.
func TestAModelGrowsOnAnotherVariantWhereStockIsShort(t *testing.T) {
	s := site{
		variants: []scaling.Variant{siteVariant("cheap", 10, 1, 1), siteVariant("dear", 50, 2, 0)}, settings: covering["model"],
		rate: steady(140), tick: 15 * time.Second, created: [][]time.Duration{{-time.Hour}, nil}, ready: []float64{10},
	}
	s.settings.Limited = true
	snap := s.observe(0)
	e := Setup{Models: map[scaling.ModelKey]settings.Model{siteModel: s.settings}, Inventory: scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{
		{Accelerator: "cheap", Total: 4, Free: []scaling.FreeNodes{{GPUs: 3, Nodes: 1}}},
		{Accelerator: "dear", Total: 64, Free: []scaling.FreeNodes{{GPUs: 8, Nodes: 8}}},
	}}}
	got := map[string]scaling.Replicas{}
	for _, d := range e.Decide(Case{Now: now, Snapshots: []scaling.Snapshot{snap}}).Plan.Decisions {
		got[d.Variant.Name] = d.Target()
	}
	cheap, dear, least := perReplica(t, s.variants[0]), perReplica(t, s.variants[1]), math.Inf(1)
	for n := range 5 { // the stock of the cheap accelerator
		least = min(least, 10*float64(n)+50*math.Ceil((140-cheap*float64(n))/dear))
	}
	if cost := 10*float64(got["cheap"]) + 50*float64(got["dear"]); cost != least {
		t.Errorf("%v cost %g, the cheapest that can be had costs %g", got, cost, least)
	}
	if carries := cheap*float64(got["cheap"]) + dear*float64(got["dear"]); carries < 140 {
		t.Errorf("%v carry %.3g requests/s of 140", got, carries)
	}
}

// TestWhatAnalyzersLearnIsRemembered: the next cycle reads it from the History alone.
func TestWhatAnalyzersLearnIsRemembered(t *testing.T) {
	s := site{variants: []scaling.Variant{siteVariant("v", 10, 1, 2)}, settings: covering["hybrid with the tokens"], rate: steady(30), startUp: time.Minute, tick: 30 * time.Second}
	s.run(3 * time.Minute)
	past := s.past[s.variants[0].Key]
	if past.Capacity.PerReplica <= 0 || len(past.Capacity.Full) == 0 || past.Backlog.At.IsZero() || len(past.Informed) != 3 {
		t.Errorf("remembers %+v, %+v, %+v", past.Capacity, past.Backlog, past.Informed)
	}
}

func BenchmarkSetupOfAHundredModels(b *testing.B) {
	for _, limited := range []bool{false, true} {
		e, c := Setup{Models: map[scaling.ModelKey]settings.Model{}}, Case{Now: now, History: memory.History{}}
		for i := range 100 {
			s := site{
				variants: []scaling.Variant{siteVariant("v", 10, 1, 5), siteVariant("w", 24, 2.6, 3)}, settings: covering["hybrid with the tokens"], rate: steady(float64(90 + 3*i)),
				tick: 15 * time.Second, created: [][]time.Duration{make([]time.Duration, 5), make([]time.Duration, 3)}, ready: []float64{130},
			}
			s.settings.Limited, s.settings.Objective.Priority = limited, 1+i%3
			snap := s.observe(time.Hour)
			snap.Model.Namespace = string(rune('a'+i/26)) + string(rune('a'+i%26))
			for j := range snap.Variants {
				snap.Variants[j].Key.Namespace, snap.Variants[j].Model = snap.Model.Namespace, snap.Model
			}
			for j := range snap.Replicas {
				snap.Replicas[j].Variant.Namespace = snap.Model.Namespace
			}
			c.Snapshots, e.Models[snap.Model] = append(c.Snapshots, snap), s.settings
		}
		e.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{{Accelerator: "v", Total: 900, Free: []scaling.FreeNodes{{GPUs: 8, Nodes: 2}}}, {Accelerator: "w", Total: 900, Free: []scaling.FreeNodes{{GPUs: 8, Nodes: 10}}}}}
		name := "unlimited"
		if limited {
			name = "limited"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.Decide(c)
			}
		})
	}
}

// reports tells whether a part has a sample of a replica.
func reports(c Case, part scaling.Part) bool {
	for _, s := range c.Snapshots {
		for _, one := range s.Parts() {
			if one.Part() == part && len(one.Replicas) > 0 {
				return true
			}
		}
	}
	return false
}
