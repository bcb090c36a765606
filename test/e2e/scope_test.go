//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestAManagerServesItsShareOfTheFleetAlone: what is another's is neither decided
// nor written nor exported, and what is its own is told by the label.
func TestAManagerServesItsShareOfTheFleetAlone(t *testing.T) {
	const here, there = "scope-here", "scope-there"
	mine, other, neither := aside(here, "mine"), aside(here, "other"), aside(here, "neither")
	away := aside(there, "away")
	deploy(t, mine, other, neither, away)
	for name, instance := range map[string]string{"mine": "east", "other": "west"} {
		assign(t, here, name, instance)
	}
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })

	for _, s := range []struct {
		name, env, instance string
		served              []string
		passed              []string
	}{
		{"one namespace", "WATCH_NAMESPACE=" + there, "", []string{there + "/away"}, []string{here + "/mine", here + "/other", here + "/neither"}},
		{"one instance", "CONTROLLER_INSTANCE=east", "east", []string{here + "/mine"}, []string{here + "/other", here + "/neither", there + "/away"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			shared.manager.Stop() // no other manager may write what is looked for
			blank(t, append(append([]string{}, s.served...), s.passed...))
			restart(t, testbed.ManagerOptions{Interval: interval, NoExternalMetrics: true, Env: []string{s.env}})
			for _, key := range s.served {
				namespace, name, _ := strings.Cut(key, "/")
				condition(t, time.Minute, namespace, name, "MetricsAvailable", "True", "MetricsFound")
			}
			consistently(t, 3*interval, func(ctx context.Context) string {
				for _, key := range s.passed {
					namespace, name, _ := strings.Cut(key, "/")
					va, err := autoscaling(ctx, namespace, name)
					if err != nil {
						return err.Error()
					}
					if len(va.Status.Conditions) > 0 || va.Status.DesiredOptimizedAlloc != nil {
						return key + " was written"
					}
				}
				return exported(ctx, t, s.served, s.instance)
			})
		})
	}
}

// assign gives a variant to the managers of an instance.
func assign(t *testing.T, namespace, name, instance string) {
	t.Helper()
	va, err := autoscaling(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	va.Labels = map[string]string{v1alpha1.LabelControllerInstance: instance}
	va.ManagedFields = nil
	if err := shared.bed.Client.Update(t.Context(), va); err != nil {
		t.Fatal(err)
	}
}

// blank takes back what was written about variants.
func blank(t *testing.T, keys []string) {
	t.Helper()
	for _, key := range keys {
		namespace, name, _ := strings.Cut(key, "/")
		va, err := autoscaling(t.Context(), namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		va.Status = v1alpha1.VariantAutoscalingStatus{}
		if err := shared.bed.Client.Status().Update(t.Context(), va); err != nil {
			t.Fatal(err)
		}
	}
}

// exported says what is wrong with the variants whose decisions the manager
// exports, or returns "".
func exported(ctx context.Context, t *testing.T, want []string, instance string) string {
	t.Helper()
	var got []string
	for _, m := range metricsOf(ctx, t, shared.manager)["wva_desired_replicas"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		got = append(got, labels["namespace"]+"/"+labels["variant_name"])
		if labels["controller_instance"] != instance {
			return fmt.Sprintf("the label controller_instance is %q, want %q", labels["controller_instance"], instance)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		return fmt.Sprintf("decisions are exported of %v, want %v", got, want)
	}
	return ""
}
