//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestKillingTheLeaderMidLoadMovesNothing has two managers behind what stands for
// a Service, an HPA that reads from them all the while, and a load that needs three
// replicas. The leader is killed, and not asked to end.
func TestKillingTheLeaderMidLoadMovesNothing(t *testing.T) {
	const (
		ns, name  = "handover", "cheap"
		lease     = 6 * time.Second
		following = 10 // cycles of the new leader
	)
	shared.manager.Stop()
	managers, err := shared.bed.StartManagers(t.Context(), 2, testbed.ManagerOptions{Interval: interval, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range managers {
			m.Stop()
		}
		restart(t, testbed.ManagerOptions{Interval: interval})
	})
	v := chat(ns, name)
	v.Replicas = 3
	deploy(t, v)
	// Evenly spaced and all alike, so that no burst asks for more: they hold some 17000
	// tokens, of the 24576 that three replicas can hold 0.7. Growth begins at 0.85, and
	// two replicas hold fewer, so that nothing is given up.
	load(t, ns, v.ModelID, "gamma(7,600s,cv=0.05)", "--lengths", "constant", "--seed", "1")
	leader, other := elected(t, managers)
	stands := settledFor(t, 40*time.Second, ns, name)
	if n := stands.Status.DesiredOptimizedAlloc.NumReplicas; n < 2 {
		t.Fatalf("the load asks for %d replicas; a number that no bound explains is wanted", n)
	}
	wanted := float64(stands.Status.DesiredOptimizedAlloc.NumReplicas)
	t.Run("both serve the decision and one publishes it", func(t *testing.T) {
		for _, m := range managers {
			if got, err := m.ExternalMetric(t.Context(), ns, name); err != nil || got != wanted {
				t.Errorf("%s serves %g, %v, want %g", m.Name, got, err, wanted)
			}
			published := len(metricsOf(t.Context(), t, m)["wva_desired_replicas"].GetMetric())
			if leads := m == leader; (published > 0) != leads {
				t.Errorf("%s publishes %d series of wva_desired_replicas; it leads: %t", m.Name, published, leads)
			}
		}
	})

	w := call(t, ns, name, wanted)
	leader.Kill()
	killed := time.Now()
	eventually(t, time.Minute, func(ctx context.Context) string {
		if !leads(ctx, t, other) {
			return "the other manager does not lead"
		}
		if n := len(metricsOf(ctx, t, other)["wva_desired_replicas"].GetMetric()); n == 0 {
			return "the other manager leads and publishes nothing"
		}
		if cyclesOf(ctx, t, other) == 0 {
			return "the other manager leads and has decided nothing"
		}
		return ""
	})
	handover := time.Since(killed)
	cycles := cyclesOf(t.Context(), t, other)
	eventually(t, time.Minute, func(ctx context.Context) string {
		if n := cyclesOf(ctx, t, other); n < cycles+following {
			return fmt.Sprintf("the new leader has decided %d times, want %d", n-cycles, following)
		}
		return ""
	})
	reads, hpa := w.dismiss()
	for value, n := range w.wrong {
		t.Errorf("%d reads gave %g, want %g", n, value, wanted)
	}
	t.Logf("the hand-over took %s; of %d reads %d failed, for %s at the longest; the HPA said so for %s", handover.Round(100*time.Millisecond),
		reads.looks, reads.bad, reads.longest.Round(100*time.Millisecond), hpa.longest.Round(100*time.Millisecond))
	if reads.longest > handover {
		t.Errorf("reads failed for %s, longer than the hand-over of %s: %s", reads.longest, handover, reads.last)
	}
	if hpa.longest > handover {
		t.Errorf("the HPA reported failed reads for %s, longer than the hand-over of %s: %s", hpa.longest, handover, hpa.last)
	}
	w.compare(t, stands)
}

// elected waits until one of two managers leads.
func elected(t *testing.T, managers []*testbed.Manager) (leader, other *testbed.Manager) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		first, second := leads(ctx, t, managers[0]), leads(ctx, t, managers[1])
		switch {
		case first && !second:
			leader, other = managers[0], managers[1]
		case second && !first:
			leader, other = managers[1], managers[0]
		default:
			return fmt.Sprintf("the first leads: %t, the second: %t", first, second)
		}
		return ""
	})
	return leader, other
}

// leads says whether a manager holds the lease, as itself reports.
func leads(ctx context.Context, t *testing.T, m *testbed.Manager) bool {
	t.Helper()
	for _, s := range metricsOf(ctx, t, m)["leader_election_master_status"].GetMetric() {
		return s.GetGauge().GetValue() == 1
	}
	return false
}

