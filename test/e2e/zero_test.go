//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// wakesWithin bounds the time from a request that the picker holds to the changed
// replica count, on a busy machine. The aim is 1 s; what is measured is logged.
const wakesWithin = 3 * time.Second

// TestAnIdleModelGoesToZeroAndTheRequestThatFindsItThereIsAnswered has an HPA that
// knows no zero, and a gateway whose picker the manager scrapes.
func TestAnIdleModelGoesToZeroAndTheRequestThatFindsItThereIsAnswered(t *testing.T) {
	t.Parallel()
	const ns, name, retention = "zero", "idle", 10 * time.Second
	v := sleeper(ns, name)
	begun := time.Now()
	allowZero(t, map[string]time.Duration{v.ModelID: retention}, ns)
	scales := recordScales(t, ns)
	deploy(t, v)
	pick(t, ns)
	ready := firstReady(t, ns, name)
	down := scales.await(t, 2*time.Minute, name, 0, begun)
	idle := down.at.Sub(ready)
	if idle < retention {
		t.Errorf("it went to zero %s after it was Ready, want at least %s", idle, retention)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string { return standsStill(ctx, ns, name) })
	consistently(t, 2*hpaPeriod, func(context.Context) string { return scales.still(name, 0) })

	asked := make(chan answer, 1)
	sent := time.Now()
	go func() { asked <- ask(t.Context(), ns, v.ModelID) }()
	eventually(t, v.StartUp, func(ctx context.Context) string { return held(ctx, ns, 1) })
	got := <-asked
	if got.err != nil {
		t.Fatal(got.err)
	}
	up := scales.await(t, time.Second, name, 1, sent)
	t.Logf("to zero %s after Ready; the replica count changed %s after the request, its first token came after %s, of %s start-up",
		idle.Round(time.Second), up.at.Sub(sent).Round(time.Millisecond), got.first.Round(time.Millisecond), v.StartUp)
	if woke := up.at.Sub(sent); woke > wakesWithin {
		t.Errorf("the replica count changed %s after the request, want at most %s", woke, wakesWithin)
	}
	consistently(t, 2*hpaPeriod, func(context.Context) string { return scales.still(name, 1) })
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		h, err := hpa(ctx, ns, name)
		if err != nil {
			return err.Error()
		}
		return inactive(h)
	})
	eventually(t, 10*time.Second, func(ctx context.Context) string { return noEvent(ctx, ns, name, "ScaledToZero", "Idle") })
	eventually(t, 10*time.Second, func(ctx context.Context) string { return noEvent(ctx, ns, name, "ScaledFromZero", "RequestsWaiting") })
	// A busy API server may give up on a write, which then comes again.
	writes := slices.DeleteFunc(scaleWrites(t, ns, begun), func(r testbed.Request) bool { return r.Code >= http.StatusInternalServerError })
	if len(writes) != 2 {
		t.Errorf("the manager set replicas %d times, want once down and once up: %v", len(writes), writes)
	}
}

// TestOnlyTheCheapestVariantWakesUnlessNoNodeTakesIt has requests for two models at
// zero, each with a cheap and a dear variant, and no node for the cheap one of the
// second. Prometheus alone knows what the gateway holds.
func TestOnlyTheCheapestVariantWakesUnlessNoNodeTakesIt(t *testing.T) {
	t.Parallel()
	const ns, product = "wake", "NVIDIA-V100"
	if err := shared.bed.AddNode(t.Context(), "shut", product, 1); err != nil {
		t.Fatal(err)
	}
	cheap, dear := sleeper(ns, "cheap"), sleeper(ns, "dear")
	shut, open := sleeper(ns, "shut"), sleeper(ns, "open")
	dear.ModelID, dear.Cost = cheap.ModelID, "40"
	open.ModelID, open.Cost = shut.ModelID, "40"
	shut.GPU, shut.Accelerator = product, "V100"
	begun := time.Now()
	allowZero(t, map[string]time.Duration{cheap.ModelID: 5 * time.Second, shut.ModelID: 5 * time.Second}, ns)
	scales := recordScales(t, ns)
	deploy(t, cheap, dear, shut, open)
	for _, v := range []testbed.Variant{cheap, dear, shut, open} {
		scales.await(t, 2*time.Minute, v.Name, 0, begun)
	}
	for _, model := range []string{cheap.ModelID, shut.ModelID} {
		eventually(t, 10*time.Second, func(ctx context.Context) string { return emptied(ctx, ns, model) })
	}
	cordon(t, "shut")

	asked := map[string]chan answer{cheap.ModelID: make(chan answer, 1), shut.ModelID: make(chan answer, 1)}
	sent := time.Now()
	for model, answers := range asked {
		go func() { answers <- ask(t.Context(), ns, model) }()
	}
	for model, answers := range asked {
		got := <-answers
		if got.err != nil {
			t.Fatal(got.err)
		}
		t.Logf("the first token of %s came after %s, of %s start-up", model, got.first.Round(time.Millisecond), cheap.StartUp)
	}
	// Where the stock is known the variant without a node is not even called.
	dearer := scales.await(t, time.Second, open.Name, 1, sent)
	t.Logf("%s, which has a node, was called %s after the request", open.Name, dearer.at.Sub(sent).Round(time.Millisecond))
	if called, ok := scales.since(shut.Name, sent); ok && dearer.at.Before(called.at) {
		t.Errorf("the dear variant was called at %s, before the cheap one at %s", dearer.at, called.at)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) string {
		return noEvent(ctx, ns, open.Name, "ScaledFromZero", "replicas of "+shut.Name)
	})
	scales.await(t, time.Second, cheap.Name, 1, sent)
	consistently(t, 2*hpaPeriod, func(context.Context) string { return scales.still(dear.Name, 0) })
	if c, ok := scales.since(dear.Name, sent); ok {
		t.Errorf("the dear variant was given %d replicas too, and the cheap one had a node", c.replicas)
	}
}

