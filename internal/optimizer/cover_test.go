package optimizer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var coverNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fleet describes one variant: its replicas, the cost of one and the demand that one carries.
type fleet struct {
	name          string
	cost, carries float64
	replicas      scaling.Replicas
	change        func(*scaling.Variant, *memory.Past)
	silent        scaling.Replicas // Ready replicas that report nothing
}

// votes returns the input in which one analyzer knows the demand.
func votes(demand float64, signal scaling.Signal, fleets ...fleet) Votes {
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	in := Votes{Snapshot: scaling.Snapshot{Model: model, At: coverNow, Window: time.Minute}, History: memory.History{}}
	a := scaling.Analysis{Model: model, Analyzer: "queueing", Signal: signal, Unit: scaling.UnitRequestRate, Demand: demand, Reason: scaling.ReasonDemand, Detail: "as measured"}
	for _, f := range fleets {
		v := scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: f.name}, Model: model, Cost: f.cost, CostSource: scaling.CostVariant, Bounds: scaling.Unbounded(),
			GPUsPerReplica: 1, StartUp: time.Minute, Replicas: scaling.ReplicaCounts{Observed: true, Current: f.replicas, Ready: f.replicas},
		}
		past := memory.Past{Desired: f.replicas, DecidedAt: coverNow.Add(-time.Hour), ProgressAt: coverNow.Add(-time.Hour)}
		if f.change != nil {
			f.change(&v, &past)
		}
		in.Snapshot.Variants = append(in.Snapshot.Variants, v)
		in.History[v.Key] = past
		for i := range v.Replicas.Ready - f.silent {
			in.Snapshot.Replicas = append(in.Snapshot.Replicas, scaling.ReplicaSample{
				Pod: fmt.Sprint(f.name, i), Variant: v.Key, Ready: true, KVCacheUsage: scaling.Measured(0.5, scaling.Fresh), QueueLength: scaling.Measured(0, scaling.Fresh),
			})
		}
		a.Variants = append(a.Variants, scaling.Capacity{Variant: v.Key, PerReplica: f.carries})
	}
	in.Analyses = []scaling.Analysis{a}
	return in
}

// ordered makes a variant wait since some time for an order, so that desired may exceed its current
// replicas.
func ordered(desired scaling.Replicas, since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(v *scaling.Variant, p *memory.Past) {
		p.Desired, p.Change, p.DecidedAt, p.ProgressAt, p.Before = desired, 1, coverNow.Add(-since), coverNow.Add(-since), v.Replicas.Ready
	}
}

// begun sets when a variant was first seen.
func begun(since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(_ *scaling.Variant, p *memory.Past) {
		p.DecidedAt, p.ProgressAt = coverNow.Add(-since), coverNow.Add(-since)
	}
}

// fromReplicas marks the demand as estimated from the replicas.
func fromReplicas(v *Votes) { v.Analyses[0].FromReplicas = true }

// unplaced adds n replicas to a variant that no node has taken for some time.
func unplaced(n scaling.Replicas, since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(v *scaling.Variant, p *memory.Past) {
		ordered(p.Desired+n, since)(v, p)
		p.Before = 0 // other replicas have arrived
		v.Replicas.Current, v.Replicas.Pending, v.Replicas.Unschedulable = v.Replicas.Current+n, n, n
	}
}

// failing adds n replicas to a variant that have a node and never start.
func failing(n scaling.Replicas) func(*scaling.Variant, *memory.Past) {
	return func(v *scaling.Variant, p *memory.Past) {
		ordered(p.Desired+n, time.Hour)(v, p)
		p.Before = 0 // other replicas have arrived
		v.Replicas.Current, v.Replicas.Pending = v.Replicas.Current+n, n
	}
}

// absent makes a variant one whose target was deleted; unread, one whose target has been unreadable
// for a second.
func absent(v *scaling.Variant, _ *memory.Past) {
	v.Replicas, v.Missing, v.Gone = scaling.ReplicaCounts{}, "not found", true
}

func unread(v *scaling.Variant, p *memory.Past) {
	v.Replicas, v.Missing, p.UnseenSince = scaling.ReplicaCounts{}, "timed out", coverNow.Add(-time.Second)
}

// movedTo makes the last change of a variant a move to so many replicas, from a model
// that cost 170 an hour.
func movedTo(replicas scaling.Replicas, since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(_ *scaling.Variant, p *memory.Past) {
		p.Change, p.MoveTo, p.DecidedAt, p.ProgressAt = 1, replicas, coverNow.Add(-since), coverNow.Add(-since)
		p.MoveCost = 170
	}
}

// cancelledMove makes the cancelled order of a move the last change of a variant.
func cancelledMove(since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(v *scaling.Variant, p *memory.Past) {
		movedTo(0, since)(v, p)
		p.Change = -1
	}
}

// gaveUp makes a reduction the last change of a variant.
func gaveUp(since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(v *scaling.Variant, p *memory.Past) { begun(since)(v, p); p.Change = -1 }
}

