//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestReplicasFollowTheLoadThroughHPA is the main job: load rises, the decision
// rises, the HPA reads it, the Deployment grows; and back. What the HPA read is
// what the ledger decided.
func TestReplicasFollowTheLoadThroughHPA(t *testing.T) {
	t.Parallel()
	const ns = "follow"
	v := chat(ns, "cheap")
	most := int32(3) // replicas go one at a time, a window (1m) apart
	v.Max = &most
	deploy(t, v)
	condition(t, time.Minute, ns, "cheap", "Ready", "True", "Ready")

	load(t, ns, v.ModelID, "constant(12,75s),constant(0.3,600s)")
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas < 3 {
			return fmt.Sprintf("%d replicas are Ready, want 3", d.Status.ReadyReplicas)
		}
		return ""
	})
	eventually(t, 6*time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if d.Status.Replicas != 1 {
			return fmt.Sprintf("%d replicas are left, want 1", d.Status.Replicas)
		}
		return ""
	})
	eventually(t, 30*time.Second, func(ctx context.Context) string { return agreement(ctx, ns, "cheap") })

	var events corev1.EventList
	if err := shared.bed.Client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"HorizontalPodAutoscaler SuccessfulRescale", "VariantAutoscaling Decided", "VariantAutoscaling ScaledUp",
		"VariantAutoscaling ScaledDown",
	} {
		found := false
		for _, e := range events.Items {
			found = found || e.InvolvedObject.Kind+" "+e.Reason == want
		}
		if !found {
			t.Errorf("there is no event %q", want)
		}
	}
}

// TestHPASeesWhatTheLedgerDecided compares the two while more than one replica
// is wanted: the average that the HPA reports, times the replicas that it
// reports it for, is the decision, to the rounding of 1m a replica.
func TestHPASeesWhatTheLedgerDecided(t *testing.T) {
	t.Parallel()
	const ns = "agree"
	v := chat(ns, "cheap")
	v.Min, v.GPU, v.Accelerator = 3, poolProduct, poolAccelerator
	deploy(t, v)
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		h, err := hpa(ctx, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if h.Status.CurrentReplicas != 3 {
			return fmt.Sprintf("the HPA has %d replicas, want 3", h.Status.CurrentReplicas)
		}
		return agreement(ctx, ns, "cheap")
	})
}

// agreement says how what the HPA read differs from what the ledger decided, or
// returns "".
func agreement(ctx context.Context, namespace, name string) string {
	e, err := explained(ctx, shared.manager, namespace, name)
	if err != nil {
		return err.Error()
	}
	h, err := hpa(ctx, namespace, name)
	if err != nil {
		return err.Error()
	}
	for _, m := range h.Status.CurrentMetrics {
		if m.Type != autoscalingv2.ExternalMetricSourceType || m.External.Metric.Name != "wva_desired_replicas" || m.External.Current.AverageValue == nil {
			continue
		}
		n := float64(h.Status.CurrentReplicas)
		saw := m.External.Current.AverageValue.AsApproximateFloat64() * n
		if decided := float64(e.Decision.Target()); math.Abs(saw-decided) > 0.001*n {
			return fmt.Sprintf("the HPA saw %g, the ledger decided %g", saw, decided)
		}
		return ""
	}
	return fmt.Sprintf("the HPA has not read the metric: %+v", h.Status.Conditions)
}

// TestWithoutTheExternalMetricsAPINothingMoves shows causality: the same load,
// the same decision, and no replica moves, because no scaler reads it.
func TestWithoutTheExternalMetricsAPINothingMoves(t *testing.T) {
	const ns = "deaf"
	v := chat(ns, "cheap")
	deploy(t, v)
	condition(t, time.Minute, ns, "cheap", "Ready", "True", "Ready")
	if err := shared.bed.UnregisterExternalMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	restart(t, testbed.ManagerOptions{Interval: interval, NoExternalMetrics: true})

	load(t, ns, v.ModelID, "constant(12,600s)")
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if e.Decision.Target() < 2 {
			return fmt.Sprintf("the decision is %d replicas, want at least 2", e.Decision.Target())
		}
		return ""
	})
	fitsInto(t, 100) // without the External Metrics API
	// A scaler that cannot read is named, after a minute at the earliest, and to the end
	// of it no client has touched the Deployment.
	condition(t, 3*time.Minute, ns, "cheap", "ScalerFollowing", "False", "HPANotReadingMetric")
	d, err := deployment(t.Context(), ns, "cheap")
	if err != nil {
		t.Fatal(err)
	}
	if d.Generation != 1 || *d.Spec.Replicas != 1 {
		t.Errorf("the Deployment was given %d replicas (generation %d)", *d.Spec.Replicas, d.Generation)
	}

	restart(t, testbed.ManagerOptions{Interval: interval})
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if *d.Spec.Replicas < 2 {
			return "with the API back the Deployment has not grown"
		}
		return ""
	})
}

// restart ends the manager and starts another.
func restart(t *testing.T, o testbed.ManagerOptions) {
	t.Helper()
	// The test's own context has ended where this is a clean-up.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shared.manager.Stop()
	m, err := shared.bed.StartManager(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	shared.manager = m
}

func TestEndpointStreamsACompletion(t *testing.T) {
	t.Parallel()
	const ns = "stream"
	v := chat(ns, "cheap")
	v.NoHPA = true
	deploy(t, v)
	body := `{"model":"` + v.ModelID + `","prompt":"how are you","max_tokens":12,"stream":true}`
	post := func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.emulator.Endpoint(ns, v.ModelID)+"/v1/completions", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		return http.DefaultClient.Do(req)
	}
	var resp *http.Response
	eventually(t, time.Minute, func(context.Context) string {
		got, err := post()
		if err != nil {
			return err.Error()
		}
		if got.StatusCode == http.StatusNotFound {
			got.Body.Close() // the fleet has not seen the model's pods yet
			return got.Status
		}
		resp = got
		return ""
	})
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("answered %s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	chunks, done := 0, false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch data, isData := strings.CutPrefix(lines.Text(), "data: "); {
		case isData && data == "[DONE]":
			done = true
		case isData:
			chunks++
		}
	}
	if chunks < 12 || !done {
		t.Errorf("%d chunks, ended with [DONE]: %t; want at least 12, true", chunks, done)
	}
}
