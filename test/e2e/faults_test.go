//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestPrometheusFaultsHoldTheDecision: down, slow and garbage each end in
// PrometheusError with the cause, the decision stays, and it recovers alone.
func TestPrometheusFaultsHoldTheDecision(t *testing.T) {
	const ns = "faults"
	upstream, err := url.Parse(shared.bed.State.Prometheus)
	if err != nil {
		t.Fatal(err)
	}
	var fault atomic.Value // func(http.ResponseWriter, *http.Request), nil to pass on
	fault.Store(http.HandlerFunc(nil))
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := fault.Load().(http.HandlerFunc); f != nil {
			f(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	restart(t, testbed.ManagerOptions{Interval: interval, Prometheus: server.URL, Env: []string{
		"PROMETHEUS_TIMEOUT=1s", "PROMETHEUS_METRICS_CACHE_TTL=5s", // by default what was last read serves for 30 s
	}})
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })

	v := chat(ns, "cheap")
	v.Replicas = 2
	deploy(t, v)
	condition(t, time.Minute, ns, "cheap", "MetricsAvailable", "True", "MetricsFound")

	faults := []struct {
		name    string
		handler http.HandlerFunc
		cause   string
	}{
		{"down", func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
		}, "EOF"},
		{"slow", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
			<-r.Context().Done()
		}, "no answer in time"},
		{"garbage", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>login</html>") }, "<html>"},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			// Without load the second replica is on its way out or gone: what counts
			// is that nothing moves while nothing is known.
			fault.Store(f.handler)
			message := condition(t, time.Minute, ns, "cheap", "MetricsAvailable", "False", "PrometheusError")
			if !strings.Contains(message, f.cause) {
				t.Errorf("message %q does not name the cause %q", message, f.cause)
			}
			condition(t, 30*time.Second, ns, "cheap", "OptimizationReady", "True", "FallbackUsed")
			before, err := deployment(t.Context(), ns, "cheap")
			if err != nil {
				t.Fatal(err)
			}
			consistently(t, 10*time.Second, func(ctx context.Context) string {
				d, err := deployment(ctx, ns, "cheap")
				if err != nil {
					return err.Error()
				}
				if *d.Spec.Replicas < *before.Spec.Replicas {
					return fmt.Sprintf("replicas went from %d to %d", *before.Spec.Replicas, *d.Spec.Replicas)
				}
				return ""
			})
			fault.Store(http.HandlerFunc(nil))
			condition(t, time.Minute, ns, "cheap", "MetricsAvailable", "True", "MetricsFound")
			condition(t, 30*time.Second, ns, "cheap", "OptimizationReady", "True", "OptimizationSucceeded")
		})
	}
}

