package scalefromzero

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func key(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }

// asleep returns a model with two variants and no replica, for which requests wait at the gateway.
// The first variant is the cheaper one. A replica of either computes 10 requests together and
// usually starts in two minutes. With the assumed 20 s a request it serves 0.5 requests/s, or 180
// requests in the 6 minutes in which a backlog has to be cleared.
func asleep(waiting float64) Input {
	variant := func(name string, cost float64) scaling.Variant {
		return scaling.Variant{
			Key: key(name), Accelerator: name + "-type", GPUsPerReplica: 2, Cost: cost, Bounds: scaling.Unbounded(), StartUp: 2 * time.Minute,
			Limits: scaling.EngineLimits{MaxBatch: 10}, Replicas: scaling.ReplicaCounts{Observed: true},
		}
	}
	return Input{
		Snapshot: scaling.Snapshot{
			At: noon, Variants: []scaling.Variant{variant("a", 1), variant("b", 3)},
			Load: scaling.Load{GatewayQueue: scaling.Measured(waiting, scaling.Fresh)},
		},
		History: memory.History{key("a"): {DecidedAt: noon.Add(-time.Hour)}, key("b"): {DecidedAt: noon.Add(-time.Hour)}},
	}
}

// called makes the first variant one that was called some time ago; its target has followed.
func called(in *Input, ago time.Duration, replicas scaling.Replicas) {
	in.History[key("a")] = memory.Past{Desired: replicas, DecidedAt: noon.Add(-ago), Called: noon.Add(-ago)}
	in.Snapshot.Variants[0].Replicas = scaling.ReplicaCounts{Observed: true, Current: replicas, Pending: replicas}
}

// unplaced is called with two replicas, of which no node takes one.
func unplaced(in *Input, ago time.Duration) {
	called(in, ago, 2)
	in.Snapshot.Variants[0].Replicas.Unschedulable = 1
}

// free returns an inventory of nodes with free accelerators of the type of one variant.
func free(name string, gpus scaling.Accelerators) scaling.Inventory {
	return scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{{Accelerator: name + "-type", Total: 8, Free: []scaling.FreeNodes{{GPUs: gpus, Nodes: 4}}}}}
}

func targets(out Outcome) map[string]scaling.Replicas {
	if out.Decisions == nil {
		return nil
	}
	n := map[string]scaling.Replicas{}
	for _, d := range out.Decisions {
		n[d.Variant.Name] = d.Target()
	}
	return n
}