// failed makes a variant one whose order was cancelled. undone makes its model one that grew again,
// some time ago, at the load at which it was reduced.
func failed(_ *scaling.Variant, p *memory.Past) {
	p.Failures = memory.Failures{Count: 1, At: coverNow.Add(-time.Minute)}
}

func undone(since time.Duration) func(*scaling.Variant, *memory.Past) {
	return func(_ *scaling.Variant, p *memory.Past) {
		p.Turns = memory.Turns{Undone: 1, At: coverNow.Add(-since), Wrong: 1000, Enough: 94, Load: 1000, Seen: coverNow}
	}
}

// tooSmall makes a model one for which, half an hour ago, a fleet at cost few per hour was too
// small for 1000 tokens/s. load is the present load in tokens/s.
func tooSmall(few, load float64) func(*scaling.Variant, *memory.Past) {
	return func(v *scaling.Variant, p *memory.Past) {
		undone(30*time.Minute)(v, p)
		p.Turns.Few, p.Turns.Load = few, load
	}
}

// attained makes attainment correct the capacity of replicas.
func attained(v *Votes) { v.Attained = true }

func TestCoverTakesTheCheapestThatCarriesAll(t *testing.T) {
	max2 := func(v *scaling.Variant, _ *memory.Past) { v.Bounds.Max = 2 }
	for _, tc := range []struct {
		name   string
		in     Votes
		change func(*Votes)
		want   string
		reason scaling.Reason // of the first step that changes the number, else of the first
	}{
		{"enough", votes(10, scaling.Steady, fleet{"a", 10, 5, 2, nil, 0}), nil, "a:2", scaling.ReasonSteady},
		{"as many as it takes at once", votes(48, scaling.Grow, fleet{"a", 10, 5, 1, nil, 0}), nil, "a:10", scaling.ReasonDemand},
		{"the cheapest per request", votes(15, scaling.Grow, fleet{"a", 10, 4, 1, nil, 0}, fleet{"b", 24, 12, 0, nil, 0}), nil, "a:1 b:1", scaling.ReasonDemand},
		{"a mix is cheaper than either", votes(17, scaling.Grow, fleet{"a", 10, 4, 1, nil, 0}, fleet{"b", 24, 11, 0, nil, 0}), nil, "a:2 b:1", scaling.ReasonDemand},
		{"costs are equal: by name", votes(10, scaling.Grow, fleet{"b", 10, 5, 1, nil, 0}, fleet{"a", 10, 5, 0, nil, 0}), nil, "a:1 b:1", scaling.ReasonDemand},
		{"up to the most", votes(100, scaling.Grow, fleet{"a", 10, 5, 1, max2, 0}), nil, "a:2", scaling.ReasonDemand},
		{"beyond the most of the cheap", votes(20, scaling.Grow, fleet{"a", 10, 5, 1, max2, 0}, fleet{"b", 50, 5, 0, nil, 0}), nil, "a:2 b:2", scaling.ReasonDemand},
		{"no variant can take more", votes(100, scaling.Grow, fleet{"a", 10, 5, 2, max2, 0}), nil, "a:2", scaling.ReasonNoCandidate},
		{"what was ordered counts", votes(20, scaling.Steady, fleet{"a", 10, 5, 1, ordered(4, time.Second), 0}), nil, "a:4", scaling.ReasonInTransition},
		{"more on top of what was ordered", votes(30, scaling.Grow, fleet{"a", 10, 5, 1, ordered(4, time.Second), 0}), nil, "a:6", scaling.ReasonDemand},
		{
			"an order that never arrives does not", votes(20, scaling.Steady, fleet{"a", 10, 5, 1, ordered(4, time.Hour), 0}, fleet{"b", 50, 5, 0, nil, 0}), nil,
			"a:4 b:3", scaling.ReasonDemand,
		},
		{
			"a pod that waits for a node makes no variant wait",
			votes(30, scaling.Grow, fleet{"a", 10, 5, 1, unplaced(1, time.Second), 0}, fleet{"b", 50, 5, 0, nil, 0}), nil, "a:6 b:0", scaling.ReasonDemand,
		},
		{
			"no node takes more of it", votes(30, scaling.Grow, fleet{"a", 10, 5, 1, unplaced(1, 2*time.Minute), 0}, fleet{"b", 50, 5, 0, nil, 0}), nil, "a:2 b:5",
			scaling.ReasonDemand,
		},
		{"a pod that no node takes, and no other variant", votes(90, scaling.Grow, fleet{"a", 10, 5, 10, unplaced(1, time.Hour), 0}), nil, "a:16", scaling.ReasonDemand},
		{"two of fifty never start", votes(300, scaling.Grow, fleet{"a", 10, 5, 48, failing(2), 0}), nil, "a:62", scaling.ReasonDemand},
		{
			"a fifth never starts, and another variant serves", votes(300, scaling.Grow, fleet{"a", 10, 5, 40, failing(10), 0}, fleet{"b", 50, 5, 0, nil, 0}), nil,
			"a:50 b:20", scaling.ReasonDemand,
		},
		{"a fifth never starts, and nothing else can", votes(300, scaling.Grow, fleet{"a", 10, 5, 40, failing(10), 0}), nil, "a:70", scaling.ReasonDemand},
		{"nothing of the last order starts", votes(300, scaling.Grow, fleet{"a", 10, 5, 40, func(v *scaling.Variant, p *memory.Past) {
			failing(10)(v, p)
			p.Before, p.DecidedAt = 40, coverNow.Add(-5*time.Minute)
		}, 0}), nil, "a:50", scaling.ReasonPodsNotReady},
		{"one more is tried after a while", votes(300, scaling.Grow, fleet{
			"a", 10, 5, 40,
			func(v *scaling.Variant, p *memory.Past) { failing(10)(v, p); p.Before = 40 }, 0,
		}), nil, "a:51", scaling.ReasonDemand},
		{
			"what an HPA takes for no difference is asked for again by one that it does not",
			votes(520, scaling.Grow, fleet{"a", 10, 5, 100, ordered(104, 3*time.Minute), 0}), nil, "a:111", scaling.ReasonDemand,
		},
		{"nor where others of it were lost", votes(520, scaling.Grow, fleet{"a", 10, 5, 100, func(v *scaling.Variant, p *memory.Past) {
			ordered(104, 3*time.Minute)(v, p)
			p.Before, v.Replicas.Ready = 0, 80
			p.Waits = memory.Waits{}.Then(100, 100, coverNow.Add(-2*time.Hour), coverNow.Add(-2*time.Hour)).Then(104, 80, coverNow.Add(-time.Hour), coverNow.Add(-time.Hour))
		}, 0}), nil, "a:124", scaling.ReasonDemand},
		{"an absent target supplies nothing", votes(20, scaling.Grow, fleet{"a", 10, 5, 4, absent, 0}, fleet{"b", 50, 5, 0, nil, 0}), nil, "a:4 b:4", scaling.ReasonDemand},
		{
			"one that cannot be read for a moment does", votes(20, scaling.Steady, fleet{"a", 10, 5, 4, unread, 0}, fleet{"b", 50, 5, 0, nil, 0}), nil, "a:4 b:0",
			scaling.ReasonTargetUnreadable,
		},
		{
			"no variant grows of unknown capacity", votes(20, scaling.Grow, fleet{"a", 1, 5, 0, nil, 0}, fleet{"b", 50, 5, 1, nil, 0}),
			func(v *Votes) { v.Analyses[0].Variants[0].Fixed = true }, "a:0 b:4", scaling.ReasonDemand,
		},
		{
			"a failed order is not tried again while another serves", votes(20, scaling.Grow, fleet{"a", 10, 5, 0, failed, 0}, fleet{"b", 50, 5, 1, nil, 0}), nil,
			"a:0 b:4", scaling.ReasonDemand,
		},
		{"but where no other does", votes(20, scaling.Grow, fleet{"a", 10, 5, 1, failed, 0}), nil, "a:4", scaling.ReasonDemand},
		{"nor is it moved to", votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, failed, 0}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:0 b:3", scaling.ReasonSteady},
		{
			"a pod that no node takes keeps no variant from moving",
			votes(10, scaling.Shrink, fleet{"a", 4, 5, 0, unplaced(1, time.Hour), 0}, fleet{"b", 50, 5, 3, nil, 0}, fleet{"c", 10, 5, 0, nil, 0}), nil,
			"a:1 b:3 c:3", scaling.ReasonCheaperMix,
		},
		{"what more of it waits goes", votes(10, scaling.Shrink, fleet{"a", 4, 5, 0, unplaced(3, time.Hour), 0}, fleet{"b", 50, 5, 3, nil, 0},
			fleet{"c", 10, 5, 0, nil, 0}), nil, "a:1 b:3 c:0", scaling.ReasonOrderCancelled},
		{"what growth undid at the same load waits", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, undone(time.Minute), 0}), nil, "a:9", scaling.ReasonSteady},
		{"what a model has beyond the fleet that did goes", votes(10, scaling.Shrink, fleet{"a", 10, 5, 12, undone(time.Minute), 0}), nil, "a:10", scaling.ReasonSpareCapacity},
		{"a removal that an HPA takes for no difference stops no move", votes(95, scaling.Shrink, fleet{"a", 50, 5, 21, func(v *scaling.Variant, p *memory.Past) {
			gaveUp(time.Hour)(v, p)
			p.Desired = 20
		}, 0}, fleet{"b", 10, 5, 0, nil, 0}), nil, "a:20 b:24", scaling.ReasonCheaperMix},
		{
			"and is done with more to spare", votes(12.5, scaling.Shrink, fleet{"a", 10, 5, 9, undone(2 * time.Hour), 0}), nil, "a:4",
			scaling.ReasonSpareCapacity,
		}, // 12.5 is more than 0.8 x 15
		{
			"after growth with more to spare, too", votes(7.5, scaling.Shrink,
				fleet{"a", 10, 5, 3, func(v *scaling.Variant, p *memory.Past) { ordered(3, 2*time.Hour)(v, p); undone(2*time.Hour)(v, p) }, 0}), nil, "a:3",
			scaling.ReasonSteady,
		}, // 7.5 is more than 0.7 x 10
		{"much more after the second time", votes(10, scaling.Shrink, fleet{
			"a", 10, 5, 9,
			func(v *scaling.Variant, p *memory.Past) { undone(12*time.Hour)(v, p); p.Turns.Undone = 2 }, 0,
		}), nil, "a:4", scaling.ReasonSpareCapacity},
		{"by what is attained, the replicas that stay are filled to 0.95", votes(9.4, scaling.Shrink, fleet{"a", 10, 5, 3, nil, 0}), attained, "a:2", scaling.ReasonSpareCapacity},
		{"and not to 0.9", votes(9.4, scaling.Shrink, fleet{"a", 10, 5, 3, nil, 0}), nil, "a:3", scaling.ReasonSteady},
		{"nor to more than 0.95", votes(9.6, scaling.Shrink, fleet{"a", 10, 5, 3, nil, 0}), attained, "a:3", scaling.ReasonSteady},
		{
			"by what is attained, they are filled to 0.9 after growth", votes(8.9, scaling.Shrink, fleet{"a", 10, 5, 3, ordered(3, 2*time.Minute), 0}), attained,
			"a:2", scaling.ReasonSpareCapacity,
		},
		{"and to 0.8 otherwise", votes(8.9, scaling.Shrink, fleet{"a", 10, 5, 3, ordered(3, 2*time.Minute), 0}), nil, "a:3", scaling.ReasonSteady},
		{"nor to more than 0.9 after growth", votes(9.1, scaling.Shrink, fleet{"a", 10, 5, 3, ordered(3, 2*time.Minute), 0}), attained, "a:3", scaling.ReasonSteady},
		{
			"by what is attained, a turn holds nothing and asks for a margin", votes(8.4, scaling.Shrink, fleet{"a", 10, 5, 3, undone(time.Minute), 0}), attained,
			"a:2", scaling.ReasonSpareCapacity,
		},
		{
			"a fleet that was too small is not gone back to, one replica more is", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, tooSmall(30, 1000), 0}),
			attained, "a:4", scaling.ReasonSpareCapacity,
		},
		{"and stays", votes(10, scaling.Shrink, fleet{"a", 10, 5, 4, tooSmall(30, 1000), 0}), attained, "a:4", scaling.ReasonSteady},
		{
			"nor does it move while it rests",
			votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, tooSmall(30, 1000), 0}, fleet{"b", 50, 5, 3, tooSmall(30, 1000), 0}), attained,
			"a:0 b:3", scaling.ReasonSteady,
		},
		{
			"the end of a move gives the dearer ones up though it rests", votes(30, scaling.Shrink, fleet{"a", 10, 5, 9, func(v *scaling.Variant, p *memory.Past) {
				undone(time.Minute)(v, p)
				movedTo(9, 3*time.Minute)(v, p)
				p.WholeAt = coverNow.Add(-2 * time.Minute)
			}, 0}, fleet{"b", 30, 5, 4, undone(time.Minute), 0}), nil, "a:9 b:0", scaling.ReasonSpareCapacity,
		},
		{
			"nor is it gone back to by a move for a larger load",
			votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, tooSmall(30, 1150), 0}, fleet{"b", 50, 5, 3, tooSmall(30, 1150), 0}), attained,
			"a:4 b:3", scaling.ReasonCheaperMix,
		},
		{
			"a fleet of two variants rests after a turn", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, tooSmall(30, 1000), 0}, fleet{"b", 4, 2, 1, nil, 0}),
			attained, "a:9 b:1", scaling.ReasonSteady,
		},
		{
			"unless the load is less", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, tooSmall(30, 850), 0}, fleet{"b", 4, 2, 1, nil, 0}), attained, "a:2 b:1",
			scaling.ReasonSpareCapacity,
		},
		{"replicas do not move to a variant whose last order failed", votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, func(v *scaling.Variant, p *memory.Past) {
			failed(v, p)
			p.Failures.At = coverNow.Add(-5 * time.Hour)
		}, 0}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:0 b:3", scaling.ReasonSteady},
		{
			"nor to one to which a move was cancelled, but to another",
			votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, cancelledMove(5 * time.Hour), 0}, fleet{"b", 50, 5, 3, nil, 0}, fleet{"c", 20, 5, 0, nil, 0}), nil,
			"a:0 b:3 c:3", scaling.ReasonCheaperMix,
		},
		{
			"until some hours later", votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, cancelledMove(7 * time.Hour), 0}, fleet{"b", 50, 5, 3, nil, 0}), nil,
			"a:3 b:3", scaling.ReasonCheaperMix,
		},
		{"nothing is barred while the load is less", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, tooSmall(30, 850), 0}), attained, "a:3", scaling.ReasonSpareCapacity},
		{
			"nor by a fleet that is smaller than the load needs", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, tooSmall(10, 1000), 0}), attained, "a:3",
			scaling.ReasonSpareCapacity,
		},
		{"a removal is taken back first", votes(20, scaling.Steady, fleet{
			"a", 10, 5, 4,
			func(_ *scaling.Variant, p *memory.Past) { p.Desired, p.Change = 2, -2 }, 0,
		}), nil, "a:4", scaling.ReasonRemovalCancelled},
		{"much too many", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, nil, 0}), nil, "a:3", scaling.ReasonSpareCapacity},
		{"just too many", votes(10, scaling.Shrink, fleet{"a", 10, 5, 3, nil, 0}), nil, "a:3", scaling.ReasonSteady}, // 10 is more than 0.9 x 10
		{"the dear go", votes(8, scaling.Shrink, fleet{"a", 10, 5, 2, nil, 0}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:2 b:0", scaling.ReasonSpareCapacity},
		{
			"down to the least", votes(0, scaling.Shrink, fleet{"a", 10, 5, 4, func(v *scaling.Variant, _ *memory.Past) { v.Bounds.Min = 2 }, 0}), nil, "a:2",
			scaling.ReasonSpareCapacity,
		},
		{"one replica stays", votes(0, scaling.Shrink, fleet{"a", 10, 5, 4, nil, 0}, fleet{"b", 5, 5, 1, nil, 0}), nil, "a:0 b:1", scaling.ReasonSpareCapacity},
		{"a silent replica is full", votes(10+5, scaling.Shrink, fleet{"a", 10, 5, 9, nil, 1}), nil, "a:4", scaling.ReasonSpareCapacity},
		{"most are silent", votes(10, scaling.Shrink, fleet{"a", 10, 5, 9, nil, 5}), nil, "a:9", scaling.ReasonPodsNotReady},
		{"just after growth", votes(11, scaling.Shrink, fleet{"a", 10, 5, 3, ordered(3, 2*time.Minute), 0}), nil, "a:3", scaling.ReasonSteady},
		{"the readings are older than the last change", votes(5, scaling.Shrink, fleet{"a", 10, 5, 9, ordered(9, time.Second), 0}), nil, "a:9", scaling.ReasonSteady},
		{"nothing known", votes(5, scaling.Unknown, fleet{"a", 10, 5, 9, nil, 0}), nil, "a:9", scaling.ReasonNoData},
		{"paused", votes(100, scaling.Grow, fleet{"a", 10, 5, 2, func(v *scaling.Variant, _ *memory.Past) { v.Paused = true }, 0},
			fleet{"b", 50, 5, 0, nil, 0}), nil, "a:2 b:18", scaling.ReasonDemand},
		{"a move pays", votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, nil, 0}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:3 b:3", scaling.ReasonCheaperMix},
		{"a move does not pay", votes(10, scaling.Shrink, fleet{"a", 45, 5, 0, nil, 0}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:0 b:3", scaling.ReasonSteady},
		{
			"a move right after a change", votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, nil, 0}, fleet{"b", 50, 5, 3, ordered(3, 9*time.Minute), 0}), nil,
			"a:0 b:3", scaling.ReasonSteady,
		},
		{
			"right after it was first seen", votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, nil, 0}, fleet{"b", 50, 5, 3, begun(time.Minute), 0}), nil, "a:3 b:3",
			scaling.ReasonCheaperMix,
		},
		{
			"a move that did not pay is not made again", votes(29, scaling.Shrink, fleet{"a", 10, 5, 3, movedTo(3, time.Hour), 0}, fleet{"b", 50, 5, 3, nil, 0}),
			nil, "a:3 b:3", scaling.ReasonSteady,
		},
		{"nor hours later", votes(29, scaling.Shrink, fleet{"a", 10, 5, 3, movedTo(3, 7*time.Hour), 0}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:3 b:3", scaling.ReasonSteady},
		{
			"nor where one of the dear has gone, and not enough",
			votes(42, scaling.Shrink, fleet{"a", 10, 5, 8, movedTo(8, time.Hour), 0}, fleet{"b", 50, 4, 2, gaveUp(30 * time.Minute), 0}), nil, "a:8 b:2",
			scaling.ReasonSteady,
		},
		{"until the model is cheaper", votes(19, scaling.Shrink, fleet{"a", 10, 5, 3, movedTo(3, time.Hour), 0},
			fleet{"b", 50, 5, 2, gaveUp(30 * time.Minute), 0}), nil, "a:5 b:2", scaling.ReasonCheaperMix},
		{
			"or another has grown", votes(29, scaling.Shrink, fleet{"a", 10, 5, 3, movedTo(3, time.Hour), 0}, fleet{"b", 50, 5, 3, ordered(3, 30*time.Minute), 0}),
			nil, "a:8 b:3", scaling.ReasonCheaperMix,
		},
		{
			"nor after what it brought went", votes(29, scaling.Shrink, fleet{
				"a", 10, 5, 3,
				func(v *scaling.Variant, p *memory.Past) { movedTo(5, time.Hour)(v, p); p.Change = -2 }, 0,
			}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:3 b:3",
			scaling.ReasonSteady,
		},
		{
			"a move in steps goes on", votes(12, scaling.Shrink, fleet{"a", 10, 5, 1, movedTo(3, 2*time.Minute), 0}, fleet{"b", 50, 5, 2, nil, 0}), nil, "a:3 b:2",
			scaling.ReasonCheaperMix,
		},
		{
			"and takes nothing back meanwhile", votes(14, scaling.Shrink, fleet{"a", 1, 5, 2, movedTo(5, 2*time.Minute), 0}, fleet{"b", 50, 13, 1, nil, 0}), nil,
			"a:4 b:1", scaling.ReasonCheaperMix,
		},
		{"where it goes on", votes(0.1, scaling.Shrink, fleet{"a", 1, 5, 4, movedTo(5, 2*time.Minute), 0},
			fleet{"b", 50, 5, 1, func(v *scaling.Variant, _ *memory.Past) { v.Bounds.Min = 1 }, 0}), nil, "a:0 b:1", scaling.ReasonSpareCapacity},
		{
			"and no further than it was to", votes(22, scaling.Shrink, fleet{"a", 10, 5, 3, movedTo(5, 2*time.Minute), 0}, fleet{"b", 50, 5, 3, nil, 0}), nil,
			"a:5 b:3", scaling.ReasonCheaperMix,
		},
		{
			"a move where no replica can go", votes(10, scaling.Steady, fleet{"a", 1, 16, 0, nil, 0}, fleet{"b", 10, 8, 2, nil, 0}), fromReplicas, "a:1 b:2",
			scaling.ReasonCheaperMix,
		},
		{"and where they are full", votes(14, scaling.Steady, fleet{"a", 1, 16, 0, nil, 0}, fleet{"b", 10, 8, 2, nil, 0}), fromReplicas, "a:2 b:2", scaling.ReasonCheaperMix},
		{"but not where one is silent", votes(10, scaling.Steady, fleet{"a", 1, 16, 0, nil, 0}, fleet{"b", 10, 8, 2, nil, 1}), fromReplicas, "a:0 b:2", scaling.ReasonSteady},
		{
			"nor while a queue drains", votes(10, scaling.Steady, fleet{"a", 1, 16, 0, nil, 0}, fleet{"b", 10, 8, 2, nil, 0}),
			func(v *Votes) { fromReplicas(v); v.Draining = true }, "a:0 b:2", scaling.ReasonSteady,
		},
		{
			"nor where objectives stand against a reduction", votes(10, scaling.Steady, fleet{"a", 1, 16, 0, nil, 0}, fleet{"b", 10, 8, 2, nil, 0}), nil,
			"a:0 b:2", scaling.ReasonSteady,
		},
		{
			"costs that say nothing", votes(10, scaling.Shrink, fleet{
				"a", 10, 5, 0,
				func(v *scaling.Variant, _ *memory.Past) { v.CostSource = scaling.CostDefault }, 0,
			}, fleet{"b", 50, 5, 3, nil, 0}), nil, "a:0 b:3",
			scaling.ReasonSteady,
		},
		{"a ceiling binds", votes(10, scaling.Grow, fleet{"a", 10, 5, 2, nil, 0}), func(v *Votes) {
			v.Analyses[0].Ceilings = []scaling.Ceiling{{Name: "batch", Demand: 100, Variants: []scaling.Limit{{Variant: v.Snapshot.Variants[0].Key, PerReplica: 20}}}}
		}, "a:5", scaling.ReasonDemand},
		{
			"a demand read off replicas waits for what was ordered", votes(30, scaling.Grow, fleet{"a", 10, 5, 1, ordered(4, time.Second), 0}), fromReplicas,
			"a:4", scaling.ReasonInTransition,
		},
		{
			"a demand read off replicas waits for a window after what was ordered arrived",
			votes(30, scaling.Grow, fleet{"a", 10, 5, 4, ordered(4, time.Second), 0}), fromReplicas, "a:4", scaling.ReasonInTransition,
		},
		{"and does not wait where nothing was ordered", votes(30, scaling.Grow, fleet{"a", 10, 5, 4, begun(time.Second), 0}), fromReplicas, "a:6", scaling.ReasonDemand},
		{
			"a demand read off replicas waits while a queue drains", votes(30, scaling.Grow, fleet{"a", 10, 5, 4, nil, 0}),
			func(v *Votes) { v.Analyses[0].FromReplicas, v.Draining = true, true }, "a:4", scaling.ReasonSteady,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(&tc.in)
			}
			got, reason := shown(Cover(tc.in))
			if got != tc.want || reason != tc.reason {
				t.Errorf("got %s, %s, want %s, %s", got, reason, tc.want, tc.reason)
			}
		})
	}
}

