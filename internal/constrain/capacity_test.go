package constrain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// bid is one decision about a variant that is the only one of its model.
type bid struct {
	name       string // namespace/name
	on         string // accelerator
	gpus       int
	have, want scaling.Replicas
	min        scaling.Replicas
	rank       int
	load       float64
	cost       float64
	free       bool                 // not limited
	blind      bool                 // its load is unknown
	podless    scaling.Replicas     // of have, those whose pods do not exist yet
	stopped    bool                 // one of them has had no pod for a minute and three cycles
	asks       scaling.Accelerators // accelerators that the pod template requests
	asksNone   bool                 // the pod template requests none
	short      scaling.Accelerators // accelerators by which the requests of all pods fall short of asks for each
	homeless   scaling.Replicas     // of have, those that no node has taken for a minute and three cycles
	surplus    scaling.Replicas     // pods beyond have
	goes       scaling.Replicas     // by how many the last decision is below have
}

// contestOf returns the input and the plan of the bids.
func contestOf(inventory scaling.Inventory, quotas []scaling.Quota, bids ...bid) (Input, scaling.Plan) {
	in := Input{Now: start, Variants: map[scaling.VariantKey]scaling.Variant{}, History: memory.History{}, Limits: Limits{
		Models: map[scaling.ModelKey]LimitedModel{}, Inventory: inventory, Quotas: quotas,
	}}
	var plan scaling.Plan
	for _, b := range bids {
		namespace, name, ok := strings.Cut(b.name, "/")
		if !ok {
			namespace, name = "ns", b.name
		}
		key := scaling.VariantKey{Namespace: namespace, Name: name}
		model := scaling.ModelKey{Namespace: namespace, ID: name}
		in.Variants[key] = scaling.Variant{
			Key: key, Model: model, Accelerator: b.on, GPUsPerReplica: scaling.Accelerators(max(1, b.gpus)), GPUsRequested: b.asks, GPUsShort: b.short, Unaccelerated: b.asksNone, Cost: b.cost,
			Bounds: scaling.Bounds{Min: b.min, Max: scaling.Unbounded().Max}, Replicas: scaling.ReplicaCounts{Observed: true, Current: b.have, Ready: b.have - b.podless, Pending: b.podless, Podless: b.podless, Surplus: b.surplus},
		}
		if b.homeless+b.surplus+b.goes > 0 {
			v := in.Variants[key]
			v.Replicas.Ready, v.Replicas.Pending, v.Replicas.Unschedulable = v.Replicas.Ready-b.homeless, v.Replicas.Pending+b.homeless, b.homeless
			in.Variants[key] = v
			in.History[key] = memory.Past{
				Desired: b.have - b.goes, ProgressAt: start, Unplaced: memory.Unplaced{Replicas: b.homeless, Since: start.Add(-lostAfter), Cycles: lostCycles},
			}
		}
		if b.stopped {
			past := in.History[key]
			past.Podless = memory.Unplaced{Replicas: 1, Since: start.Add(-lostAfter), Cycles: lostCycles}
			in.History[key] = past
		}
		if !b.free {
			in.Limits.Models[model] = LimitedModel{Rank: b.rank, Utilization: map[scaling.VariantKey]float64{key: b.load}}
		}
		d := scaling.Decision{Variant: key, Model: model, Current: b.have, Fallback: b.blind}
		plan.Decisions = append(plan.Decisions, d.Then(scaling.StageOptimize, b.want, scaling.ReasonDemand, "wanted"))
	}
	return in, plan
}

// nodes returns a known inventory of one type, with the free accelerators of each node.
func nodes(accelerator string, free ...scaling.Accelerators) scaling.Inventory {
	g := scaling.NodeGroup{Accelerator: accelerator, Name: "pool"}
	for _, n := range free {
		g.Total += max(n, 8)
		if n > 0 {
			g.Free = append(g.Free, scaling.FreeNodes{GPUs: n, Nodes: 1})
		}
	}
	return scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{g}}
}