func TestWakingCallsTheCheapestVariantThatFitsForItsBacklog(t *testing.T) {
	tests := []struct {
		name    string
		waiting float64
		change  func(*Input)
		want    map[string]scaling.Replicas // nil where the optimizer decides
		reason  scaling.Reason              // of the first decision that changes
	}{
		{"one request", 1, func(*Input) {}, map[string]scaling.Replicas{"a": 1, "b": 0}, scaling.ReasonRequestsWaiting},
		{"no request waits", 0, func(*Input) {}, nil, ""},
		{"it is not known whether anybody waits", 0, func(in *Input) { in.Snapshot.Load = scaling.Load{} }, nil, ""},
		{"a backlog", 400, func(*Input) {}, map[string]scaling.Replicas{"a": 3, "b": 0}, scaling.ReasonRequestsWaiting},
		{"what arrives during the start-up is part of it", 0, func(in *Input) {
			in.Snapshot.Load.ArrivalRate = scaling.Measured(2, scaling.Fresh) // 2/s, and for 120 s of 360 s 2/s more: 2.67/s
		}, map[string]scaling.Replicas{"a": 6, "b": 0}, scaling.ReasonRequestsWaiting},
		{"up to maxReplicas", 1000, func(in *Input) { in.Snapshot.Variants[0].Bounds.Max = 4 }, map[string]scaling.Replicas{"a": 4, "b": 0}, scaling.ReasonRequestsWaiting},
		{"batch size by the profile", 400, func(in *Input) {
			in.Snapshot.Variants[0].Limits, in.Snapshot.Variants[0].Profile = scaling.EngineLimits{}, scaling.Profile{MaxBatchSize: 5}
		}, map[string]scaling.Replicas{"a": 5, "b": 0}, scaling.ReasonRequestsWaiting},
		{
			"batch size unknown", 1300, func(in *Input) { in.Snapshot.Variants[0].Limits = scaling.EngineLimits{} },
			map[string]scaling.Replicas{"a": 3, "b": 0},
			scaling.ReasonRequestsWaiting,
		},
		{"a KV cache that holds fewer", 100, func(in *Input) { // 4000 tokens, 1000 a request
			in.History[key("a")] = memory.Past{Capacity: memory.TokenCapacity{PerReplica: 4000}}
			in.Snapshot.Load.InputTokens, in.Snapshot.Load.OutputTokens = scaling.Measured(700, scaling.Fresh), scaling.Measured(300, scaling.Fresh)
		}, map[string]scaling.Replicas{"a": 2, "b": 0}, scaling.ReasonRequestsWaiting},
		{"a backlog beyond reason", scaling.Largest, func(*Input) {}, map[string]scaling.Replicas{"a": 10_000, "b": 0}, scaling.ReasonRequestsWaiting},
		{"ties by accelerators", 1, func(in *Input) {
			in.Snapshot.Variants[1].Cost, in.Snapshot.Variants[1].GPUsPerReplica = 1, 1
		}, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonRequestsWaiting},
		{"the cheapest does not fit", 1, func(in *Input) { in.Inventory = free("b", 2) }, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonRequestsWaiting},
		{"too few accelerators on any node", 1, func(in *Input) {
			in.Inventory = free("b", 2)
			in.Inventory.Groups = append(in.Inventory.Groups, free("a", 1).Groups...)
		}, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonRequestsWaiting},
		{
			"nothing fits: a node may be added", 1, func(in *Input) { in.Inventory = scaling.Inventory{Known: true} },
			map[string]scaling.Replicas{"a": 1, "b": 0},
			scaling.ReasonRequestsWaiting,
		},
		{"the cheapest may have none", 1, func(in *Input) { in.Snapshot.Variants[0].Bounds.Max = 0 }, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonRequestsWaiting},
		{"the cheapest is paused", 1, func(in *Input) { in.Snapshot.Variants[0].Paused = true }, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonRequestsWaiting},
		{
			"the cheapest cannot be read", 1, func(in *Input) { in.Snapshot.Variants[0].Replicas = scaling.ReplicaCounts{} },
			map[string]scaling.Replicas{"a": 0, "b": 1},
			scaling.ReasonRequestsWaiting,
		},
		{"it may be running, its scale is unreadable", 1, func(in *Input) {
			in.Snapshot.Variants[0].Replicas = scaling.ReplicaCounts{}
			in.History[key("a")] = memory.Past{Desired: 2, UnseenSince: noon.Add(-time.Minute)}
		}, nil, ""},
		{"its scale was unreadable for long", 1, func(in *Input) {
			in.Snapshot.Variants[0].Replicas = scaling.ReplicaCounts{}
			in.History[key("a")] = memory.Past{Desired: 2, DecidedAt: noon.Add(-time.Hour), UnseenSince: noon.Add(-5 * time.Minute)}
		}, map[string]scaling.Replicas{"a": 2, "b": 1}, scaling.ReasonRequestsWaiting},
		{"it cannot be read, and a pod of it is Ready", 1, func(in *Input) {
			in.Snapshot.Variants[0].Replicas = scaling.ReplicaCounts{}
			in.Snapshot.Replicas = []scaling.ReplicaSample{{Pod: "p", Variant: key("a"), Ready: true}}
			in.History[key("a")] = memory.Past{Desired: 2, DecidedAt: noon.Add(-time.Hour)}
		}, nil, ""},
		{"its target was deleted", 1, func(in *Input) {
			in.Snapshot.Variants[0].Replicas, in.Snapshot.Variants[0].Gone = scaling.ReplicaCounts{}, true
			in.History[key("a")] = memory.Past{Desired: 1, DecidedAt: noon.Add(-time.Hour)}
		}, map[string]scaling.Replicas{"a": 1, "b": 1}, scaling.ReasonRequestsWaiting},
		{"a replica is Ready", 5, func(in *Input) {
			in.Snapshot.Variants[1].Replicas = scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1}
		}, nil, ""},
		{"it starts", 5, func(in *Input) { called(in, time.Minute, 1) }, map[string]scaling.Replicas{"a": 1, "b": 0}, ""},
		{"it starts, and the backlog grew", 550, func(in *Input) { called(in, time.Minute, 1) }, map[string]scaling.Replicas{"a": 4, "b": 0}, scaling.ReasonRequestsWaiting},
		{"it starts, and the backlog fell", 5, func(in *Input) { called(in, time.Minute, 3) }, map[string]scaling.Replicas{"a": 3, "b": 0}, ""},
		{"it is late", 200, func(in *Input) { called(in, 3*time.Minute+time.Second, 2) }, map[string]scaling.Replicas{"a": 2, "b": 2}, scaling.ReasonNotReadyInTime},
		{"it is not late yet", 15, func(in *Input) { called(in, 3*time.Minute, 2) }, map[string]scaling.Replicas{"a": 2, "b": 0}, ""},
		{"no node takes it yet", 15, func(in *Input) { unplaced(in, time.Minute) }, map[string]scaling.Replicas{"a": 2, "b": 0}, ""},
		{"no node takes it for more than a minute", 200, func(in *Input) {
			unplaced(in, time.Minute+time.Second)
		}, map[string]scaling.Replicas{"a": 2, "b": 2}, scaling.ReasonNotReadyInTime},
		{"no node takes it, and one has room for another", 200, func(in *Input) {
			unplaced(in, time.Second)
			in.Inventory = free("b", 2)
		}, map[string]scaling.Replicas{"a": 2, "b": 2}, scaling.ReasonNotReadyInTime},
		{"no node takes it yet, and room is promised to it", 15, func(in *Input) {
			unplaced(in, time.Second)
			in.Inventory = free("b", 2)
			in.Inventory.Groups = append(in.Inventory.Groups, scaling.NodeGroup{Accelerator: "a-type", Total: 8, Promised: 2})
		}, map[string]scaling.Replicas{"a": 2, "b": 0}, ""},
		{"no node takes any: one may be added", 15, func(in *Input) {
			unplaced(in, time.Second)
			in.Inventory = scaling.Inventory{Known: true}
		}, map[string]scaling.Replicas{"a": 2, "b": 0}, ""},
		{"no node takes it, and another was placed", 5, func(in *Input) {
			unplaced(in, 20*time.Second)
			in.Inventory = scaling.Inventory{Known: true}
			in.History[key("b")] = memory.Past{Desired: 1, DecidedAt: noon.Add(-time.Second), Called: noon.Add(-time.Second)}
			in.Snapshot.Variants[1].Replicas = scaling.ReplicaCounts{Observed: true, Current: 1, Pending: 1}
			in.Snapshot.Load.GatewayQueue = scaling.Measured(400, scaling.Fresh)
		}, map[string]scaling.Replicas{"a": 2, "b": 3}, scaling.ReasonNotReadyInTime},
		{"it was refused: the next", 1, func(in *Input) {
			in.History[key("a")] = memory.Past{DecidedAt: noon.Add(-time.Hour), Called: noon.Add(-time.Second), Refused: noon.Add(-time.Second)}
		}, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonNotReadyInTime},
		{"both were refused: the one that was not asked for the longest", 1, func(in *Input) {
			in.History[key("a")] = memory.Past{DecidedAt: noon.Add(-time.Hour), Called: noon.Add(-time.Minute), Refused: noon.Add(-time.Second)}
			in.History[key("b")] = memory.Past{DecidedAt: noon.Add(-time.Hour), Called: noon.Add(-time.Minute), Refused: noon.Add(-time.Minute)}
		}, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonNotReadyInTime},
		{"one is late and the other was refused: it is asked for again", 5, func(in *Input) {
			called(in, time.Hour, 1)
			in.History[key("b")] = memory.Past{DecidedAt: noon.Add(-time.Hour), Called: noon.Add(-time.Minute), Refused: noon.Add(-time.Minute)}
		}, map[string]scaling.Replicas{"a": 1, "b": 1}, scaling.ReasonNotReadyInTime},
		{"both are late: no more is ordered", 95, func(in *Input) {
			called(in, time.Hour, 1)
			in.History[key("b")] = memory.Past{Desired: 1, DecidedAt: noon.Add(-time.Hour), Called: noon.Add(-time.Hour)}
			in.Snapshot.Variants[1].Replicas = scaling.ReplicaCounts{Observed: true, Current: 1, Pending: 1}
		}, map[string]scaling.Replicas{"a": 1, "b": 1}, ""},
		{"the only replica of the only variant is late: one more is tried", 5, func(in *Input) {
			called(in, time.Hour, 1)
			in.Snapshot.Variants = in.Snapshot.Variants[:1]
		}, map[string]scaling.Replicas{"a": 2}, scaling.ReasonRequestsWaiting},
		{"two of the only variant are late: no more is ordered", 95, func(in *Input) {
			called(in, time.Hour, 2)
			in.Snapshot.Variants = in.Snapshot.Variants[:1]
		}, map[string]scaling.Replicas{"a": 2}, ""},
		{"the only replica is late, and its variant has never started", 5, func(in *Input) {
			called(in, time.Hour, 1)
			in.Snapshot.Variants = in.Snapshot.Variants[:1]
			in.Snapshot.Variants[0].StartUp = 0
		}, map[string]scaling.Replicas{"a": 1}, ""},
		{"called in vain, without stock: the next", 1, func(in *Input) {
			in.History[key("a")] = memory.Past{DecidedAt: noon.Add(-time.Hour), Called: noon.Add(-time.Hour)}
		}, map[string]scaling.Replicas{"a": 0, "b": 1}, scaling.ReasonNotReadyInTime},
		{"requests wait in a replica that is not Ready", 0, func(in *Input) {
			called(in, time.Minute, 1)
			in.Snapshot.Replicas = []scaling.ReplicaSample{{Pod: "p", Variant: key("a"), QueueLength: scaling.Measured(200, scaling.Fresh)}}
		}, map[string]scaling.Replicas{"a": 2, "b": 0}, scaling.ReasonRequestsWaiting},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := asleep(tt.waiting)
			tt.change(&in)
			out := Decide(in)
			if diff := cmp.Diff(tt.want, targets(out)); diff != "" {
				t.Fatalf("replicas (-want +got):\n%s", diff)
			}
			reason := scaling.Reason("")
			for _, d := range out.Decisions {
				if step := d.Steps[0]; step.To > in.History.LastDesired(variant(in, d.Variant)) {
					reason = step.Reason
				}
			}
			if reason != tt.reason {
				t.Errorf("reason %q, want %q", reason, tt.reason)
			}
			// The decision stays while nothing changes.
			for i := 0; i < 3 && out.Decisions != nil; i++ {
				follow(&in, out)
				again := Decide(in)
				if diff := cmp.Diff(targets(out), targets(again)); diff != "" {
					t.Fatalf("a second look decides otherwise (-first +second):\n%s", diff)
				}
			}
		})
	}
}