// TestGrowthThatWaitsSaysWhatFor: the readings call for more replicas.
func TestGrowthThatWaitsSaysWhatFor(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    Votes
		drain bool
		want  string
	}{
		{"a queue becomes shorter", votes(30, scaling.Grow, fleet{"a", 10, 5, 4, nil, 0}), true, "; not grown: fewer requests wait than before"},
		{
			"replicas became Ready", votes(30, scaling.Grow, fleet{"a", 10, 5, 4, ordered(4, time.Second), 0}), false,
			"; not grown: the readings are of 1m0s, in which replicas became Ready",
		},
		{"both", votes(30, scaling.Grow, fleet{"a", 10, 5, 4, ordered(4, time.Second), 0}), true, "; not grown: fewer requests wait than before"},
		{"nothing more is needed", votes(10, scaling.Steady, fleet{"a", 10, 5, 4, nil, 0}), true, ""},
	} {
		tt.in.Analyses[0].FromReplicas, tt.in.Draining = true, tt.drain
		_, why, _ := strings.Cut(Cover(tt.in)[0].Cause().Detail, "; not grown")
		if got := strings.TrimPrefix(tt.want, "; not grown"); why != got {
			t.Errorf("%s: not grown%q, want %q", tt.name, why, got)
		}
	}
}