func targetsOf(p scaling.Plan) map[string]scaling.Replicas {
	out := map[string]scaling.Replicas{}
	for _, d := range p.Decisions {
		name := d.Variant.Name
		if d.Variant.Namespace != "ns" {
			name = d.Variant.String()
		}
		out[name] = d.Target()
	}
	return out
}

func TestCapacityGrantsWhatThereIs(t *testing.T) {
	a100 := func(gpus scaling.Accelerators) []scaling.Quota {
		return []scaling.Quota{{Namespace: "a", Accelerator: "A100", GPUs: gpus}, {Namespace: "b", Accelerator: "A100", GPUs: 4}}
	}
	for _, tc := range []struct {
		name      string
		inventory scaling.Inventory
		quotas    []scaling.Quota
		bids      []bid
		want      map[string]scaling.Replicas
		says      string // part of the detail of a step of the stage
	}{
		{"enough", nodes("A100", 8), nil, []bid{{name: "v", on: "A100", have: 1, want: 4, rank: 1}}, map[string]scaling.Replicas{"v": 4}, ""},
		{
			"not enough", nodes("A100", 2), nil,
			[]bid{{name: "v", on: "A100", have: 1, want: 4, rank: 1}},
			map[string]scaling.Replicas{"v": 3},
			"3 of 4 replicas: each needs 1 A100 on one node, and none is free of 8; held by ns/v (1)",
		},
		{
			"eight nodes with one each hold no replica of eight", nodes("H100", 1, 1, 1, 1, 1, 1, 1, 1), nil,
			[]bid{{name: "v", on: "H100", gpus: 8, want: 1, rank: 1}},
			map[string]scaling.Replicas{"v": 0},
			"8 nodes of pool with 1 free",
		},
		{"a small replica leaves the large hole", nodes("H100", 8, 1), nil, []bid{
			{name: "small", on: "H100", gpus: 1, want: 1, rank: 1}, {name: "large", on: "H100", gpus: 8, want: 1, rank: 2},
		}, map[string]scaling.Replicas{"small": 1, "large": 1}, ""},
		{"fragments are not lost", nodes("H100", 7), nil, []bid{
			{name: "large", on: "H100", gpus: 4, want: 2, rank: 1}, {name: "small", on: "H100", gpus: 1, want: 9, rank: 2},
		}, map[string]scaling.Replicas{"large": 1, "small": 3}, ""},
		{"another type", nodes("A100", 8), nil, []bid{{name: "v", on: "L40S", have: 1, want: 2, rank: 1}}, map[string]scaling.Replicas{"v": 1}, "none is free of 0"},
		{"an unknown type", nodes("A100", 8), nil, []bid{{name: "v", have: 1, want: 2, rank: 1}}, map[string]scaling.Replicas{"v": 1}, "accelerators of an unknown type"},
		{
			"the stock is not known",
			scaling.Inventory{},
			nil,
			[]bid{{name: "v", on: "A100", have: 1, want: 3, rank: 1}, {name: "less", on: "A100", have: 3, want: 2, rank: 1}},
			map[string]scaling.Replicas{"v": 1, "less": 2},
			"is not known",
		},
		{
			"the stock is not known, below the minimum",
			scaling.Inventory{},
			nil,
			[]bid{{name: "v", on: "A100", have: 1, want: 3, min: 2, rank: 1}},
			map[string]scaling.Replicas{"v": 1},
			"below minReplicas, 2",
		},
		{
			"who is not limited takes first", nodes("A100", 3), nil,
			[]bid{{name: "v", on: "A100", want: 2, rank: 1}, {name: "free", on: "A100", want: 2, free: true}},
			map[string]scaling.Replicas{"v": 1, "free": 2},
			"",
		},
		{
			"rank decides", nodes("A100", 3), nil,
			[]bid{{name: "a", on: "A100", want: 3, rank: 2, load: 9}, {name: "b", on: "A100", want: 2, rank: 1}},
			map[string]scaling.Replicas{"a": 1, "b": 2},
			"",
		},
		{
			"ranks before minimums", nodes("A100", 3), nil,
			[]bid{{name: "a", on: "A100", want: 3, min: 1, rank: 2}, {name: "b", on: "A100", want: 9, rank: 1}},
			map[string]scaling.Replicas{"a": 0, "b": 3},
			"",
		},
		{
			"minimums before equals", nodes("A100", 3), nil,
			[]bid{{name: "a", on: "A100", want: 3, min: 1, rank: 1}, {name: "b", on: "A100", want: 9, rank: 1, load: 9}},
			map[string]scaling.Replicas{"a": 1, "b": 2},
			"",
		},
		{
			"what shrinks is not granted before it is gone", nodes("A100", 0), nil,
			[]bid{{name: "a", on: "A100", have: 4, want: 2, rank: 1}, {name: "b", on: "A100", have: 1, want: 3, rank: 1}},
			map[string]scaling.Replicas{"a": 2, "b": 1},
			"",
		},
		{
			"what was granted and has no pod yet is not granted again", nodes("A100", 1), nil,
			[]bid{{name: "a", on: "A100", have: 3, want: 3, podless: 1, rank: 1}, {name: "b", on: "A100", have: 2, want: 3, rank: 1}},
			map[string]scaling.Replicas{"a": 3, "b": 2},
			"none is free of 8",
		},
		{
			"a lower rank returns to a higher", nodes("A100", 0), nil,
			[]bid{{name: "low", on: "A100", have: 4, want: 4, rank: 9}, {name: "high", on: "A100", have: 1, want: 3, rank: 1}},
			map[string]scaling.Replicas{"low": 2, "high": 1},
			"2 replicas with 1 A100 go back to ns/high",
		},
		{
			"the last replica and the minimum stay", nodes("A100", 0), nil,
			[]bid{
				{name: "low", on: "A100", have: 4, want: 4, min: 3, rank: 9},
				{name: "lower", on: "A100", have: 2, want: 2, rank: 10},
				{name: "high", on: "A100", have: 1, want: 9, rank: 1},
			},
			map[string]scaling.Replicas{"low": 3, "lower": 1, "high": 1},
			"",
		},
		{
			"equals take nothing from each other", nodes("A100", 0), nil,
			[]bid{{name: "a", on: "A100", have: 4, want: 4, rank: 1}, {name: "b", on: "A100", have: 1, want: 3, rank: 1}},
			map[string]scaling.Replicas{"a": 4, "b": 1},
			"held by ns/a (4), ns/b (1)",
		},
		{"but for what one does not need and the other lacks", nodes("A100", 0), nil, []bid{
			{name: "a", on: "A100", have: 4, want: 4, rank: 1, load: 0.6}, {name: "b", on: "A100", have: 1, want: 3, rank: 1, load: 2.5},
		}, map[string]scaling.Replicas{"a": 3, "b": 1}, "1 replica with 1 A100 given up for ns/b, which is asked for more than it serves; the others are filled to 80 % then"},
		{"as many as it does not need", nodes("A100", 0), nil, []bid{
			{name: "a", on: "A100", have: 4, want: 4, rank: 1, load: 0.4}, {name: "b", on: "A100", have: 1, want: 3, rank: 1, load: 2.5},
		}, map[string]scaling.Replicas{"a": 2, "b": 1}, ""},
		{"nor more than the other lacks", nodes("A100", 0), nil, []bid{
			{name: "a", on: "A100", have: 8, want: 8, rank: 1, load: 0.1}, {name: "b", on: "A100", have: 2, want: 9, rank: 1, load: 1.2},
		}, map[string]scaling.Replicas{"a": 7, "b": 2}, ""},
		{"nothing for one that lacks next to nothing", nodes("A100", 0), nil, []bid{
			{name: "a", on: "A100", have: 4, want: 4, rank: 1, load: 0.6}, {name: "b", on: "A100", have: 1, want: 3, rank: 1, load: 1.05},
		}, map[string]scaling.Replicas{"a": 4, "b": 1}, ""},
		{"nothing for a lower rank", nodes("A100", 0), nil, []bid{
			{name: "a", on: "A100", have: 4, want: 4, rank: 1, load: 0.1}, {name: "b", on: "A100", have: 1, want: 3, rank: 2, load: 2.5},
		}, map[string]scaling.Replicas{"a": 4, "b": 1}, ""},
		{
			"a minimum takes nothing from a higher rank", nodes("A100", 0), nil,
			[]bid{{name: "low", on: "A100", want: 2, min: 1, rank: 9}, {name: "high", on: "A100", have: 4, want: 4, rank: 1}},
			map[string]scaling.Replicas{"low": 0, "high": 4},
			"",
		},
		{
			"a minimum takes from an equal", nodes("A100", 0), nil,
			[]bid{{name: "a", on: "A100", want: 2, min: 1, rank: 1}, {name: "b", on: "A100", have: 4, want: 4, rank: 1}},
			map[string]scaling.Replicas{"a": 0, "b": 3},
			"",
		},
		{
			"nothing is taken on nothing known", nodes("A100", 0), nil,
			[]bid{{name: "low", on: "A100", have: 4, want: 4, rank: 9, blind: true}, {name: "high", on: "A100", have: 1, want: 3, rank: 1}},
			map[string]scaling.Replicas{"low": 4, "high": 1},
			"",
		},
		{
			"small replicas make no room for a large one", nodes("A100", 0), nil,
			[]bid{{name: "low", on: "A100", have: 8, want: 8, rank: 9}, {name: "high", on: "A100", gpus: 8, want: 1, rank: 1}},
			map[string]scaling.Replicas{"low": 8, "high": 0},
			"",
		},
		{"own quota", nodes("A100", 8), a100(4), []bid{{name: "a/v", on: "A100", have: 1, want: 4, rank: 1}}, map[string]scaling.Replicas{"a/v": 4}, ""},
		{
			"idle quota is borrowed", nodes("A100", 8), a100(2),
			[]bid{{name: "a/v", on: "A100", have: 1, want: 9, rank: 1}, {name: "b/w", on: "A100", have: 1, want: 1, rank: 1}},
			map[string]scaling.Replicas{"a/v": 5, "b/w": 1},
			"the quota of namespace a is 2 A100, 5 are in use, and of the 6 in all quotas 6 are",
		},
		{
			"owners before borrowers", nodes("A100", 8), a100(2),
			[]bid{{name: "a/v", on: "A100", have: 2, want: 9, rank: 1}, {name: "b/w", on: "A100", have: 1, want: 3, rank: 9}},
			map[string]scaling.Replicas{"a/v": 3, "b/w": 3},
			"",
		},
		{
			"what was borrowed is returned", nodes("A100", 8), a100(2),
			[]bid{{name: "a/v", on: "A100", have: 5, want: 5, rank: 1}, {name: "b/w", on: "A100", have: 1, want: 3, rank: 9}},
			map[string]scaling.Replicas{"a/v": 3, "b/w": 1},
			"go back to b/w",
		},
		{
			"a quota below a minimum", nodes("A100", 8),
			[]scaling.Quota{{Namespace: "a", Accelerator: "A100", GPUs: 1}},
			[]bid{{name: "a/v", on: "A100", have: 1, want: 3, min: 3, rank: 1}},
			map[string]scaling.Replicas{"a/v": 1},
			"below minReplicas, 3",
		},
		{
			"no quota of the type", nodes("A100", 8),
			[]scaling.Quota{{Namespace: "a", Accelerator: "H100", GPUs: 1}},
			[]bid{{name: "a/v", on: "A100", have: 1, want: 3, rank: 1}},
			map[string]scaling.Replicas{"a/v": 3},
			"",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, plan := contestOf(tc.inventory, tc.quotas, tc.bids...)
			got := Capacity(in, plan)
			if diff := cmp.Diff(tc.want, targetsOf(got)); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			var said []string
			for _, d := range got.Decisions {
				if last := d.Steps[len(d.Steps)-1]; last.Stage == scaling.StageCapacity {
					said = append(said, last.Detail)
				}
			}
			if !strings.Contains(strings.Join(said, "\n"), tc.says) {
				t.Errorf("said %q, want %q in it", said, tc.says)
			}
		})
	}
}

