//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestStartUpsOutliveTheManager has a pod start, scales its Deployment to zero and starts
// the manager again, which then knows from its store how long the next pod will take.
func TestStartUpsOutliveTheManager(t *testing.T) {
	const ns, name = "store", "slow"
	v := aside(ns, name)
	v.StartUp = 8 * time.Second
	deploy(t, v)
	hasReady(t, ns, name, 1)
	var learned time.Duration
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, name)
		if err != nil {
			return err.Error()
		}
		learned = e.Variant.StartUp
		if learned < v.StartUp || learned > 2*v.StartUp {
			return fmt.Sprintf("the usual start-up is %s, want that of the pod, %s", learned, v.StartUp)
		}
		return ""
	})
	eventually(t, 90*time.Second, func(context.Context) string {
		//nolint:contextcheck // a command has a deadline of its own
		if out := stored(t); !strings.Contains(out, "meta/slow") || !strings.Contains(out, "slow "+learned.String()) {
			return "the store does not have it:\n" + out
		}
		return ""
	})

	d, err := deployment(t.Context(), ns, name)
	if err != nil {
		t.Fatal(err)
	}
	before := d.DeepCopy()
	d.Spec.Replicas = ptr.To[int32](0)
	if err := shared.bed.Client.Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	hasReady(t, ns, name, 0)
	restart(t, testbed.ManagerOptions{Interval: interval})
	eventually(t, time.Minute, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, name)
		if err != nil {
			return err.Error()
		}
		if e.Variant.Replicas.Ready != 0 || e.Variant.StartUp != learned || e.StartUps.Restored != 1 {
			return fmt.Sprintf("%d replicas are Ready, the usual start-up is %s, %d of the pods are from the store; want none, %s and one",
				e.Variant.Replicas.Ready, e.Variant.StartUp, e.StartUps.Restored, learned)
		}
		return ""
	})
	if out := explanationOf(t, ns, name); !strings.Contains(out, "start-up    "+learned.String()) ||
		!strings.Contains(out, "from the store of an earlier process") {
		t.Errorf("wva explain says\n%s", out)
	}
}

// stored returns what wva store says.
func stored(t *testing.T) string {
	t.Helper()
	out, err := wva(t, nil, "store", "--kubeconfig", shared.bed.State.Kubeconfig, "--system-namespace", testbed.SystemNamespace)
	if err != nil {
		t.Fatalf("wva store: %v", err)
	}
	return out
}
