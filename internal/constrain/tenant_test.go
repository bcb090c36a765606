package constrain

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestOneNamespaceTakesNothingFromOthersByWhatItSays: namespace evil puts arbitrary values into its
// objects and asks for pods that are never created.
func TestOneNamespaceTakesNothingFromOthersByWhatItSays(t *testing.T) {
	quotas := []scaling.Quota{{Namespace: "evil", Accelerator: "H100", GPUs: 1}, {Namespace: "good", Accelerator: "H100", GPUs: 16}, {Namespace: "poor", Accelerator: "H100"}}
	good := bid{name: "good/v", on: "H100", have: 2, want: 6, min: 1, rank: 1}
	const huge = math.MaxInt32
	for _, tc := range []struct {
		name      string
		inventory scaling.Inventory
		quotas    []scaling.Quota
		bids      []bid
		want      map[string]scaling.Replicas
	}{
		{
			"an acceleratorCount that its pods do not request", nodes("H100", 8, 8), quotas,
			[]bid{{name: "evil/v", on: "H100", gpus: 100_000, asks: 1, have: 1, want: 1, rank: 1}, good},
			map[string]scaling.Replicas{"evil/v": 1, "good/v": 6},
		},
		{
			"pods that request no accelerators", nodes("H100", 8, 8), quotas,
			[]bid{{name: "evil/v", on: "H100", asksNone: true, have: 32, want: 32, rank: 1}, good},
			map[string]scaling.Replicas{"evil/v": 32, "good/v": 6},
		},
		{
			"pods that request no accelerators, in the place of those who borrow", nodes("H100", 0), quotas,
			[]bid{{name: "evil/v", on: "H100", asksNone: true, have: 8, want: 8, rank: 1}, {name: "poor/v", on: "H100", have: 16, want: 16, load: 0.5, rank: 1}, good},
			map[string]scaling.Replicas{"evil/v": 8, "poor/v": 12, "good/v": 2},
		}, // good gets 4 of those that poor borrows in a later cycle
		{
			"pods that request no accelerators and are not there yet", nodes("H100", 8), nil,
			[]bid{{name: "evil/v", on: "H100", asksNone: true, have: 8, want: 8, podless: 8, rank: 1}, good},
			map[string]scaling.Replicas{"evil/v": 8, "good/v": 6},
		},
		{
			"a replica beyond what its namespace owns, when no node is free", nodes("H100", 0), quotas,
			[]bid{{name: "evil/v", on: "H100", have: 1, want: 3, rank: 1}, {name: "poor/v", on: "H100", have: 4, want: 4, rank: 1}, {name: "good/v", on: "H100", have: 2, want: 2, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 1, "poor/v": 4, "good/v": 2},
		}, // good lends what poor borrows, and evil has no better claim to it
		{
			"a template whose rollout is paused", nodes("H100", 8, 5), quotas,
			[]bid{{name: "evil/v", on: "H100", asks: 8, short: 7, have: 1, want: 1, rank: 1}, {name: "good/v", on: "H100", have: 2, want: 15, min: 1, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 1, "good/v": 15},
		}, // evil holds 1 of 17, not 8
		{
			"room that the pods of an earlier template do not leave", nodes("H100", 0), quotas,
			[]bid{{name: "poor/v", on: "H100", asks: 8, short: 28, have: 4, want: 4, rank: 1}, {name: "good/v", on: "H100", asks: 2, have: 2, want: 4, rank: 1}},
			map[string]scaling.Replicas{"poor/v": 4, "good/v": 2},
		}, // each replica of poor frees 1, where good needs 2 on one node
		{
			"a target that shows no template", nodes("H100", 8, 8), quotas,
			[]bid{{name: "evil/v", on: "H100", gpus: 100_000, have: 1, want: 1, podless: 1, rank: 1}, good},
			map[string]scaling.Replicas{"evil/v": 1, "good/v": 6},
		},
		{
			"counts whose product wraps around", nodes("H100", 8, 8), quotas,
			[]bid{{name: "evil/a", on: "H100", gpus: huge, have: huge, want: huge, podless: huge, rank: 1}, {name: "evil/b", on: "H100", gpus: huge, have: huge, want: huge, podless: huge, rank: 1}, {name: "evil/v", on: "H100", want: 16, rank: 1}, good},
			map[string]scaling.Replicas{"evil/a": huge, "evil/b": huge, "evil/v": 11, "good/v": 6},
		}, // 11 of 17 are borrowed; no other tenant wants them
		{
			"a minimum of the lowest rank", nodes("H100", 0), nil,
			[]bid{{name: "evil/v", on: "H100", want: 1000, min: 1000, rank: 100}, {name: "good/v", on: "H100", have: 12, want: 12, min: 1, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 0, "good/v": 12},
		},
		{
			"a minimum of an equal whose pods are refused", nodes("H100", 0), nil,
			[]bid{{name: "evil/v", on: "H100", have: 22, want: 1000, min: 1000, podless: 22, stopped: true, rank: 1}, {name: "good/v", on: "H100", have: 12, want: 12, min: 1, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 22, "good/v": 12},
		},
		{
			"replicas whose pods are refused reserve nothing", nodes("H100", 8, 8, 6), nil,
			[]bid{{name: "evil/v", on: "H100", have: 22, want: 1000, min: 1000, podless: 22, stopped: true, rank: 1}, {name: "good/v", on: "H100", have: 1, want: 12, min: 1, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 22, "good/v": 12},
		},
		{
			"the most replicas, limited", nodes("H100", 8), nil,
			[]bid{{name: "evil/v", on: "H100", have: huge, want: huge, podless: huge, rank: 9}, {name: "evil/w", on: "H100", want: huge, min: huge, rank: 9}, {name: "good/v", on: "H100", have: 2, want: 3, min: 1, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 1, "evil/w": 0, "good/v": 2},
		}, // a replica without a pod keeps its room for a minute
		{
			"the most replicas, without a limit", nodes("H100", 8), nil,
			[]bid{{name: "evil/v", on: "nope", have: 1, want: huge, free: true}, {name: "good/v", on: "H100", have: 2, want: 3, rank: 1}},
			map[string]scaling.Replicas{"evil/v": huge, "good/v": 3},
		},
		{
			"the most replicas that go", nodes("H100", 0), nil,
			[]bid{{name: "evil/v", on: "H100", have: huge, want: 0, podless: huge, rank: 9}, {name: "evil/w", on: "H100", want: huge, min: huge, rank: 9}, {name: "good/v", on: "H100", have: 2, want: 2, rank: 1}},
			map[string]scaling.Replicas{"evil/v": 0, "evil/w": 0, "good/v": 2},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, plan := contestOf(tc.inventory, tc.quotas, tc.bids...)
			begin := time.Now()
			got := Capacity(in, plan)
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %s: replicas are counted one by one", took)
			}
			if diff := cmp.Diff(tc.want, targetsOf(got)); diff != "" {
				t.Errorf("targets (-want +got):\n%s\nsaid: %s", diff, saidOf(got))
			}
		})
	}
}

func TestAVariantWhosePodsAreRefusedIsTold(t *testing.T) {
	in, plan := contestOf(nodes("H100", 8), nil, bid{name: "v", on: "H100", have: 3, want: 5, min: 4, podless: 2, stopped: true, rank: 1})
	const want = "3 of 5 replicas: 2 of 3 that the target is asked for have had no pod for 1m0s or longer, something refuses them, such as a ResourceQuota; nothing is added or taken from others for it until they have one; that is below minReplicas, 4"
	got := Capacity(in, plan)
	if said := saidOf(got); said != want {
		t.Errorf("got %q, want %q", said, want)
	}
	if reason := got.Decisions[0].Cause().Reason; reason != scaling.ReasonTargetNotMoving {
		t.Errorf("reason %s, want %s", reason, scaling.ReasonTargetNotMoving)
	}
}
