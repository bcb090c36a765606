package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Triggers asks for a cycle when something to scale changes. It has the measurements of a model
// forgotten when they may be of something that is gone:
//
//	                         a cycle                         forgotten
//	VariantAutoscaling       created, deleted, its spec      deleted, or its
//	                         changed, or an annotation       spec changed
//	                         that is read; never its status
//	Deployment, StatefulSet  created, deleted, its spec      its spec changed in
//	that one of them scales  changed, or its replicas or     more than replicas,
//	                         Ready replicas did              or it was replaced
//	HPA, ScaledObject of     created, deleted, its spec      deleted, where it is
//	such a target, or that   changed, an annotation that     a variant itself
//	is a variant itself      is read, or a ScaledObject is
//	                         paused or no longer
//	Namespace with one       it is excluded, or no longer    never
//
// A target that is only scaled keeps its measurements: they are of pods, and are joined with the
// live pods. Were they forgotten, each cycle after a scaling would wait for the network. The next
// cycle asks again for what was forgotten, for its namespace alone and a few times a minute at most
// (collector.Collector): a tenant who edits objects all the time causes no queries about other
// namespaces.
//
// Objects that exist at the start ask for nothing: the first cycle sees them anyway. Targets of
// other kinds are not watched. Which scaler a target has changes no decision, but a cycle reports
// it and acts on it: the creation of an HPA wakes a cycle, which finds it.
type Triggers struct {
	cache    cache.Cache
	variants client.Reader
	trigger  func(reason string)
	again    func() // other namespaces may have variants now
	forget   func(model scaling.ModelKey)
}

var (
	_ manager.Runnable               = (*Triggers)(nil)
	_ manager.LeaderElectionRunnable = (*Triggers)(nil)
)

// NewTriggers returns Triggers that watch through c for the variants that variants lists. For one
// change they call forget first, once, with the model concerned, or with the ID "" for all models
// of a namespace, and then trigger. For an annotated scaler, and for any scaler that changed, they
// call again before both. None of the three may block; several goroutines may call them at once and
// often. The callee makes one cycle of many calls.
func NewTriggers(c cache.Cache, variants client.Reader, trigger func(reason string), forget func(model scaling.ModelKey), again func()) *Triggers {
	return &Triggers{cache: c, variants: variants, trigger: trigger, forget: forget, again: again}
}

// NeedLeaderElection reports that only the leader decides.
func (t *Triggers) NeedLeaderElection() bool { return true }

// Start watches until ctx ends.
func (t *Triggers) Start(ctx context.Context) error {
	for _, object := range []client.Object{&v1alpha1.VariantAutoscaling{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, namespaces()} {
		informer, err := t.cache.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		// The handler ends with the informer, and so with the manager.
		if _, err := informer.AddEventHandler(t.handler(ctx)); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	return t.watchScalers(ctx)
}

// handler returns the handler of changes of watched objects.
func (t *Triggers) handler(ctx context.Context) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if !initial {
				t.notice(ctx, object, "created", false)
			}
		},
		UpdateFunc: func(before, after any) {
			if matters(before, after) {
				t.notice(ctx, after, "changed", respecified(before, after))
				t.noticeLeft(ctx, before, after)
			}
		},
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			_, variant := object.(*v1alpha1.VariantAutoscaling)
			t.notice(ctx, object, "deleted", variant)
		},
	}
}

// notice asks for a cycle if object is something to scale. stale says that measurements of it may
// no longer hold.
func (t *Triggers) notice(ctx context.Context, object any, what string, stale bool) {
	switch o := object.(type) {
	case *v1alpha1.VariantAutoscaling:
		if stale {
			t.forget(modelOf(o))
		}
		t.trigger(fmt.Sprintf("%s %s/%s %s", v1alpha1.Kind, o.Namespace, o.Name, what))
	case *appsv1.Deployment:
		t.noticeTarget(ctx, "Deployment", o, what, stale)
	case *appsv1.StatefulSet:
		t.noticeTarget(ctx, "StatefulSet", o, what, stale)
	case *metav1.PartialObjectMetadata:
		t.noticeNamespace(ctx, o, what)
	case *autoscalingv2.HorizontalPodAutoscaler:
		t.noticeScaler(ctx, o, what)
	case *unstructured.Unstructured:
		t.noticeScaler(ctx, o, what)
	}
}

// noticeNamespace asks for a cycle if the namespace has variants.
func (t *Triggers) noticeNamespace(ctx context.Context, o *metav1.PartialObjectMetadata, what string) {
	var list v1alpha1.VariantAutoscalingList
	if err := t.variants.List(ctx, &list, client.InNamespace(o.Name), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing VariantAutoscalings; the change waits for the next cycle", "namespace", o.Name)
		return
	}
	if len(list.Items) > 0 {
		t.trigger(fmt.Sprintf("Namespace %s %s", o.Name, what))
	}
}

// namespaces returns the object by which namespaces are watched: their metadata.
func namespaces() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

