package saturation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// stuckVariant is the variant of the replicas in these tests.
var stuckVariant = scaling.VariantKey{Namespace: "n", Name: "v"}

// working returns a replica with load.
func working(pod string, kv, queue float64) scaling.ReplicaSample {
	return scaling.ReplicaSample{
		Pod: pod, Variant: stuckVariant, Ready: true,
		KVCacheUsage: scaling.Measured(kv, scaling.Fresh), QueueLength: scaling.Measured(queue, scaling.Fresh),
	}
}

// stuckAs returns a replica that holds requests and makes no progress.
func stuckAs(pod string, how scaling.Stuckness, held float64) scaling.ReplicaSample {
	return scaling.ReplicaSample{Pod: pod, Variant: stuckVariant, Ready: true, Stuck: how, Held: held}
}

// snapshotOf returns a snapshot of the replicas.
func snapshotOf(replicas ...scaling.ReplicaSample) scaling.Snapshot {
	return scaling.Snapshot{
		Window: time.Minute, Replicas: replicas,
		Variants: []scaling.Variant{{Key: stuckVariant, Replicas: scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(len(replicas)), Ready: scaling.Replicas(len(replicas))}}},
	}
}

func TestStuckReplicasAreNamedAndCountForNothing(t *testing.T) {
	for _, tc := range []struct {
		name     string
		replicas []scaling.ReplicaSample
		want     scaling.Signal
		says     string
	}{
		{
			"frozen gauges do not make a model grow",
			[]scaling.ReplicaSample{working("a", 0.1, 0), stuckAs("x", scaling.Frozen, 3)},
			scaling.Steady, "pod x holds 3 requests and nothing has moved for 2m: frozen",
		},
		{
			"a sick replica is full: the others keep what they need without it",
			[]scaling.ReplicaSample{working("a", 0.4, 0), working("b", 0.4, 0), stuckAs("x", scaling.Sick, 40)},
			scaling.Steady, "pod x holds 40 requests and nothing has moved for 2m: sick",
		},
		{
			"one of the idle ones goes",
			[]scaling.ReplicaSample{working("a", 0.1, 0), working("b", 0.1, 0), stuckAs("x", scaling.Sick, 40)},
			scaling.Shrink, "x, without fresh readings, count as full; pod x holds 40 requests and nothing has moved for 2m: sick",
		},
		{
			"one that is stuck does not excuse the others that drown",
			[]scaling.ReplicaSample{working("a", 0.9, 9), working("b", 0.9, 9), stuckAs("x", scaling.Sick, 40)},
			scaling.Grow, "; pod x holds 40 requests",
		},
		{
			"nothing is known where all are stuck",
			[]scaling.ReplicaSample{stuckAs("x", scaling.Frozen, 1), stuckAs("y", scaling.Sick, 2)},
			scaling.Unknown, "none of 2 replicas reports; pod x holds 1 requests and nothing has moved for 2m: frozen; pod y holds 2 requests",
		},
		{
			"not all of many are named",
			[]scaling.ReplicaSample{
				stuckAs("x1", scaling.Sick, 1), stuckAs("x2", scaling.Sick, 1), stuckAs("x3", scaling.Sick, 1),
				stuckAs("x4", scaling.Sick, 1), stuckAs("x5", scaling.Sick, 1),
			},
			scaling.Unknown, "pod x3 holds 1 requests and nothing has moved for 2m: sick; and 2 more",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Published(snapshotOf(tc.replicas...), Default())
			if got.Signal != tc.want || !strings.Contains(got.Detail, tc.says) {
				t.Errorf("got %s: %s\nwant %s: ...%s...", got.Signal, got.Detail, tc.want, tc.says)
			}
		})
	}
}

// TestAStuckReplicaIsASilentOne replaces silent replicas by stuck ones in random fleets. Only the
// words of the detail change.
func TestAStuckReplicaIsASilentOne(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		var silent, stuck []scaling.ReplicaSample
		for i := range 1 + random.IntN(6) {
			pod := fmt.Sprint("p", i)
			if i > 0 && random.IntN(2) == 0 {
				s := working(pod, random.Float64(), float64(random.IntN(8)))
				silent, stuck = append(silent, s), append(stuck, s)
				continue
			}
			silent = append(silent, scaling.ReplicaSample{Pod: pod, Variant: stuckVariant, Ready: true})
			how := []scaling.Stuckness{scaling.Frozen, scaling.Sick}[random.IntN(2)]
			stuck = append(stuck, stuckAs(pod, how, float64(random.IntN(50))))
		}
		want, got := Published(snapshotOf(silent...), Default()), Published(snapshotOf(stuck...), Default())
		if !strings.Contains(got.Detail, "nothing has moved") {
			t.Fatalf("got %s: %s", got.Signal, got.Detail)
		}
		want.Detail, got.Detail = "", ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("analysis (-silent +stuck):\n%s", diff)
		}
	}
}