// TestBorrowedIsBackWithinTwoCycles applies the decisions of each cycle.
func TestBorrowedIsBackWithinTwoCycles(t *testing.T) {
	quotas := []scaling.Quota{{Namespace: "a", Accelerator: "A100", GPUs: 2}, {Namespace: "b", Accelerator: "A100", GPUs: 6}}
	a, b := bid{name: "a/v", on: "A100", have: 8, want: 8, rank: 1}, bid{name: "b/w", on: "A100", have: 0, want: 6, rank: 50}
	for range 2 {
		in, plan := contestOf(nodes("A100", scaling.Accelerators(8-a.have-b.have)), quotas, a, b)
		got := targetsOf(Capacity(in, plan))
		a.have, b.have = got["a/v"], got["b/w"]
	}
	if a.have != 2 || b.have != 6 {
		t.Errorf("after two cycles the borrower has %d and the owner %d, want 2 and 6", a.have, b.have)
	}
}

// randomContest draws bids of a few namespaces and types.
func randomContest(r *rand.Rand) (Input, scaling.Plan) {
	types := []string{"A100", "H100"}
	inventory := scaling.Inventory{Known: r.IntN(8) > 0}
	for _, on := range types {
		for group := range 1 + r.IntN(2) {
			g := scaling.NodeGroup{Accelerator: on, Name: fmt.Sprint("g", group), Total: 64}
			for n := scaling.Accelerators(1); n <= 8; n++ {
				if r.IntN(4) == 0 {
					g.Free = append(g.Free, scaling.FreeNodes{GPUs: n, Nodes: 1 + r.IntN(2)})
				}
				if r.IntN(8) == 0 {
					g.Free = append(g.Free, scaling.FreeNodes{GPUs: scaling.Accelerators(r.IntN(int(n))), Leaving: n, Nodes: 1})
				}
			}
			g.Promised = scaling.Accelerators(r.IntN(2) * r.IntN(9))
			inventory.Groups = append(inventory.Groups, g)
		}
	}
	var quotas []scaling.Quota
	for _, ns := range []string{"a", "b"} {
		if r.IntN(2) == 0 {
			quotas = append(quotas, scaling.Quota{Namespace: ns, Accelerator: types[r.IntN(2)], GPUs: scaling.Accelerators(r.IntN(20))})
		}
	}
	var bids []bid
	for i := range 1 + r.IntN(6) {
		bids = append(bids, bid{
			name: fmt.Sprintf("%c/v%d", 'a'+rune(r.IntN(3)), i), on: types[r.IntN(2)], gpus: 1 << r.IntN(4), have: scaling.Replicas(r.IntN(5)), want: scaling.Replicas(r.IntN(8)), min: scaling.Replicas(r.IntN(3)),
			rank: 1 + r.IntN(3), load: float64(r.IntN(3)), cost: float64(r.IntN(3)), free: r.IntN(5) == 0, blind: r.IntN(6) == 0,
		})
		if b := &bids[i]; r.IntN(3) == 0 {
			b.homeless, b.surplus = scaling.Replicas(r.IntN(int(b.have+1))), scaling.Replicas(r.IntN(2))
		}
	}
	return contestOf(inventory, quotas, bids...)
}