// excluded reports whether a namespace has the annotation that excludes it; false for nil.
func excluded(namespace *metav1.PartialObjectMetadata) bool {
	return namespace != nil && namespace.Annotations[v1alpha1.AnnotationExclude] == "true"
}

func (t *Triggers) noticeTarget(ctx context.Context, kind string, o client.Object, what string, stale bool) {
	of := t.variantsOf(ctx, o.GetNamespace(), kind, o.GetName())
	if stale && len(of) > 0 {
		t.forget(commonModel(of))
	}
	if len(of) > 0 {
		t.trigger(fmt.Sprintf("%s %s/%s %s", kind, o.GetNamespace(), o.GetName(), what))
	}
}

// variantsOf returns the objects that name a target, which must not be modified.
func (t *Triggers) variantsOf(ctx context.Context, namespace, kind, name string) []*v1alpha1.VariantAutoscaling {
	var list v1alpha1.VariantAutoscalingList
	if err := t.variants.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing VariantAutoscalings; the change waits for the next cycle",
			"namespace", namespace, "target", name)
		return nil
	}
	var of []*v1alpha1.VariantAutoscaling
	for i := range list.Items {
		if ref := list.Items[i].Target(); ref.Kind == kind && ref.Name == name {
			of = append(of, &list.Items[i])
		}
	}
	return of
}

// commonModel returns the model that objects of one namespace serve. Where they serve several it
// returns a model without an ID, which means all of the namespace: one change causes one call of
// forget, however many objects name the target.
func commonModel(of []*v1alpha1.VariantAutoscaling) scaling.ModelKey {
	model := modelOf(of[0])
	for _, va := range of[1:] {
		if modelOf(va) != model {
			return scaling.ModelKey{Namespace: model.Namespace}
		}
	}
	return model
}

// modelOf returns the model that va serves.
func modelOf(va *v1alpha1.VariantAutoscaling) scaling.ModelKey {
	return scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID}
}

// respecified reports whether after runs something else than before: the object was replaced, or
// its spec changed in more than the replicas. The cache holds only a part of the spec of a target,
// so the rest is known by its generation: one step together with other replicas is a scaling.
func respecified(before, after any) bool {
	switch b := after.(type) {
	case *v1alpha1.VariantAutoscaling:
		a, ok := before.(*v1alpha1.VariantAutoscaling)
		return ok && (a.Generation != b.Generation || a.UID != b.UID)
	case *appsv1.Deployment:
		a, ok := before.(*appsv1.Deployment)
		return ok && (a.UID != b.UID || !sameButReplicas(a.Generation, b.Generation, a.Spec.Replicas, b.Spec.Replicas))
	case *appsv1.StatefulSet:
		a, ok := before.(*appsv1.StatefulSet)
		return ok && (a.UID != b.UID || !sameButReplicas(a.Generation, b.Generation, a.Spec.Replicas, b.Spec.Replicas))
	}
	return false
}

// sameButReplicas reports whether a change of the replicas explains the step from one generation to
// another.
func sameButReplicas(from, to int64, before, after *int32) bool {
	return to == from || to == from+1 && ptr.Deref(before, 1) != ptr.Deref(after, 1)
}

// matters reports whether a decision may depend on the difference between two states of an object.
func matters(before, after any) bool {
	switch b := after.(type) {
	case *v1alpha1.VariantAutoscaling:
		a, ok := before.(*v1alpha1.VariantAutoscaling)
		return !ok || asks(a) != asks(b)
	case *appsv1.Deployment:
		a, ok := before.(*appsv1.Deployment)
		return !ok || a.Generation != b.Generation || a.UID != b.UID ||
			a.Status.Replicas != b.Status.Replicas || a.Status.ReadyReplicas != b.Status.ReadyReplicas
	case *appsv1.StatefulSet:
		a, ok := before.(*appsv1.StatefulSet)
		return !ok || a.Generation != b.Generation || a.UID != b.UID ||
			a.Status.Replicas != b.Status.Replicas || a.Status.ReadyReplicas != b.Status.ReadyReplicas
	case *metav1.PartialObjectMetadata:
		a, _ := before.(*metav1.PartialObjectMetadata)
		return excluded(a) != excluded(b)
	case *autoscalingv2.HorizontalPodAutoscaler, *unstructured.Unstructured:
		return scalesOtherwise(before, after)
	}
	return false
}

// asked is what an object asks for, by its spec and by annotations, which do not change the
// generation.
type asked struct {
	uid               types.UID
	generation        int64
	paused, actuation string
	approve, approved string
	role              [2]string
}

func asks(va *v1alpha1.VariantAutoscaling) asked {
	return asked{
		va.UID, va.Generation, va.Annotations[v1alpha1.AnnotationPaused], va.Annotations[v1alpha1.AnnotationActuation],
		va.Annotations[v1alpha1.AnnotationApprove], va.Annotations[v1alpha1.AnnotationApproved],
		[2]string{va.Annotations[v1alpha1.AnnotationRole], va.Annotations[v1alpha1.RoleKey]},
	}
}