func variant(in Input, k scaling.VariantKey) scaling.Variant {
	i := slices.IndexFunc(in.Snapshot.Variants, func(v scaling.Variant) bool { return v.Key == k })
	return in.Snapshot.Variants[i]
}

// follow stores an outcome in the history, as a cycle does.
func follow(in *Input, out Outcome) {
	history := memory.History{}
	for _, d := range out.Decisions {
		p := in.History[d.Variant].Decide(d.Target(), in.Snapshot.At)
		p.Called, p.Refused = out.Called[d.Variant], in.History[d.Variant].Refused
		if d.Target() > 0 {
			p.Refused = time.Time{}
		}
		history[d.Variant] = p
	}
	in.History = history
}

// TestTheNextVariantIsCalledOnce: three variants never become Ready. Each is called when the
// patience with the one before ends, and all of them stay called.
func TestTheNextVariantIsCalledOnce(t *testing.T) {
	in := asleep(5)
	third := in.Snapshot.Variants[1]
	third.Key, third.Cost, third.StartUp = key("c"), 9, 0
	in.Snapshot.Variants = append(in.Snapshot.Variants, third)
	in.History[third.Key] = memory.Past{DecidedAt: noon.Add(-time.Hour)}
	var got []string
	seen := map[string]scaling.Replicas{}
	for range 80 {
		out := Decide(in)
		follow(&in, out)
		for i, v := range in.Snapshot.Variants {
			n := targets(out)[v.Key.Name]
			if n > seen[v.Key.Name] {
				got = append(got, fmt.Sprintf("%s=%d at %s", v.Key.Name, n, in.Snapshot.At.Sub(noon)))
				seen[v.Key.Name] = n
			}
			in.Snapshot.Variants[i].Replicas = scaling.ReplicaCounts{Observed: true, Current: n, Pending: n}
		}
		in.Snapshot.At = in.Snapshot.At.Add(10 * time.Second)
	}
	// A wait of 1.5 times the usual two minutes ends at the next look.
	if diff := cmp.Diff([]string{"a=1 at 0s", "b=1 at 3m10s", "c=1 at 6m20s"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestTheCallIsForgottenWhenItIsOver(t *testing.T) {
	in := asleep(5)
	out := Decide(in)
	follow(&in, out)
	if got := in.History[key("a")].Called; !got.Equal(noon) {
		t.Fatalf("called since %s, want noon", got)
	}
	in.Snapshot.Variants[0].Replicas = scaling.ReplicaCounts{Observed: true, Current: 1, Pending: 1}
	in.Snapshot.Load.GatewayQueue = scaling.Measured(0, scaling.Fresh)
	if out := Decide(in); out.Decisions != nil || !out.Called[key("a")].Equal(noon) {
		t.Errorf("got %+v while it starts and no request waits any more, want the call to be remembered", out)
	}
	in.Snapshot.Variants[0].Replicas.Ready = 1
	if out := Decide(in); out.Decisions != nil || len(out.Called) != 0 {
		t.Errorf("got %+v with a Ready replica, want nothing", out)
	}
}

// TestAWakeUpIsHeldBackByItsStepAlone: Retention does not undo a start from zero, and no
// stabilization period delays it. The user sets the step, and any step allows the first replica.
func TestAWakeUpIsHeldBackByItsStepAlone(t *testing.T) {
	for step, want := range map[scaling.Replicas]scaling.Replicas{0: 4, 1: 1, 3: 3} {
		in := asleep(550)
		model := in.Snapshot.Model
		variants := map[scaling.VariantKey]scaling.Variant{}
		for _, v := range in.Snapshot.Variants {
			variants[v.Key] = v
		}
		policy := constrain.Pacing{ScaleUpStabilization: time.Hour, MaxScaleUpStep: step, Zero: constrain.Zero{Enabled: true, Retention: time.Second}}
		plan := constrain.Apply(constrain.Input{
			Now: noon, Variants: variants, History: in.History, Policies: map[scaling.ModelKey]constrain.Pacing{model: policy},
			Activity: map[scaling.ModelKey]memory.Activity{model: in.History.Model(in.Snapshot.Variants).Activity.Then(in.Snapshot)},
		}, scaling.Plan{At: noon, Decisions: Decide(in).Decisions})
		if diff := cmp.Diff(map[string]scaling.Replicas{"a": want, "b": 0}, targets(Outcome{Decisions: plan.Decisions})); diff != "" {
			t.Errorf("maxScaleUpStep %d, after the chain (-want +got):\n%s", step, diff)
		}
	}
}

// TestWakingIsIndifferentToOrder: the same input in another order gives the same outcome.
func TestWakingIsIndifferentToOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 500 {
		in := asleep(float64(r.IntN(60)))
		for i, name := range []string{"c", "d"} {
			v := in.Snapshot.Variants[0]
			v.Key, v.Cost, v.GPUsPerReplica = key(name), float64(1+r.IntN(2)), scaling.Accelerators(1+i)
			v.Replicas.Unschedulable = scaling.Replicas(r.IntN(2))
			v.Replicas.Current = v.Replicas.Unschedulable
			in.Snapshot.Variants = append(in.Snapshot.Variants, v)
		}
		want := Decide(in)
		in.Snapshot.Variants = slices.Clone(in.Snapshot.Variants)
		r.Shuffle(len(in.Snapshot.Variants), func(i, j int) {
			vs := in.Snapshot.Variants
			vs[i], vs[j] = vs[j], vs[i]
		})
		if diff := cmp.Diff(want, Decide(in)); diff != "" {
			t.Fatalf("another order decides otherwise (-want +got):\n%s", diff)
		}
	}
}

func TestACheaperVariantThatNoNodeHasRoomForIsNamed(t *testing.T) {
	in := asleep(1)
	in.Inventory = free("b", 2)
	for _, d := range Decide(in).Decisions {
		says := strings.Contains(d.Cause().Detail, "no node has room for replicas of a")
		if says != (d.Variant == key("b")) {
			t.Errorf("%s: %s", d.Variant, d.Cause().Detail)
		}
	}
}
