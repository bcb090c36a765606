//go:build e2e && soak

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// Each of so many models goes to zero and back so often by its HPA: ten times.
const (
	nativeModels = 2
	nativeCycles = 5
)

// TestTenTimesToZeroAndBackByTheHPAOfKubernetes137 has a cluster of that release with its
// feature gates as they are by default, and a manager that does nothing for long unless
// woken.
func TestTenTimesToZeroAndBackByTheHPAOfKubernetes137(t *testing.T) {
	ownCluster(t, testbed.Options{
		Dir: "e2e-137", Kubernetes: filepath.Join(shared.bed.Root, ".local", "bin", "kubernetes137"),
	}, testbed.ManagerOptions{Interval: 10 * time.Second})
	isRelease(t, "1", "37")
	t.Run("by the metric alone", func(t *testing.T) {
		t.Parallel()
		byTheMetricAlone(t)
	})
	t.Run("a target that a user took to zero", func(t *testing.T) {
		t.Parallel()
		takenToZeroByHand(t)
	})
	t.Run("an HPA that keeps its target from zero", func(t *testing.T) {
		t.Parallel()
		keptFromZero(t)
	})
}

// isRelease ends the test unless the API server is of a release.
func isRelease(t *testing.T, major, minor string) {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(shared.bed.Config)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.ServerVersionWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Major != major || got.Minor != minor {
		t.Fatalf("the API server is of Kubernetes %s.%s, want %s.%s", got.Major, got.Minor, major, minor)
	}
	t.Logf("the API server is of Kubernetes %s", got)
}

// native is a variant whose HPA may take it to zero, and whose manager may not.
func native(namespace, name string) testbed.Variant {
	v := sleeper(namespace, name)
	v.Actuation, v.HPAMin = "", new(int32(0))
	return v
}

// byTheMetricAlone has models go to zero and back, and the manager set no replicas.
func byTheMetricAlone(t *testing.T) {
	const ns = "native"
	seed, begun := uint64(time.Now().UnixNano()), time.Now()
	t.Logf("seed %d", seed)
	var variants []testbed.Variant
	retention := map[string]time.Duration{}
	for n := range nativeModels {
		v := native(ns, fmt.Sprintf("v-%d", n))
		variants, retention[v.ModelID] = append(variants, v), 5*time.Second
	}
	allowZero(t, retention, ns)
	scales := recordScales(t, ns)
	deploy(t, variants...)
	pick(t, ns)
	var woken journal
	t.Run("cycles", func(t *testing.T) {
		for n, v := range variants {
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				for range nativeCycles {
					cycleOnce(t, v, scales, rng, &woken)
				}
			})
		}
	})
	if len(woken.replicas) != nativeModels*nativeCycles {
		t.Fatalf("%d of %d cycles were completed", len(woken.replicas), nativeModels*nativeCycles)
	}
	t.Logf("%d cycles, no request failed; from the request to the replica count p50 %s, p99 %s; to the first token p50 %s, p99 %s, of %s start-up",
		len(woken.replicas), quantile(woken.replicas, 0.5), quantile(woken.replicas, 0.99),
		quantile(woken.first, 0.5), quantile(woken.first, 0.99), variants[0].StartUp)
	if slow, limit := quantile(woken.replicas, 0.99), time.Second+2*hpaPeriod; slow > limit {
		t.Errorf("a replica count changed %s after the request, want at most %s", slow, limit)
	}
	if writes := scaleWrites(t, ns, begun); len(writes) > 0 {
		t.Errorf("the manager set replicas %d times, which is the HPA's: %v", len(writes), writes)
	}
}

