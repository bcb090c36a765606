package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// kedaRetry is how often a cluster without KEDA is asked whether it has KEDA now: each time costs
// requests to the API server.
const kedaRetry = time.Minute

// scaledObjects returns the object by which ScaledObjects are watched. The types of KEDA would
// bring its dependencies with them.
func scaledObjects() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: scaling.KindScaledObject})
	return u
}

// watchScalers watches the scalers until ctx ends. It does not wait until they are listed, because
// the manager may not be allowed to list them.
func (t *Triggers) watchScalers(ctx context.Context) error {
	if err := t.watchScaler(ctx, &autoscalingv2.HorizontalPodAutoscaler{}); err != nil {
		return err
	}
	_ = wait.PollUntilContextCancel(ctx, kedaRetry, true, func(context.Context) (bool, error) { // ends with ctx
		err := t.watchScaler(ctx, scaledObjects())
		if err != nil && !meta.IsNoMatchError(err) {
			log.FromContext(ctx).Error(err, "changes of ScaledObjects wait for the next cycle")
		}
		return err == nil, nil
	})
	<-ctx.Done()
	return nil
}

func (t *Triggers) watchScaler(ctx context.Context, object client.Object) error {
	informer, err := t.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %T: %w", object, err)
	}
	if _, err := informer.AddEventHandler(t.handler(ctx)); err != nil { // it ends with the informer
		return fmt.Errorf("watching %T: %w", object, err)
	}
	return nil
}

// noticeScaler asks for a cycle if object scales the target of a variant, or is a variant itself.
func (t *Triggers) noticeScaler(ctx context.Context, object client.Object, what string) {
	kind, name := scales(object)
	own := object.GetAnnotations()[v1alpha1.AnnotationManaged] == "true"
	if own || what == "changed" {
		t.again()
	}
	if own && what == "deleted" {
		t.forget(scaling.ModelKey{Namespace: object.GetNamespace(), ID: object.GetAnnotations()[v1alpha1.AnnotationModelID]})
	}
	if own || len(t.variantsOf(ctx, object.GetNamespace(), kind, name)) > 0 {
		t.trigger(fmt.Sprintf("%s %s/%s %s", scalerKind(object), object.GetNamespace(), object.GetName(), what))
	}
}

// noticeLeft asks for a cycle if an object no longer scales the target of a variant, or is no
// longer a variant itself.
func (t *Triggers) noticeLeft(ctx context.Context, before, after any) {
	a, ok := before.(client.Object)
	b, alike := after.(client.Object)
	if !ok || !alike || scalerKind(b) == "" {
		return
	}
	kind, name := scales(a)
	if nowKind, now := scales(b); kind != nowKind || name != now || saysOf(a)[0] == "true" && saysOf(b)[0] != "true" {
		t.noticeScaler(ctx, a, "changed")
	}
}

// scalerKind returns the kind of a scaler, "" for other objects.
func scalerKind(object client.Object) string {
	switch object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		return scaling.KindHPA
	case *unstructured.Unstructured:
		return scaling.KindScaledObject
	}
	return ""
}

// scales returns the kind and the name of the target of a scaler.
func scales(object client.Object) (kind, name string) {
	switch o := object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		return o.Spec.ScaleTargetRef.Kind, o.Spec.ScaleTargetRef.Name
	case *unstructured.Unstructured:
		kind, _, _ = unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "kind")
		name, _, _ = unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "name")
		return cmp.Or(kind, "Deployment"), name
	}
	return "", ""
}

// scalesOtherwise reports whether two states of a scaler differ in its spec or in an annotation or
// label that is read. Its status changes with each of its syncs and does not count.
func scalesOtherwise(before, after any) bool {
	switch b := after.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		a, ok := before.(*autoscalingv2.HorizontalPodAutoscaler)
		return !ok || a.UID != b.UID || saysOf(a) != saysOf(b) || !equality.Semantic.DeepEqual(a.Spec, b.Spec)
	case *unstructured.Unstructured:
		a, ok := before.(*unstructured.Unstructured)
		return !ok || a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration() || pauses(a) != pauses(b) || saysOf(a) != saysOf(b)
	}
	return false
}

// saysOf returns the annotations and labels that make a scaler a variant and describe it. The first
// says whether it is one.
func saysOf(o client.Object) [10]string {
	annotations, labels := o.GetAnnotations(), o.GetLabels()
	return [...]string{
		annotations[v1alpha1.AnnotationManaged], annotations[v1alpha1.AnnotationModelID], annotations[v1alpha1.AnnotationVariantCost],
		annotations[v1alpha1.RoleKey], annotations[v1alpha1.AnnotationPaused],
		annotations[v1alpha1.AnnotationApprove], annotations[v1alpha1.AnnotationApproved],
		annotations[v1alpha1.AnnotationActuation],
		labels[v1alpha1.LabelAcceleratorName], labels[v1alpha1.LabelControllerInstance],
	}
}

// pauses returns the annotations that pause a ScaledObject, which do not change its generation.
func pauses(o *unstructured.Unstructured) [2]string {
	all := o.GetAnnotations()
	return [2]string{all["autoscaling.keda.sh/paused"], all["autoscaling.keda.sh/paused-replicas"]}
}
