//go:build e2e && soak

package e2e

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// Each of so many models goes to zero and back so often, beside an HPA that knows
// no zero, and as many beside one that does: 20 times each.
const (
	sleepers      = 5
	sleeperCycles = 4
)

// TestTwentyTimesToZeroAndBackNoRequestIsLost has a cluster of its own, in which
// HPAs may go to zero, and a manager that does nothing for long unless woken.
func TestTwentyTimesToZeroAndBackNoRequestIsLost(t *testing.T) {
	ownCluster(t, testbed.Options{Dir: "e2e-gates", FeatureGates: "HPAScaleToZero=true"}, testbed.ManagerOptions{Interval: 10 * time.Second})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i, kind := range []struct {
		ns    string
		least int32         // replicas of the HPA
		hand  bool          // the manager sets the replicas
		limit time.Duration // from the request to the replica count, of 99 in 100
	}{
		{"by-hand", 1, true, time.Second},
		{"by-hpa", 0, false, time.Second + 2*hpaPeriod},
	} {
		t.Run(kind.ns, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			var variants []testbed.Variant
			retention := map[string]time.Duration{}
			for n := range sleepers {
				v := sleeper(kind.ns, fmt.Sprintf("v-%d", n))
				v.HPAMin = &kind.least
				variants = append(variants, v)
				retention[v.ModelID] = 5 * time.Second
			}
			allowZero(t, retention, kind.ns)
			scales := recordScales(t, kind.ns)
			deploy(t, variants...)
			pick(t, kind.ns)
			var woken journal
			t.Run("cycles", func(t *testing.T) {
				for n, v := range variants {
					t.Run(v.Name, func(t *testing.T) {
						t.Parallel()
						rng := rand.New(rand.NewPCG(seed, uint64(i*sleepers+n)))
						for range sleeperCycles {
							cycleOnce(t, v, scales, rng, &woken)
						}
					})
				}
			})
			if len(woken.replicas) != sleepers*sleeperCycles {
				t.Fatalf("%d of %d cycles were completed", len(woken.replicas), sleepers*sleeperCycles)
			}
			t.Logf("%s: %d cycles, no request failed; from the request to the replica count p50 %s, p99 %s; to the first token p50 %s, p99 %s, of %s start-up",
				kind.ns, len(woken.replicas), quantile(woken.replicas, 0.5), quantile(woken.replicas, 0.99),
				quantile(woken.first, 0.5), quantile(woken.first, 0.99), variants[0].StartUp)
			if slow := quantile(woken.replicas, 0.99); slow > kind.limit {
				t.Errorf("a replica count changed %s after the request, want at most %s", slow, kind.limit)
			}
			writes := scaleWrites(t, kind.ns, begun)
			switch {
			case !kind.hand && len(writes) > 0:
				t.Errorf("the manager set replicas %d times, which is the HPA's: %v", len(writes), writes)
			case kind.hand && len(writes) < 2*sleepers*sleeperCycles:
				t.Errorf("the manager set replicas %d times, want twice in each of %d cycles", len(writes), sleepers*sleeperCycles)
			}
		})
	}
}

// journal is what was measured of cycles.
type journal struct {
	mu              sync.Mutex
	replicas, first []time.Duration // from the request to the replica count, and to the first token; guarded by mu
}

// cycleOnce waits until a model is at zero, and some time of at most 5 s more, and
// has a request bring it back.
func cycleOnce(t *testing.T, v testbed.Variant, scales *scaleLog, rng *rand.Rand, woken *journal) {
	t.Helper()
	eventually(t, 4*time.Minute, func(context.Context) string { return scales.still(v.Name, 0) })
	eventually(t, 10*time.Second, func(ctx context.Context) string { return emptied(ctx, v.Namespace, v.ModelID) })
	if *v.HPAMin == 0 {
		// A HorizontalPodAutoscaler comes back from where it went itself.
		eventually(t, 30*time.Second, func(ctx context.Context) string { return wentItself(ctx, v) })
	}
	pause := time.NewTimer(time.Duration(rng.Int64N(int64(5 * time.Second))))
	select {
	case <-pause.C:
	case <-t.Context().Done():
		return
	}
	sent := time.Now()
	got := ask(t.Context(), v.Namespace, v.ModelID)
	if got.err != nil {
		t.Fatal(got.err)
	}
	up, ok := scales.since(v.Name, sent)
	if !ok || up.replicas != 1 {
		t.Fatalf("a request was answered by %+v, want one replica: %t", up, ok)
	}
	woken.mu.Lock()
	defer woken.mu.Unlock()
	woken.replicas, woken.first = append(woken.replicas, up.at.Sub(sent)), append(woken.first, got.first)
}

// wentItself says why an HPA would not come back from zero, or returns "".
func wentItself(ctx context.Context, v testbed.Variant) string {
	h, err := hpa(ctx, v.Namespace, v.Name)
	if err != nil {
		return err.Error()
	}
	for _, c := range h.Status.Conditions {
		if c.Type == autoscalingv2.ScaledToZero && c.Status == corev1.ConditionTrue {
			return ""
		}
	}
	return fmt.Sprintf("the HPA of %s does not say that it went to zero: %+v", v.Name, h.Status.Conditions)
}

// quantile returns the smallest of the times that the share q of them does not
// exceed.
func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)].Round(time.Millisecond)
}

// ownCluster has the scenarios share another cluster, with a fleet and a manager, until
// the test ends. Its folder is within that of the clusters.
func ownCluster(t *testing.T, cluster testbed.Options, o testbed.ManagerOptions) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	anotherCluster(t, cluster)
	bed := shared.bed
	if err := bed.AddNode(ctx, "pool", poolProduct, poolSize); err != nil {
		t.Fatal(err)
	}
	var err error
	if shared.emulator, err = bed.StartEmulator(ctx); err != nil {
		t.Fatal(err)
	}
	if shared.manager, err = bed.StartManager(ctx, o); err != nil {
		t.Fatal(err)
	}
}

// anotherCluster has the scenarios share another cluster, without a fleet and a
// manager, until the test ends. Its folder is within that of the clusters.
func anotherCluster(t *testing.T, o testbed.Options) {
	t.Helper()
	before := shared
	o.Root, o.Out = before.bed.Root, os.Stderr
	o.Dir = filepath.Join(o.Root, ".local", o.Dir)
	bed := clusterBeside(t, o)
	t.Cleanup(func() { shared = before })
	shared = suite{bed: bed}
}