func TestAModelThatNoMetricCarriesIsNamedWithThoseThatExist(t *testing.T) {
	t.Parallel()
	const ns = "typo"
	v := chat(ns, "cheap")
	deploy(t, v)
	condition(t, time.Minute, ns, "cheap", "MetricsAvailable", "True", "MetricsFound")
	va, err := autoscaling(t.Context(), ns, "cheap")
	if err != nil {
		t.Fatal(err)
	}
	va.Spec.ModelID = "llama-3.1-8b"
	if err := shared.bed.Client.Update(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	message := condition(t, time.Minute, ns, "cheap", "MetricsAvailable", "False", "MetricsMissing")
	if !strings.Contains(message, v.ModelID) {
		t.Errorf("message %q does not list %s", message, v.ModelID)
	}
}

func TestAMissingTargetIsNamedAndResumes(t *testing.T) {
	t.Parallel()
	const ns = "target"
	v := chat(ns, "cheap")
	if err := shared.bed.Namespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	objects := v.Objects() // Deployment, VariantAutoscaling, HPA
	if err := shared.bed.Apply(t.Context(), objects[1:]...); err != nil {
		t.Fatal(err)
	}
	message := condition(t, time.Minute, ns, "cheap", "TargetResolved", "False", "TargetNotFound")
	if !strings.Contains(message, "cheap") {
		t.Errorf("message %q does not name the target", message)
	}
	deploy(t, v)
	condition(t, time.Minute, ns, "cheap", "TargetResolved", "True", "TargetFound")
	condition(t, time.Minute, ns, "cheap", "Ready", "True", "Ready")
}

func TestMaxReplicasBelowMinReplicasIsRefused(t *testing.T) {
	t.Parallel()
	const ns = "bounds"
	if err := shared.bed.Namespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	v := chat(ns, "cheap")
	two := int32(2)
	v.Min, v.Max = 5, &two
	err := shared.bed.Client.Create(t.Context(), v.Objects()[1])
	if err == nil || !strings.Contains(err.Error(), "maxReplicas must be greater than or equal to minReplicas") {
		t.Errorf("creating it: %v", err)
	}
}

// TestAnOrderThatNoNodeTakesIsNamedAndPlannedElsewhere: pods that stay Pending
// stop counting, an event says so, and the dear variant takes over.
func TestAnOrderThatNoNodeTakesIsNamedAndPlannedElsewhere(t *testing.T) {
	t.Parallel()
	const ns, product = "full", "NVIDIA-A10"
	if err := shared.bed.AddNode(t.Context(), "full", product, 1); err != nil {
		t.Fatal(err)
	}
	cheap, dear := chat(ns, "cheap"), chat(ns, "dear")
	cheap.GPU, cheap.Accelerator = product, "A10"
	dear.Cost, dear.GPU, dear.Accelerator, dear.Profile = "40", "NVIDIA-H100-80GB-HBM3", "H100", "llama-8b-h100"
	deploy(t, cheap, dear)
	condition(t, time.Minute, ns, "cheap", "Ready", "True", "Ready")
	condition(t, time.Minute, ns, "dear", "Ready", "True", "Ready")

	load(t, ns, cheap.ModelID, "constant(40,600s)")
	condition(t, 4*time.Minute, ns, "cheap", "ScalerFollowing", "False", "PodsUnschedulable")
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, ns, "dear")
		if err != nil {
			return err.Error()
		}
		if *d.Spec.Replicas < 2 {
			return "the dear variant has not grown"
		}
		return ""
	})
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		var events corev1.EventList
		if err := shared.bed.Client.List(ctx, &events, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "VariantAutoscaling" && e.InvolvedObject.Name == "cheap" && e.Reason == "NotFollowed" {
				return ""
			}
		}
		return "there is no event NotFollowed"
	})
}

// TestARestartChangesNoDecision is rule 13.
func TestARestartChangesNoDecision(t *testing.T) {
	const ns = "restart"
	v := chat(ns, "cheap")
	v.Min, v.Replicas = 2, 2
	deploy(t, v)
	condition(t, time.Minute, ns, "cheap", "Ready", "True", "Ready")
	before := settled(t, ns, "cheap")
	restart(t, testbed.ManagerOptions{Interval: interval})
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		_, err := explained(ctx, shared.manager, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		return ""
	})
	consistently(t, 10*time.Second, func(ctx context.Context) string {
		va, err := autoscaling(ctx, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if now, was := va.Status.DesiredOptimizedAlloc, before.Status.DesiredOptimizedAlloc; now.NumReplicas != was.NumReplicas ||
			!now.LastUpdate.UpdateTime.Equal(was.LastUpdate.UpdateTime) {
			return fmt.Sprintf("the decision was %+v and is %+v", was, now)
		}
		return ""
	})
}

// settled waits until the decision has been applied and returns the object.
func settled(t *testing.T, namespace, name string) *v1alpha1.VariantAutoscaling {
	t.Helper()
	var va *v1alpha1.VariantAutoscaling
	eventually(t, time.Minute, func(ctx context.Context) string {
		var err error
		if va, err = autoscaling(ctx, namespace, name); err != nil {
			return err.Error()
		}
		if va.Status.Actuation == nil || !va.Status.Actuation.Applied {
			return "the decision is not applied"
		}
		return ""
	})
	return va
}