// TestAFleetAtItsMinimumSaysSo, also just after a change, for which a reduction would wait.
func TestAFleetAtItsMinimumSaysSo(t *testing.T) {
	const says = "; not reduced: minReplicas allows no fewer"
	for _, tt := range []struct {
		name  string
		least scaling.Replicas
		past  func(*scaling.Variant, *memory.Past)
		want  bool
	}{
		{"at its minimum", 2, nil, true},
		{"just after a change", 2, begun(time.Second), true},
		{"above its minimum", 1, nil, false},
	} {
		in := votes(0.1, scaling.Shrink, fleet{"a", 10, 5, 2, func(v *scaling.Variant, p *memory.Past) {
			v.Bounds.Min = tt.least
			if tt.past != nil {
				tt.past(v, p)
			}
		}, 0})
		d := Cover(in)[0]
		if got := strings.HasSuffix(d.Cause().Detail, says); got != tt.want || tt.want && d.Target() != 2 {
			t.Errorf("%s: %d replicas, %q, want to end with %q: %v", tt.name, d.Target(), d.Cause().Detail, says, tt.want)
		}
	}
}

// TestAMoveThatIsPutOffSaysSo: b costs ten times as much as a.
func TestAMoveThatIsPutOffSaysSo(t *testing.T) {
	today := coverNow.Format(time.DateOnly)
	earlier := func(v *scaling.Variant, p *memory.Past) {
		failed(v, p)
		p.Failures.Count, p.Failures.At = 5, coverNow.Add(-5*time.Hour)
	}
	for _, tt := range []struct {
		name string
		past func(*scaling.Variant, *memory.Past) // of a
		want string
	}{
		{"an order failed", failed, "until " + today + "T17:59:00Z, because its last order did not become Ready"},
		{"many orders failed", earlier, "until " + today + "T23:00:00Z, because its last order did not become Ready"},
		{"a move was cancelled", cancelledMove(time.Hour), "until " + today + "T17:00:00Z, because its last order did not become Ready"},
		{"nothing failed, and it may grow no further", func(v *scaling.Variant, _ *memory.Past) { v.Bounds.Max = 0 }, ""},
		{"an order failed, and it may grow no further", func(v *scaling.Variant, p *memory.Past) { failed(v, p); v.Bounds.Max = 0 }, ""},
	} {
		ds := Cover(votes(10, scaling.Shrink, fleet{"a", 10, 5, 0, tt.past, 0}, fleet{"b", 50, 5, 3, nil, 0}))
		for _, d := range ds {
			_, why, _ := strings.Cut(d.Cause().Detail, "; a move to a would save 120 an hour, and is put off ")
			if why != tt.want || d.Target() != d.Steps[0].From {
				t.Errorf("%s: %s %d->%d: %q, want it to end with %q", tt.name, d.Variant.Name, d.Steps[0].From, d.Target(), d.Cause().Detail, tt.want)
			}
		}
	}
}