// takenToZeroByHand: an HPA starts only what it took to zero itself. Where the manager is
// asked to, it starts the rest, and leaves to the HPA what is the HPA's.
func takenToZeroByHand(t *testing.T) {
	const ns, name = "by-hand", "v"
	v := native(ns, name)
	begun := time.Now()
	allowZero(t, map[string]time.Duration{v.ModelID: time.Hour}, ns)
	scales := recordScales(t, ns)
	deploy(t, v)
	pick(t, ns)
	firstReady(t, ns, name)

	d, err := deployment(t.Context(), ns, name)
	if err != nil {
		t.Fatal(err)
	}
	before := d.DeepCopy()
	*d.Spec.Replicas = 0
	if err := shared.bed.Client.Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string { return standsStill(ctx, ns, name) })
	const says = "It starts only a target that it took to zero itself"
	if got := condition(t, time.Minute, ns, name, "ScalerFollowing", "False", "HPANotReadingMetric"); !strings.Contains(got, says) {
		t.Errorf("ScalerFollowing says %q, want %q in it", got, says)
	}
	reads(t, ns, name, 1)
	consistently(t, 3*hpaPeriod, func(context.Context) string { return scales.still(name, 0) })
	if writes := scaleWrites(t, ns, begun); len(writes) > 0 {
		t.Errorf("the manager set replicas, and no setting asked it to: %v", writes)
	}

	asked := time.Now()
	eventually(t, time.Minute, func(ctx context.Context) string { return annotateZero(ctx, ns, name) })
	scales.await(t, time.Minute, name, 1, asked)
	ownWrites := func() int { return len(scaleWrites(t, ns, begun)) }
	if n := ownWrites(); n != 1 {
		t.Errorf("the manager set replicas %d times to start a target, want once", n)
	}

	// From here on, both steps are the HPA's.
	slept := time.Now()
	allowZero(t, map[string]time.Duration{v.ModelID: 5 * time.Second}, ns)
	scales.await(t, 4*time.Minute, name, 0, slept)
	eventually(t, 30*time.Second, func(ctx context.Context) string { return wentItself(ctx, v) })
	eventually(t, 10*time.Second, func(ctx context.Context) string { return emptied(ctx, ns, v.ModelID) })
	if got := ask(t.Context(), ns, v.ModelID); got.err != nil {
		t.Error(got.err)
	}
	if n := ownWrites(); n != 1 {
		t.Errorf("the manager set replicas %d times, want once: the HPA goes to zero and back itself", n)
	}
}

// annotateZero asks the manager to take a variant from and to zero.
func annotateZero(ctx context.Context, namespace, name string) string {
	va, err := autoscaling(ctx, namespace, name)
	if err != nil {
		return err.Error()
	}
	before := va.DeepCopy()
	va.Annotations = map[string]string{v1alpha1.AnnotationActuation: "zero"}
	if err := shared.bed.Client.Patch(ctx, va, client.MergeFrom(before)); err != nil {
		return err.Error()
	}
	return ""
}

// keptFromZero: what is missing is said before the decision is 0 and after, and doing it
// is all there is to do.
func keptFromZero(t *testing.T) {
	const ns, name, says = "kept", "v", "Set it to 0, or set the annotation"
	v := native(ns, name)
	v.HPAMin = nil
	allowZero(t, map[string]time.Duration{v.ModelID: time.Hour}, ns)
	scales := recordScales(t, ns)
	deploy(t, v)
	firstReady(t, ns, name)
	if got := condition(t, time.Minute, ns, name, "ScalerFollowing", "True", "Following"); !strings.Contains(got, says) {
		t.Errorf("before the decision, ScalerFollowing says %q, want %q in it", got, says)
	}
	allowZero(t, map[string]time.Duration{v.ModelID: 5 * time.Second}, ns)
	if got := condition(t, 4*time.Minute, ns, name, "ScalerFollowing", "False", "HPALimited"); !strings.Contains(got, says) {
		t.Errorf("after the decision, ScalerFollowing says %q, want %q in it", got, says)
	}
	reads(t, ns, name, 0)
	done := time.Now()
	eventually(t, 10*time.Second, func(ctx context.Context) string {
		h, err := hpa(ctx, ns, name)
		if err != nil {
			return err.Error()
		}
		before := h.DeepCopy()
		h.Spec.MinReplicas = new(int32(0))
		if err := shared.bed.Client.Patch(ctx, h, client.MergeFrom(before)); err != nil {
			return err.Error()
		}
		return ""
	})
	scales.await(t, time.Minute, name, 0, done)
	condition(t, time.Minute, ns, name, "ScalerFollowing", "True", "Following")
}
