package external

import (
	"context"
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// HPA computes ceil(value / target x replicas) for a metric with target value 1
// (podautoscaler, GetExternalMetricReplicas).
func TestTheRatioBringsAnHPAToWhatWasDecided(t *testing.T) {
	for current := scaling.Replicas(1); current <= 300; current++ {
		for desired := scaling.Replicas(1); desired <= 300; desired++ {
			q, ok := NewProvider(ProviderOptions{}).quantity(t.Context(), Value{Desired: desired, Current: current, Observed: true}, metrics.DesiredRatio)
			if !ok {
				t.Fatalf("%d -> %d: no ratio", current, desired)
			}
			if got := scaling.Replicas(math.Ceil(float64(q.MilliValue()) / 1000 * float64(current))); got != desired {
				t.Fatalf("%d -> %d: an HPA that reads %s asks for %d", current, desired, q.String(), got)
			}
		}
	}
}

// hpa is a HorizontalPodAutoscaler that reads one number by the target type Value 1
// (k8s.io/kubernetes, podautoscaler, GetExternalMetricReplicas and getUsageRatioReplicaCount).
func hpa(milli int64, all, ready scaling.Replicas) scaling.Replicas {
	ratio := float64(milli) / 1000
	switch {
	case all == 0:
		return scaling.Replicas(math.Ceil(ratio))
	case math.Abs(1-ratio) <= scaling.DefaultTolerance:
		return all
	}
	return scaling.Replicas(math.Ceil(ratio * float64(ready)))
}

func TestAnHPAThatMultipliesIsBroughtToWhatWasDecided(t *testing.T) {
	const most = 40
	for all := range scaling.Replicas(most) {
		for ready := range all + 1 {
			for desired := range scaling.Replicas(most) {
				p := NewProvider(ProviderOptions{Pods: func(context.Context, string, scaling.TargetRef) (scaling.Replicas, scaling.Replicas, bool) {
					return all, ready, true
				}})
				q, ok := p.quantity(t.Context(), Value{Desired: desired, ByValue: true}, metrics.DesiredReplicas)
				if !ok {
					t.Fatalf("%d of %d ready, %d desired: no value", ready, all, desired)
				}
				got := hpa(q.MilliValue(), all, ready)
				if over := got > max(all, desired) || got < min(all, desired); over {
					t.Errorf("%d of %d ready, %d desired: it reads %s and asks for %d", ready, all, desired, q.String(), got)
				}
				tolerated := math.Abs(float64(desired)/float64(ready)-1) <= scaling.DefaultTolerance+0.001
				if all > 0 && ready > 0 && !tolerated && got != desired {
					t.Errorf("%d of %d ready, %d desired: it reads %s and stays at %d", ready, all, desired, q.String(), got)
				}
			}
		}
	}
}

func TestWhoMultipliesIsNotAnsweredWhileThePodsAreNotKnown(t *testing.T) {
	p := NewProvider(ProviderOptions{Pods: func(context.Context, string, scaling.TargetRef) (scaling.Replicas, scaling.Replicas, bool) {
		return 0, 0, false
	}})
	if q, ok := p.quantity(t.Context(), Value{Desired: 3, ByValue: true}, metrics.DesiredReplicas); ok {
		t.Errorf("it reads %s", q.String())
	}
	if q, ok := p.quantity(t.Context(), Value{Desired: 3}, metrics.DesiredReplicas); !ok || q.Value() != 3 {
		t.Errorf("who reads an average reads %s", q.String())
	}
}