// shown returns the targets in one line, and the reason of the first change.
func shown(decisions []scaling.Decision) (string, scaling.Reason) {
	var out []string
	var reason scaling.Reason
	for _, d := range decisions {
		out = append(out, fmt.Sprintf("%s:%d", d.Variant.Name, d.Target()))
		for _, s := range d.Steps {
			if s.From != s.To && s.Reason != scaling.ReasonInTransition && s.Reason != scaling.ReasonOtherVariant && s.Reason != scaling.ReasonTargetNotMoving && reason == "" {
				reason = s.Reason
			}
		}
	}
	if reason == "" && len(decisions) > 0 {
		reason = decisions[0].Steps[0].Reason
	}
	return strings.Join(out, " "), reason
}

func TestAnyVoteGrowsAndAllMustAgreeToShrink(t *testing.T) {
	for _, tc := range []struct {
		name   string
		second float64 // demand of the second analyzer; a replica carries 3
		signal scaling.Signal
		unit   scaling.Unit
		want   string
	}{
		{"both have too much", 6, scaling.Shrink, scaling.UnitTokens, "a:3"}, // 6 <= 0.9 x 3 x 3; 10 <= 0.9 x 5 x 3
		{"one has enough", 15, scaling.Steady, scaling.UnitTokens, "a:6"},
		{"one knows nothing now", 0, scaling.Unknown, scaling.UnitTokens, "a:6"},
		{"one has too little", 28, scaling.Grow, scaling.UnitTokens, "a:10"},
		{"the spare capacity asks for as much as it measures", 28, scaling.Grow, scaling.UnitReplicas, "a:10"},
		{"the demand of one binds", 12, scaling.Shrink, scaling.UnitTokens, "a:5"}, // 12 <= 0.9 x 3 x 5
	} {
		in := votes(10, scaling.Shrink, fleet{"a", 10, 5, 6, nil, 0})
		other := in.Analyses[0]
		other.Analyzer, other.Demand, other.Signal, other.Unit = "tokens", tc.second, tc.signal, tc.unit
		other.Variants = []scaling.Capacity{{Variant: in.Snapshot.Variants[0].Key, PerReplica: 3}}
		in.Analyses = append(in.Analyses, other)
		if got, reason := shown(Cover(in)); got != tc.want {
			t.Errorf("%s: got %s (%s), want %s", tc.name, got, reason, tc.want)
		}
	}
}

