package saturation

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/optimizer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// spareInputs are the inputs of the published analyzer of spare capacity.
type spareInputs struct {
	Config   Thresholds
	Replicas []struct {
		Pod, Variant              string
		Cost                      float64
		KVCacheUsage, QueueLength float64
	}
	States []struct {
		Variant                   string
		Current, Desired, Pending scaling.Replicas
	}
}

type spareOutcome struct {
	AvgSpareKV, AvgSpareQueue   float64
	NonSaturated, TotalReplicas int
	ScaleDownSafe               bool
	ShouldScaleUp               bool
	ScaleUpReason               string
	Targets                     map[string]scaling.Replicas
	Variants                    []struct {
		Variant                                          string
		AvgSpareKV, AvgSpareQueue, Cost, MaxKV, MaxQueue float64
		NonSaturated, Replicas                           int
		SaturatedPods                                    []string
	}
}

type spareCase = goldentest.Case[spareInputs, spareOutcome]

// deviations are the rules by which this project decides otherwise than the published version. Each
// says when it applies and what is decided instead.
var deviations = []struct {
	name    string
	applies func(spareCase) bool
	want    func(spareCase) map[string]scaling.Replicas
}{
	{
		name: "a variant with pods but no state holds (published: its target becomes 0)",
		applies: func(c spareCase) bool {
			states := map[string]bool{}
			for _, s := range c.Inputs.States {
				states[s.Variant] = true
			}
			for _, r := range c.Inputs.Replicas {
				if !states[r.Variant] {
					return true
				}
			}
			return false
		},
		// Without a state of the variant nothing is decided.
		want: func(spareCase) map[string]scaling.Replicas { return map[string]scaling.Replicas{} },
	},
	{
		name: "a removal under way does not make the model wait (published: every variant holds)",
		applies: func(c spareCase) bool {
			for _, s := range c.Inputs.States {
				if s.Desired != 0 && s.Desired < s.Current {
					return true
				}
			}
			return false
		},
		want: nil, // depends on whether the others can carry the load; see the optimizer's own tests
	},
	{
		name: "a variant at zero replicas is a candidate (published: it is not seen)",
		applies: func(c spareCase) bool {
			reporting := map[string]bool{}
			for _, r := range c.Inputs.Replicas {
				reporting[r.Variant] = true
			}
			for _, s := range c.Inputs.States {
				if !reporting[s.Variant] {
					return true
				}
			}
			return false
		},
		want: nil,
	},
	{
		name: "the load of saturated replicas counts when one is given up (published: it is forgotten)",
		applies: func(c spareCase) bool {
			return c.Expected.ScaleDownSafe && c.Expected.NonSaturated < c.Expected.TotalReplicas
		},
		want: nil,
	},
}

func TestGoldenSpareCapacity(t *testing.T) {
	for _, c := range goldentest.Read[spareInputs, spareOutcome](t, "saturation-v1") {
		t.Run(c.String(), func(t *testing.T) {
			spare := measure(loads(c.Inputs.snapshot().Replicas, peak), c.Inputs.Config)
			short, reason := spare.short(c.Inputs.Config)
			near(t, "KV spare", spare.KV, c.Expected.AvgSpareKV, c.Tolerance)
			near(t, "queue spare", spare.Queue, c.Expected.AvgSpareQueue, c.Tolerance)
			equal(t, "non-saturated", spare.NonSaturated, c.Expected.NonSaturated)
			equal(t, "replicas", spare.Replicas, c.Expected.TotalReplicas)
			equal(t, "short", short, c.Expected.ShouldScaleUp)
			equal(t, "reason", reason, c.Expected.ScaleUpReason)
			equal(t, "safe to shrink", spare.allowsOneLess(c.Inputs.Config), c.Expected.ScaleDownSafe)
			equal(t, "variants", len(spare.Variants), len(c.Expected.Variants))
			for i, want := range c.Expected.Variants {
				got := spare.Variants[i]
				equal(t, "variant", got.Variant.Name, want.Variant)
				equal(t, "replicas of "+want.Variant, got.Replicas, want.Replicas)
				equal(t, "non-saturated of "+want.Variant, got.NonSaturated, want.NonSaturated)
				near(t, "KV spare of "+want.Variant, got.KV, want.AvgSpareKV, c.Tolerance)
				near(t, "queue spare of "+want.Variant, got.Queue, want.AvgSpareQueue, c.Tolerance)
				near(t, "KV peak of "+want.Variant, got.MaxKV, want.MaxKV, c.Tolerance)
				near(t, "queue peak of "+want.Variant, got.MaxQueue, want.MaxQueue, c.Tolerance)
				if diff := cmp.Diff(want.SaturatedPods, got.Saturated, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("saturated pods of %s (-want +got):\n%s", want.Variant, diff)
				}
			}
		})
	}
}

func TestGoldenTargets(t *testing.T) {
	for _, c := range goldentest.Read[spareInputs, spareOutcome](t, "saturation-v1") {
		t.Run(c.String(), func(t *testing.T) {
			want := c.Expected.Targets
			for _, d := range deviations {
				if !d.applies(c) {
					continue
				}
				t.Log("deviates:", d.name)
				if d.want == nil {
					return
				}
				want = d.want(c)
			}
			snap := c.Inputs.snapshot()
			got := map[string]scaling.Replicas{}
			for _, d := range optimizer.Decide(optimizer.Input{Snapshot: snap, Analysis: Published(snap, c.Inputs.Config), History: c.Inputs.history()}) {
				got[d.Variant.Name] = d.Target()
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// snapshot returns the case as this project would see it: fresh readings and a fleet without
// changes within the window.
func (in spareInputs) snapshot() scaling.Snapshot {
	snap := scaling.Snapshot{Model: scaling.ModelKey{Namespace: "ns", ID: "m"}, At: goldenNow, Window: time.Minute}
	costs := map[string]float64{}
	for _, r := range in.Replicas {
		costs[r.Variant] = r.Cost
	}
	for _, s := range in.States {
		snap.Variants = append(snap.Variants, scaling.Variant{
			Key: variantKey(s.Variant), Model: snap.Model, Cost: costs[s.Variant], Bounds: scaling.Unbounded(),
			Replicas: scaling.ReplicaCounts{Observed: true, Current: s.Current, Ready: s.Current - s.Pending, Pending: s.Pending},
		})
	}
	for _, r := range in.Replicas {
		snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
			Pod: r.Pod, Variant: variantKey(r.Variant), Ready: true,
			KVCacheUsage: scaling.Measured(r.KVCacheUsage, scaling.Fresh), QueueLength: scaling.Measured(r.QueueLength, scaling.Fresh),
		})
	}
	snap.Replicas = snap.Sorted()
	return snap
}

func (in spareInputs) history() memory.History {
	h := memory.History{}
	for _, s := range in.States {
		if s.Desired != 0 { // published: 0 means that nothing was decided yet
			// The cases hold no times: an unfinished change counts as new, a finished one as long
			// past.
			at := goldenNow
			if s.Desired == s.Current {
				at = goldenNow.Add(-time.Hour)
			}
			h[variantKey(s.Variant)] = memory.Past{Desired: s.Desired, DecidedAt: at, ProgressAt: at}
		}
	}
	return h
}

var goldenNow = time.Date(2026, 2, 19, 12, 0, 0, 0, time.UTC)

func variantKey(name string) scaling.VariantKey {
	return scaling.VariantKey{Namespace: "ns", Name: name}
}

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if math.Abs(got-want) > rel*max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
