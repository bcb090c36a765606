package discovery

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// thousand is a cluster of one namespace with so many variants of ten pods each, as a
// cache holds it.
type thousand struct {
	client.Reader
	vas         []v1alpha1.VariantAutoscaling
	deployments []appsv1.Deployment
	sets        []metav1.PartialObjectMetadata
	pods        []corev1.Pod
}

func newThousand(variants int) *thousand {
	c := &thousand{}
	batch, cost, created := int32(256), "40.0", metav1.NewTime(time.Unix(1_700_000_000, 0))
	owner := func(kind, name string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(kind + name), Controller: &yes}}
	}
	for i := range variants {
		name := fmt.Sprintf("model-%04d", i)
		meta := metav1.ObjectMeta{Namespace: "n", Name: name, CreationTimestamp: created, UID: types.UID("Deployment" + name)}
		va := v1alpha1.VariantAutoscaling{ObjectMeta: meta, Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: "org/" + name, Accelerator: "H100", VariantCost: cost, ScaleTargetRef: &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: name},
			VariantProfile: &v1alpha1.VariantProfile{MaxBatchSize: &batch, PerfParms: &v1alpha1.PerfParms{
				DecodeParms: map[string]string{"alpha": "20", "beta": "0.4"}, PrefillParms: map[string]string{"gamma": "5", "delta": "0.1"},
			}},
		}}
		for _, kind := range []string{"TargetResolved", "MetricsAvailable", "OptimizationReady", "ScalerFollowing", "ConfigurationValid", "Ready"} {
			va.Status.Conditions = append(va.Status.Conditions, metav1.Condition{Type: kind, Reason: kind, Message: "Deployment n/" + name + " has what was decided"})
		}
		c.vas = append(c.vas, va)
		replicas := int32(10)
		c.deployments = append(c.deployments, appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas}})
		c.sets = append(c.sets, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: name, UID: types.UID("ReplicaSet" + name), OwnerReferences: owner("Deployment", name),
		}})
		for p := range 10 {
			c.pods = append(c.pods, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "n", Name: fmt.Sprintf("%s-%d", name, p), UID: types.UID(fmt.Sprintf("%s-%d", name, p)),
					CreationTimestamp: created, OwnerReferences: owner("ReplicaSet", name),
				},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: created}}},
			})
		}
	}
	return c
}

// List implements client.Reader. Like a cache it copies the objects, and not what they
// point to.
func (c *thousand) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *v1alpha1.VariantAutoscalingList:
		l.Items = append(l.Items, c.vas...)
	case *appsv1.DeploymentList:
		l.Items = append(l.Items, c.deployments...)
	case *metav1.PartialObjectMetadataList:
		l.Items = append(l.Items, c.sets...)
	case *corev1.PodList:
		l.Items = append(l.Items, c.pods...)
	case *appsv1.StatefulSetList, *autoscalingv2.HorizontalPodAutoscalerList:
	default:
		return fmt.Errorf("unexpected list %T", list)
	}
	return nil
}

func BenchmarkFleet(b *testing.B) {
	for _, variants := range []int{100, 1000} {
		b.Run(fmt.Sprint(variants), func(b *testing.B) {
			c := New(newThousand(variants), fakeScales{})
			at := time.Unix(1_700_003_600, 0)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			fleet, err := c.Fleet(b.Context(), at)
			if err != nil || len(fleet.Pods) != 10*variants {
				b.Fatalf("%d pods, %v", len(fleet.Pods), err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Fleet(b.Context(), at); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "B-held")
			runtime.KeepAlive(fleet)
		})
	}
}