// TestWhatIsOfNoUseToAVariantThatIsShortGoes: the gateway shares requests by variant. Variant a
// needs two replicas, and b more than it has.
func TestWhatIsOfNoUseToAVariantThatIsShortGoes(t *testing.T) {
	apart := func(a, b float64) func(*Votes) {
		return func(v *Votes) {
			one := &v.Analyses[0]
			one.Apart = true
			for i, demand := range []float64{a, b} {
				c := scaling.Ceiling{Name: "the part of " + one.Variants[i].Variant.Name, Unit: one.Unit, Demand: demand}
				for k, o := range one.Variants {
					l := scaling.Limit{Variant: o.Variant}
					if k == i {
						l.PerReplica = o.PerReplica
					}
					c.Variants = append(c.Variants, l)
				}
				one.Ceilings = append(one.Ceilings, c)
			}
		}
	}
	silent := func(v *Votes) { apart(8, 10)(v); v.Snapshot.Replicas = nil }
	whole := func(v *Votes) { apart(8, 10)(v); v.Analyses[0].Apart = false }
	most := func(v *scaling.Variant, _ *memory.Past) { v.Bounds.Max = 1 }
	for _, tc := range []struct {
		name   string
		in     Votes
		change func(*Votes)
		want   string
	}{
		{"b grows, a gives up", votes(18, scaling.Shrink, fleet{"a", 10, 5, 6, nil, 0}, fleet{"b", 10, 5, 1, nil, 0}), apart(8, 10), "a:2 b:2"},
		{"b may not grow, a gives up", votes(18, scaling.Shrink, fleet{"a", 10, 5, 6, nil, 0}, fleet{"b", 10, 5, 1, most, 0}), apart(8, 10), "a:2 b:1"},
		{"a is short too", votes(60, scaling.Shrink, fleet{"a", 10, 5, 6, nil, 0}, fleet{"b", 10, 5, 1, nil, 0}), apart(40, 10), "a:8 b:2"},
		{"more than what is asked for in all is of no use", votes(100, scaling.Grow, fleet{"a", 1, 5, 2, nil, 0}, fleet{"b", 10, 5, 1, nil, 0}), apart(8, 10), "a:2 b:2"},
		{"nothing is reported", votes(18, scaling.Shrink, fleet{"a", 10, 5, 6, nil, 0}, fleet{"b", 10, 5, 1, nil, 0}), silent, "a:6 b:2"},
		{"not by variant", votes(18, scaling.Shrink, fleet{"a", 10, 5, 6, nil, 0}, fleet{"b", 10, 5, 1, nil, 0}), whole, "a:6 b:2"},
	} {
		tc.change(&tc.in)
		var got []string
		for _, d := range Cover(tc.in) {
			got = append(got, fmt.Sprintf("%s:%d", d.Variant.Name, d.Target()))
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, text, tc.want)
		}
	}
}

