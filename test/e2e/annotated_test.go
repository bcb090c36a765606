//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// TestReplicasFollowAnAnnotatedHPA has an HPA that is a variant by its annotations, alone, beside a
// VariantAutoscaling that is deleted in the middle of the growth, and without its annotation: the
// replicas follow the load, none is lost on the way, and what kubectl describes of the HPA says why.
func TestReplicasFollowAnAnnotatedHPA(t *testing.T) {
	t.Parallel()
	const ns, name = "annotated", "chat"
	v := chat(ns, name)
	v.Annotated, v.Max = true, new(int32(2)) // the third replica is for after the deletion
	scales := recordScales(t, ns)
	deploy(t, v)
	firstReady(t, ns, name)
	load(t, ns, v.ModelID, "constant(12,600s)")
	begun := time.Now()
	scales.await(t, 2*time.Minute, name, 2, begun)

	// What KServe writes at first, and deletes once it annotates.
	va := v.Autoscaling()
	va.Name = name + "-va"
	va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: name}
	apply(t, va)
	condition(t, 30*time.Second, ns, va.Name, "TargetResolved", "True", "TargetFound")
	reads(t, ns, name, 2)
	if err := shared.bed.Client.Delete(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		_, err := explained(ctx, shared.manager, ns, name)
		if err != nil {
			return err.Error()
		}
		return ""
	})
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	wider := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"maxReplicas":3}}`))
	if err := shared.bed.Client.Patch(t.Context(), h, wider); err != nil {
		t.Fatal(err)
	}
	scales.await(t, 2*time.Minute, name, 3, begun)
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		text := describedHPA(ctx, t, ns, name)
		for _, want := range []string{"Decided", "ScaledUp", "SuccessfulRescale", "from 1 to 2 replicas", "from 2 to 3 replicas"} {
			if !strings.Contains(text, want) {
				return fmt.Sprintf("kubectl describe hpa does not show %q:\n%s", want, text)
			}
		}
		return ""
	})

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"llm-d.ai/managed":null}}}`))
	if err := shared.bed.Client.Patch(t.Context(), h, patch); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		if _, err := shared.bed.ExternalMetric(ctx, ns, name); err == nil {
			return "the decision on what is no variant is still served"
		}
		return ""
	})
	consistently(t, 3*hpaPeriod, func(context.Context) string { return scales.still(name, 3) })
	if path := scales.path(name); !slices.Equal(path, []int32{1, 2, 3}) {
		t.Errorf("the Deployment was told to have %v replicas one after another, want 1, 2, 3", path)
	}
}

// describedHPA returns what kubectl says of an HPA.
func describedHPA(ctx context.Context, t *testing.T, namespace, name string) string {
	t.Helper()
	kubectl := exec.CommandContext(ctx, filepath.Join(shared.bed.Root, ".local", "bin", "kubectl"),
		"--kubeconfig", shared.bed.State.Kubeconfig, "-n", namespace, "describe", "hpa", name)
	out, err := kubectl.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl describe hpa %s: %v: %s", name, err, out)
	}
	return string(out)
}
