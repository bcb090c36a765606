//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// perReplica is what the HPA of this scenario wants of the metric on each replica,
// and downWindow its stabilization window. The others are the defaults of
// autoscaling/v2. hpaSync is how often the controller of the local cluster looks.
const (
	perReplica = 2
	downWindow = 20 * time.Second
	hpaSync    = 5 * time.Second
)

// TestTheHPAOfTheLabDoesWhatTheControllerDoes scripts a metric: the decision of a
// variant whose bounds leave no choice. An HPA with the tolerance and the limits
// of Kubernetes follows it, and the one of the simulator is shown the same
// readings. When they act may differ, what they set may not.
func TestTheHPAOfTheLabDoesWhatTheControllerDoes(t *testing.T) {
	t.Parallel()
	const ns, name = "scripted", "v"
	v := chat(ns, name)
	v.NoHPA, v.Min, v.Max = true, perReplica, new(int32(perReplica))
	deploy(t, v)
	reads(t, ns, name, perReplica)
	if err := shared.bed.Apply(t.Context(), scriptedHPA(ns, name)); err != nil {
		t.Fatal(err)
	}
	r := watch(t, ns, name)
	for _, step := range []struct {
		metric int32
		want   int32 // replicas, worked out by hand
		why    string
	}{
		{19, 10, "ceil(19/2), of which max(1+4, 2x1) at first and the rest after 15 s"},
		{21, 10, "21/20 is within the tolerance of 0.1"},
		{23, 12, "23/20 is not"},
		{8, 4, "8/2, once the window has passed"},
		{9, 5, "ceil(9/2)"},
		{2, 1, "the least"},
	} {
		bind(t, ns, name, step.metric)
		reads(t, ns, name, step.metric)
		has := func(ctx context.Context) string {
			d, err := deployment(ctx, ns, name)
			if err != nil {
				return err.Error()
			}
			if *d.Spec.Replicas != step.want {
				return fmt.Sprintf("%d replicas for a metric of %d, want %d: %s", *d.Spec.Replicas, step.metric, step.want, step.why)
			}
			return ""
		}
		eventually(t, 90*time.Second, has)
		// The two look at different times: each is given its looks at every reading.
		consistently(t, 2*hpaSync, has)
	}
	looks := r.stop()
	live, lab := changes(looks), changes(simulated(looks))
	t.Logf("the controller set %v in %s", live, looks[len(looks)-1].at.Sub(looks[0].at).Round(time.Second))
	if !slices.Equal(live, lab) {
		t.Errorf("the controller set %v, the HPA of the lab %v", live, lab)
	}
}

// scriptedHPA reads wva_desired_replicas as if it were any metric.
func scriptedHPA(ns, name string) *autoscalingv2.HorizontalPodAutoscaler {
	window := int32(downWindow.Seconds())
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MaxReplicas:    20,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ExternalMetricSourceType,
				External: &autoscalingv2.ExternalMetricSource{
					Metric: autoscalingv2.MetricIdentifier{
						Name:     "wva_desired_replicas",
						Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"variant_name": name, "exported_namespace": ns}},
					},
					Target: autoscalingv2.MetricTarget{
						Type:         autoscalingv2.AverageValueMetricType,
						AverageValue: resource.NewQuantity(perReplica, resource.DecimalSI),
					},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window}},
		},
	}
}

// bind leaves a variant no choice but n replicas.
func bind(t *testing.T, ns, name string, n int32) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		va, err := autoscaling(ctx, ns, name)
		if err != nil {
			return err.Error()
		}
		before := va.DeepCopy()
		va.Spec.MinReplicas, va.Spec.MaxReplicas = n, &n
		if err := shared.bed.Client.Patch(ctx, va, client.MergeFrom(before)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// reads waits until an HPA would read a metric of n.
func reads(t *testing.T, ns, name string, n int32) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		got, err := shared.bed.ExternalMetric(ctx, ns, name)
		if err != nil {
			return err.Error()
		}
		if got != float64(n) {
			return fmt.Sprintf("the metric is %g, want %d", got, n)
		}
		return ""
	})
}

// look is what an HPA could read at one instant, and the replicas there were.
type look struct {
	at       time.Time
	metric   float64
	replicas int
}

// recorder looks several times a second.
type recorder struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	looks  []look
}

func watch(t *testing.T, ns, name string) *recorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{cancel: cancel}
	t.Cleanup(func() { r.stop() })
	r.done.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			metric, unread := shared.bed.ExternalMetric(ctx, ns, name)
			d, err := deployment(ctx, ns, name)
			if unread == nil && err == nil {
				r.looks = append(r.looks, look{time.Now(), metric, int(*d.Spec.Replicas)})
			}
			<-tick.C
		}
	})
	return r
}

// stop ends the recording and returns it.
func (r *recorder) stop() []look {
	r.cancel()
	r.done.Wait()
	return r.looks
}

// simulated is what the HPA of the simulator would have set.
func simulated(looks []look) []look {
	behavior := policy.DefaultBehavior()
	behavior.Down.Window = downWindow
	hpa := policy.HPA{Behavior: behavior}
	n := scaling.Replicas(looks[0].replicas)
	var out []look
	for i, next := 0, looks[0].at; i < len(looks); i++ {
		if looks[i].at.Before(next) {
			continue
		}
		next = next.Add(hpaSync)
		want := policy.AverageValue(looks[i].metric, perReplica, n, policy.DefaultTolerance())
		n, _ = hpa.Reconcile(
			looks[i].at, policy.Scale{Spec: n, Bounds: scaling.Bounds{Min: 1, Max: 20}},
			[]policy.Proposal{{Metric: "scripted", Replicas: want}},
		)
		out = append(out, look{looks[i].at, looks[i].metric, int(n)})
	}
	return out
}

// changes are the replicas that were set one after the other.
func changes(looks []look) []int {
	var all []int
	for _, l := range looks {
		all = append(all, l.replicas)
	}
	return slices.Compact(all)
}