func TestCoverNeverExceedsWhatTheDemandNeeds(t *testing.T) {
	for seed := range uint64(race.Cases(2000)) {
		r := rand.New(rand.NewPCG(seed, 31))
		demand := 100 * r.Float64()
		var fleets []fleet
		for i := range 1 + r.IntN(3) {
			fleets = append(fleets, fleet{fmt.Sprint("v", i), float64(1 + r.IntN(30)), 1 + 10*r.Float64(), scaling.Replicas(r.IntN(4)), nil, 0})
		}
		in := votes(demand, scaling.Grow, fleets...)
		decisions := Cover(in)
		carried, before, weakest := 0.0, 0.0, 1e9
		for i, d := range decisions {
			carried += fleets[i].carries * float64(d.Target())
			before += fleets[i].carries * float64(fleets[i].replicas)
			if d.Target() > fleets[i].replicas {
				weakest = min(weakest, fleets[i].carries)
			}
		}
		if before < demand && (carried < demand-1e-6 || carried-weakest >= demand) {
			t.Fatalf("seed %d: a demand of %g is carried by %g, before %g: %v", seed, demand, carried, before, decisions)
		}
		r.Shuffle(len(in.Snapshot.Variants), func(i, j int) {
			v := in.Snapshot.Variants
			v[i], v[j] = v[j], v[i]
		})
		if diff := cmp.Diff(decisions, Cover(in)); diff != "" {
			t.Fatalf("seed %d: shuffled (-want +got):\n%s", seed, diff)
		}
	}
}