// TestTheRetentionPeriodGoesByWhatIsKnown: while Prometheus cannot be asked nothing
// goes to zero, however long that lasts, and a manager that starts in the middle
// goes by what Prometheus saw before it.
func TestTheRetentionPeriodGoesByWhatIsKnown(t *testing.T) {
	const ns, short, long = "retained", 30 * time.Second, 60 * time.Second
	upstream, err := url.Parse(shared.bed.State.Prometheus)
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer door.Close()
	restart(t, testbed.ManagerOptions{Interval: interval, Prometheus: door.URL})
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })

	blind, lasting := sleeper(ns, "blind"), sleeper(ns, "lasting")
	begun := time.Now()
	allowZero(t, map[string]time.Duration{blind.ModelID: short, lasting.ModelID: long}, ns)
	scales := recordScales(t, ns)
	deploy(t, blind, lasting)
	ready := firstReady(t, ns, blind.Name)
	condition(t, time.Minute, ns, blind.Name, "MetricsAvailable", "True", "MetricsFound")
	down.Store(true)
	if seen := time.Since(ready); seen >= short {
		t.Fatalf("Prometheus was shut %s after the first Ready: too late to show anything", seen)
	}
	consistently(t, time.Until(ready.Add(long-8*time.Second)), func(context.Context) string { return scales.still(blind.Name, 1) })

	restarted := time.Now()
	restart(t, testbed.ManagerOptions{Interval: interval})
	after := scales.await(t, time.Minute, blind.Name, 0, begun).at
	ended := scales.await(t, time.Minute, lasting.Name, 0, begun).at
	t.Logf("Prometheus was out of reach for %s of a retention period of %s; to zero %s after a manager began that can ask it; "+
		"with a period of %s, in which it began after %s, after %s", restarted.Sub(ready).Round(time.Second), short,
		after.Sub(restarted).Round(time.Second), long, restarted.Sub(ready).Round(time.Second), ended.Sub(ready).Round(time.Second))
	if after.Before(restarted) {
		t.Errorf("it went to zero before anybody could know that it was idle")
	}
	if idle := ended.Sub(ready); idle < long || ended.Sub(restarted) >= long {
		t.Errorf("it went to zero %s after Ready and %s after the restart; want at least %s after the one and sooner than %s after the other",
			idle, ended.Sub(restarted), long, long)
	}
}

// sleeper is a variant that may go to zero, by the hand of the manager, of a model
// of its own.
func sleeper(namespace, name string) testbed.Variant {
	v := aside(namespace, name)
	v.NoHPA, v.Min, v.Actuation = false, 0, "zero"
	return v
}

// allowZero lets models of a namespace go to zero after their retention periods, by
// managers that may set replicas.
func allowZero(t *testing.T, retention map[string]time.Duration, namespace string) {
	t.Helper()
	if err := shared.bed.GrantActuation(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for model, period := range retention {
		entries["model."+strings.ReplaceAll(model, "/", ".")] = fmt.Sprintf("modelID: %s\nenableScaleToZero: true\nretentionPeriod: %s\n", model, period)
	}
	configure(t, namespace, "model-scale-to-zero-config", entries)
}

// pick puts the endpoint picker of a namespace where managers look for it.
func pick(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := shared.bed.DeployPicker(ctx, namespace, shared.emulator); err != nil {
		t.Fatal(err)
	}
}

// firstReady waits until a pod of a Deployment is Ready and returns since when, to
// the second below.
func firstReady(t *testing.T, namespace, name string) time.Time {
	t.Helper()
	var since time.Time
	eventually(t, time.Minute, func(ctx context.Context) string {
		var pods corev1.PodList
		if err := shared.bed.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": name}); err != nil {
			return err.Error()
		}
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					since = c.LastTransitionTime.Time
					return ""
				}
			}
		}
		return "no pod of " + name + " is Ready"
	})
	return since
}

// standsStill says why an HPA does not stand still at zero, or returns "".
func standsStill(ctx context.Context, namespace, name string) string {
	h, err := hpa(ctx, namespace, name)
	if err != nil {
		return err.Error()
	}
	for _, c := range h.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Reason == "ScalingDisabled" {
			return ""
		}
	}
	return fmt.Sprintf("the HPA does not stand still: %+v", h.Status.Conditions)
}

// cordon keeps new pods off a node until the test ends.
func cordon(t *testing.T, name string) {
	t.Helper()
	set := func(ctx context.Context, closed bool) error {
		node, err := read(ctx, "", name, &corev1.Node{})
		if err != nil {
			return err
		}
		before := node.DeepCopy()
		node.Spec.Unschedulable = closed
		return shared.bed.Client.Patch(ctx, node, client.MergeFrom(before))
	}
	if err := set(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := set(ctx, false); err != nil {
			t.Error(err)
		}
	})
}