// placeable reports, by trial, whether all replicas fit the free accelerators of the nodes at the
// same time.
func placeable(free []scaling.Accelerators, replicas []scaling.Accelerators) bool {
	if len(replicas) == 0 {
		return true
	}
	seen := map[scaling.Accelerators]bool{}
	for i, f := range free {
		if f < replicas[0] || seen[f] {
			continue
		}
		seen[f] = true
		free[i] -= replicas[0]
		ok := placeable(free, replicas[1:])
		free[i] = f
		if ok {
			return true
		}
	}
	return false
}

func checkCapacity(t *testing.T, in Input, plan scaling.Plan) {
	t.Helper()
	got := Capacity(in, plan)
	used, grown := map[holder]scaling.Accelerators{}, map[holder]bool{}
	added := map[string][]scaling.Accelerators{}
	anyFree := false
	for i, d := range got.Decisions {
		before, v := plan.Decisions[i], in.Variants[d.Variant]
		_, limited := in.Limits.Models[d.Model]
		anyFree = anyFree || !limited
		switch {
		case d.Target() > before.Target():
			t.Errorf("%s: grew from %d to %d", d.Variant, before.Target(), d.Target())
		case !limited && d.Target() != before.Target():
			t.Errorf("%s: cut although it is not limited", d.Variant)
		case !in.Limits.Inventory.Known && d.Target() < min(before.Target(), d.Current):
			t.Errorf("%s: shrunk to %d while the stock is not known", d.Variant, d.Target())
		case !in.Limits.Inventory.Known && limited && d.Target() > d.Current:
			t.Errorf("%s: grew to %d while the stock is not known", d.Variant, d.Target())
		case d.Fallback && d.Target() < min(before.Target(), d.Current):
			t.Errorf("%s: gave up replicas on nothing known", d.Variant)
		case d.Target() < min(before.Target(), d.Current, max(1, v.Bounds.Min)):
			t.Errorf("%s: starved of its minimum", d.Variant)
		case d.Target() != before.Target() && d.Steps[len(d.Steps)-1].Detail == "":
			t.Errorf("%s: cut without a word", d.Variant)
		}
		h := holder{d.Variant.Namespace, v.Accelerator}
		used[h] += v.GPUsPerReplica.Of(max(d.Current, d.Target()))
		grown[h] = grown[h] || limited && d.Target() > d.Current
		for range d.Target() - d.Current {
			if limited {
				added[v.Accelerator] = append(added[v.Accelerator], v.GPUsPerReplica)
			}
		}
	}
	for on, replicas := range added {
		var free []scaling.Accelerators
		for _, g := range in.Limits.Inventory.Groups {
			for _, f := range g.Free {
				if g.Accelerator == on {
					free = append(free, slices.Repeat([]scaling.Accelerators{f.GPUs}, f.Nodes)...)
				}
			}
		}
		slices.SortFunc(replicas, func(a, b scaling.Accelerators) int { return int(b - a) })
		if in.Limits.Inventory.Known && !placeable(free, replicas) {
			t.Errorf("%s: replicas of %v are promised from nodes with %v free", on, replicas, free)
		}
	}
	pool, out, grows := map[string]scaling.Accelerators{}, map[string]scaling.Accelerators{}, map[string]bool{}
	for _, q := range in.Limits.Quotas {
		h := holder{q.Namespace, q.Accelerator}
		pool[q.Accelerator] += q.GPUs
		out[q.Accelerator] += used[h]
		grows[q.Accelerator] = grows[q.Accelerator] || grown[h]
	}
	for on, n := range out {
		if n > pool[on] && grows[on] && !anyFree {
			t.Errorf("%s: %d in use and quotas for %d, and a variant grows", on, n, pool[on])
		}
	}
}

