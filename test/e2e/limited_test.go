//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// hpaPeriod is how often an HPA of the local cluster looks.
const hpaPeriod = 5 * time.Second

// contender is one of several models that want the same accelerators.
type contender struct {
	name     string
	priority int   // of its service class
	replicas int32 // to begin with
	least    int32 // minReplicas
	share    int32 // replicas in the end
	limited  bool  // it wants more than its share
}

// TestPrioritiesShareWhatTheNodesHave has three models that want nine accelerators
// of a kind of which there are seven, and the least important one holds three of
// them. Each keeps its minimum, the rest goes by priority, and no pod is ordered for
// which there is no node.
func TestPrioritiesShareWhatTheNodesHave(t *testing.T) {
	t.Parallel()
	const (
		ns, product, accelerator = "limited", "Tesla-T4", "T4"
		stock                    = 7
		// A replica serves 0.62 requests/s with an ITL of 40 ms, three of them 1.87.
		rate = "gamma(1.55,600s,cv=0.05)"
	)
	contenders := []contender{
		{name: "gold", priority: 1, replicas: 1, least: 1, share: 3},
		{name: "silver", priority: 10, replicas: 1, least: 1, share: 2, limited: true},
		{name: "bronze", priority: 50, replicas: 3, least: 2, share: 2, limited: true},
	}
	if err := shared.bed.AddNode(t.Context(), ns, product, stock); err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	var variants []testbed.Variant
	for _, c := range contenders {
		v := slow(ns, c.name)
		v.ModelID, v.GPU, v.Accelerator = "meta/"+c.name, product, accelerator
		v.Replicas, v.Min = c.replicas, c.least
		variants = append(variants, v)
		classes[c.name] = class(c.name, c.priority, v.ModelID)
	}
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "engine: queueing\nenableLimiter: true"})
	configure(t, ns, "service-classes-config", classes)
	deploy(t, variants...)
	for _, c := range contenders {
		condition(t, time.Minute, ns, c.name, "Ready", "True", "Ready")
	}

	waited := watchWaiting(t, ns)
	begun := time.Now()
	for i, v := range variants {
		load(t, ns, v.ModelID, rate, "--lengths", "constant", "--seed", fmt.Sprint(i+1))
	}
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		missing := ""
		for _, c := range contenders {
			d, err := deployment(ctx, ns, c.name)
			if err != nil {
				return err.Error()
			}
			if *d.Spec.Replicas < c.least {
				t.Fatalf("%s has %d replicas, and its minimum is %d", c.name, *d.Spec.Replicas, c.least)
			}
			if *d.Spec.Replicas != c.share || d.Status.ReadyReplicas != c.share {
				missing += fmt.Sprintf("%s has %d replicas, %d of them Ready, want %d; ", c.name, *d.Spec.Replicas, d.Status.ReadyReplicas, c.share)
			}
		}
		if missing != "" {
			return missing
		}
		return explainedAs(ctx, ns, contenders)
	})
	took := time.Since(begun)
	consistently(t, 10*interval, func(ctx context.Context) string {
		for _, c := range contenders {
			d, err := deployment(ctx, ns, c.name)
			if err != nil {
				return err.Error()
			}
			if *d.Spec.Replicas != c.share {
				return fmt.Sprintf("%s has %d replicas, want %d", c.name, *d.Spec.Replicas, c.share)
			}
		}
		return ""
	})
	longest, pod := waited()
	t.Logf("every model has its share after %s; the longest that a pod had no node was %s", took.Round(time.Second), longest.Round(100*time.Millisecond))
	// What is ordered in one cycle may be taken back in the next one, and the HPA does
	// so when it looks.
	if most := 2*interval + hpaPeriod; longest > most {
		t.Errorf("pod %s had no node for %s, want at most %s", pod, longest, most)
	}

	for _, c := range contenders {
		blocked := regexp.MustCompile(`blocked +` + c.name + `: (NoStock|Shared), .*\b` + fmt.Sprint(c.share) + ` of \d replicas`)
		if text := explanationOf(t, ns, c.name); blocked.MatchString(text) != c.limited {
			t.Errorf("wva explain %s names the accelerators as what blocks it: %t, want %t:\n%s", c.name, !c.limited, c.limited, text)
		}
		if c.limited {
			eventually(t, 30*time.Second, func(ctx context.Context) string { return noEvent(ctx, ns, c.name, "Limited", accelerator) })
		}
	}
}

// explainedAs says whose last decision is bound, or is not, against what is known
// of the contenders, or returns "".
func explainedAs(ctx context.Context, namespace string, contenders []contender) string {
	for _, c := range contenders {
		e, err := explained(ctx, shared.manager, namespace, c.name)
		if err != nil {
			return err.Error()
		}
		if step, bound := explain.Bound(e.Decision); bound != c.limited || int32(e.Decision.Target()) != c.share {
			return fmt.Sprintf("%d replicas are decided for %s, bound by %+v, want %d and bound: %t", e.Decision.Target(), c.name, step, c.share, c.limited)
		}
	}
	return ""
}

// watchWaiting looks for pods of a namespace that no node takes until the function
// that it returns is called, which says for how long that was so of one at the most.
func watchWaiting(t *testing.T, namespace string) func() (longest time.Duration, pod string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var (
		since   = map[types.UID]time.Time{} // when a pod was first seen without a node
		longest time.Duration
		pod     string
	)
	look := func(now time.Time) error {
		var pods corev1.PodList
		if err := shared.bed.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
				continue
			}
			if since[p.UID].IsZero() {
				since[p.UID] = now
			}
			if waits := now.Sub(since[p.UID]); waits >= longest {
				longest, pod = waits, p.Name
			}
		}
		return nil
	}
	var looks sync.WaitGroup
	looks.Go(func() {
		const period = 250 * time.Millisecond
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if err := look(now); err != nil && ctx.Err() == nil {
					t.Errorf("looking for pods without a node: %v", err)
				}
			}
		}
	})
	end := func() (time.Duration, string) {
		cancel()
		looks.Wait()
		return longest, pod
	}
	t.Cleanup(func() { end() })
	return end
}