// settledFor waits until the decision has been the same and carried out for so
// long, and returns the object.
func settledFor(t *testing.T, length time.Duration, namespace, name string) *v1alpha1.VariantAutoscaling {
	t.Helper()
	var stands *v1alpha1.VariantAutoscaling
	since := time.Now()
	eventually(t, 4*time.Minute, func(ctx context.Context) string {
		va, err := autoscaling(ctx, namespace, name)
		if err != nil {
			return err.Error()
		}
		if stands == nil || cmp.Diff(decisionOf(va), decisionOf(stands)) != "" || va.Status.Actuation == nil || !va.Status.Actuation.Applied {
			stands, since = va, time.Now()
		}
		if passed := time.Since(since); passed < length {
			return fmt.Sprintf("the decision %+v stands for %s only", decisionOf(va), passed.Round(time.Second))
		}
		stands = va
		return ""
	})
	return stands
}

// decision is what of a status tells when what was decided.
type decision struct {
	Replicas int32
	Updated  *v1alpha1.LastUpdate // nil: never
}

func decisionOf(va *v1alpha1.VariantAutoscaling) decision {
	d := va.Status.DesiredOptimizedAlloc
	if d == nil {
		return decision{}
	}
	return decision{Replicas: d.NumReplicas, Updated: d.LastUpdate}
}

// witness notes what can be seen of a variant while its managers change.
type witness struct {
	namespace, name string
	wanted          float64
	generation      int64 // of the Deployment: moves with every change of its spec
	rescales        int32

	dismissed  context.CancelFunc
	looks      sync.WaitGroup
	reads, hpa outage
	wrong      map[float64]int // values that were read and are not the wanted one
}

// outage is how something was seen to be out of order.
type outage struct {
	looks, bad int
	since      time.Time // zero while it is in order
	longest    time.Duration
	last       string // what was wrong when it was last wrong
}

// note takes what is wrong, "" for nothing.
func (o *outage) note(now time.Time, wrong string) {
	o.looks++
	if wrong == "" {
		o.since = time.Time{}
		return
	}
	o.bad++
	o.last = wrong
	if o.since.IsZero() {
		o.since = now
	}
	o.longest = max(o.longest, now.Sub(o.since))
}

// call has a witness look until it is dismissed, or the test ends.
func call(t *testing.T, namespace, name string, wanted float64) *witness {
	t.Helper()
	d, err := deployment(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &witness{
		namespace: namespace, name: name, wanted: wanted, generation: d.Generation, rescales: rescales(t, namespace), dismissed: cancel,
		wrong: map[float64]int{},
	}
	w.looks.Go(func() {
		const period = 100 * time.Millisecond // an HPA reads every 5 s
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.look(ctx, t)
			}
		}
	})
	t.Cleanup(func() { w.dismiss() })
	return w
}

// dismiss ends the looking and returns what was seen of the metric as the API
// server serves it, and of what the HPA says of its own reads.
func (w *witness) dismiss() (reads, hpa outage) {
	w.dismissed()
	w.looks.Wait()
	return w.reads, w.hpa
}

// look looks once. What has begun is seen to its end: a look that is broken off
// tells nothing.
func (w *witness) look(ctx context.Context, t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	begun := time.Now()
	got, err := shared.bed.ExternalMetric(ctx, w.namespace, w.name)
	if err == nil {
		w.reads.note(begun, "")
		if got != w.wanted {
			w.wrong[got]++
		}
	} else {
		w.reads.note(begun, err.Error())
		w.reads.longest = max(w.reads.longest, time.Since(w.reads.since)) // one that hangs fails as long as it hangs
	}
	h, err := hpa(ctx, w.namespace, w.name)
	if err != nil {
		t.Errorf("reading the HPA: %v", err)
		return
	}
	w.hpa.note(time.Now(), inactive(h))
}

// inactive returns why an HPA does not scale, "" where it does.
func inactive(h *autoscalingv2.HorizontalPodAutoscaler) string {
	for _, c := range h.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Status != corev1.ConditionTrue {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// compare checks that nothing has moved since the witness was called.
func (w *witness) compare(t *testing.T, before *v1alpha1.VariantAutoscaling) {
	t.Helper()
	d, err := deployment(t.Context(), w.namespace, w.name)
	if err != nil {
		t.Fatal(err)
	}
	if d.Generation != w.generation {
		t.Errorf("the Deployment was changed (generation %d, was %d); it has %d replicas", d.Generation, w.generation, *d.Spec.Replicas)
	}
	if n := rescales(t, w.namespace); n != w.rescales {
		t.Errorf("the HPA has rescaled %d times, %d before", n, w.rescales)
	}
	va, err := autoscaling(t.Context(), w.namespace, w.name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decisionOf(va), decisionOf(before)); diff != "" {
		t.Errorf("the decision has changed (-is +was):\n%s", diff)
	}
}

// rescales counts how often HPAs of a namespace have rescaled.
func rescales(t *testing.T, namespace string) (n int32) {
	t.Helper()
	var events corev1.EventList
	if err := shared.bed.Client.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == "SuccessfulRescale" {
			n += max(e.Count, 1)
		}
	}
	return n
}