func TestCapacityIsNeverExceeded(t *testing.T) {
	for seed := range uint64(race.Cases(4000)) {
		r := rand.New(rand.NewPCG(seed, 17))
		in, plan := randomContest(r)
		checkCapacity(t, in, plan)
		want := targetsOf(Capacity(in, plan))
		r.Shuffle(len(plan.Decisions), func(i, j int) {
			plan.Decisions[i], plan.Decisions[j] = plan.Decisions[j], plan.Decisions[i]
		})
		r.Shuffle(len(in.Limits.Inventory.Groups), func(i, j int) {
			g := in.Limits.Inventory.Groups
			g[i], g[j] = g[j], g[i]
		})
		if diff := cmp.Diff(want, targetsOf(Capacity(in, plan))); diff != "" {
			t.Errorf("shuffled (-want +got):\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

func FuzzCapacity(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		in, plan := randomContest(rand.New(rand.NewPCG(seed, 19)))
		checkCapacity(t, in, plan)
	})
}

// limiterInputs are the requests of variants, and the GPUs of the nodes by product.
type limiterInputs struct {
	Decisions []struct {
		Accelerator, Variant string
		Cost, SpareCapacity  float64
		Current              scaling.Replicas
		GPUsPerReplica       int
		Target               scaling.Replicas
	}
	NodeInventory map[string]scaling.Accelerators
}

// acceleratorOf returns the accelerator of a product: the longest requested name that is a part of
// it, else its second word, as in the published inventory.
func (in limiterInputs) acceleratorOf(product string) string {
	best := ""
	for _, d := range in.Decisions {
		if len(d.Accelerator) > len(best) && strings.Contains("-"+product+"-", "-"+d.Accelerator+"-") {
			best = d.Accelerator
		}
	}
	if _, words, ok := strings.Cut(product, "-"); best == "" && ok {
		best, _, _ = strings.Cut(words, "-")
	}
	return best
}

// granted is what the published limiter decided for a variant.
type granted struct {
	Variant       string
	Target        scaling.Replicas
	GPUsAllocated int
	WasLimited    bool
}

// TestGoldenLimiter compares with the recorded cases. They differ, by intent, only in the words of
// a step, which name the type and who holds it.
func TestGoldenLimiter(t *testing.T) {
	for _, c := range goldentest.Read[limiterInputs, struct{ Decisions []granted }](t, "limiter") {
		inventory := scaling.Inventory{Known: true}
		for product, total := range c.Inputs.NodeInventory {
			on, free := c.Inputs.acceleratorOf(product), total
			for _, d := range c.Inputs.Decisions {
				if d.Accelerator == on {
					free -= scaling.Accelerators(d.GPUsPerReplica).Of(d.Current)
				}
			}
			g := scaling.NodeGroup{Accelerator: on, Total: total}
			if free > 0 {
				g.Free = []scaling.FreeNodes{{GPUs: free, Nodes: 1}}
			}
			inventory.Groups = append(inventory.Groups, g)
		}
		var bids []bid
		for _, d := range c.Inputs.Decisions {
			bids = append(bids, bid{name: d.Variant, on: d.Accelerator, gpus: d.GPUsPerReplica, have: d.Current, want: d.Target, rank: 1, load: 1 - d.SpareCapacity, cost: d.Cost})
		}
		in, plan := contestOf(inventory, nil, bids...)
		got := Capacity(in, plan)
		for i, d := range got.Decisions {
			want := c.Expected.Decisions[slices.IndexFunc(c.Expected.Decisions, func(e granted) bool { return e.Variant == d.Variant.Name })]
			limited := len(d.Steps) > len(plan.Decisions[i].Steps)
			allocated := in.Variants[d.Variant].GPUsPerReplica.Of(max(0, d.Target()-d.Current))
			if d.Target() != want.Target || limited != want.WasLimited || int(allocated) != want.GPUsAllocated {
				t.Errorf("%s %s: got %d, limited %v, %d allocated, want %+v", c.ID, want.Variant, d.Target(), limited, allocated, want)
			}
		}
	}
}
