//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMetricsThatAreNoLongerScrapedAgeUntilTheyCountForNothing follows a model
// whose pods Prometheus no longer scrapes, by the limits of every installation: a
// minute at most, and five. The decision stands all the while, although an idle replica is
// to spare.
func TestMetricsThatAreNoLongerScrapedAgeUntilTheyCountForNothing(t *testing.T) {
	t.Parallel()
	const ns = "age"
	v := aside(ns, "old")
	v.Min = 1
	deploy(t, v)
	condition(t, time.Minute, ns, v.Name, "MetricsAvailable", "True", "MetricsFound")

	// What was scraped for less than the half minute in which older samples are looked
	// for was never there.
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		pods, err := shared.bed.Query(ctx, "count(vllm:num_requests_running{namespace=\""+ns+"\"} offset 35s)")
		if err != nil || math.IsNaN(pods) {
			return fmt.Sprintf("no page of the pod 35s ago (%v)", err)
		}
		return ""
	})
	scrape(t, ns, false)
	gone := time.Now()
	// At the latest after a minute; the age of what is no longer scraped at all is unknown
	// how often it was, and then at once.
	condition(t, 2*time.Minute, ns, v.Name, "MetricsAvailable", "True", "MetricsAging")
	condition(t, 30*time.Second, ns, v.Name, "OptimizationReady", "True", "OptimizationSucceeded")
	setBounds(t, ns, v.Name, 2)
	decided(t, ns, v.Name, 2) // it may still grow
	setBounds(t, ns, v.Name, 1)
	consistently(t, 45*time.Second, func(ctx context.Context) string { // longer than scaleDownStabilization
		va, err := autoscaling(ctx, ns, v.Name)
		if err != nil {
			return err.Error()
		}
		if n := va.Status.DesiredOptimizedAlloc.NumReplicas; n != 2 {
			return fmt.Sprintf("the decision is %d on what ages, want 2", n)
		}
		return ""
	})

	condition(t, 6*time.Minute, ns, v.Name, "MetricsAvailable", "False", "MetricsStale")
	if after := time.Since(gone); after < 4*time.Minute {
		t.Errorf("metrics are stale after %s, want five minutes less what they were old", after)
	}
	condition(t, 30*time.Second, ns, v.Name, "OptimizationReady", "True", "FallbackUsed")
	decided(t, ns, v.Name, 2)

	scrape(t, ns, true)
	condition(t, time.Minute, ns, v.Name, "MetricsAvailable", "True", "MetricsFound")
	condition(t, 30*time.Second, ns, v.Name, "OptimizationReady", "True", "OptimizationSucceeded")
}

// scrape has Prometheus scrape the pods of a namespace, or leave them alone.
func scrape(t *testing.T, namespace string, on bool) {
	t.Helper()
	path := filepath.Join(shared.bed.State.PrometheusConfigDir, "vllm.yml")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	drop := "  relabel_configs:\n  - {source_labels: [namespace], regex: " + namespace + ", action: drop}\n"
	text, _ := strings.CutSuffix(string(config), drop)
	if !on {
		text += drop
		t.Cleanup(func() {
			if err := os.WriteFile(path, config, 0o600); err != nil {
				t.Error(err)
			}
			if err := shared.bed.ReloadPrometheus(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shared.bed.ReloadPrometheus(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// setBounds changes the lower bound of a variant.
func setBounds(t *testing.T, namespace, name string, least int32) {
	t.Helper()
	eventually(t, 10*time.Second, func(ctx context.Context) string {
		va, err := autoscaling(ctx, namespace, name)
		if err != nil {
			return err.Error()
		}
		va.Spec.MinReplicas = least
		if err := shared.bed.Client.Update(ctx, va); err != nil {
			return err.Error() // its status was written meanwhile
		}
		return ""
	})
}

// decided waits until a number of replicas is decided for a variant.
func decided(t *testing.T, namespace, name string, want int32) {
	t.Helper()
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		va, err := autoscaling(ctx, namespace, name)
		if err != nil {
			return err.Error()
		}
		if d := va.Status.DesiredOptimizedAlloc; d == nil || d.NumReplicas != want {
			return fmt.Sprintf("the decision is %+v, want %d", d, want)
		}
		return ""
	})
}
