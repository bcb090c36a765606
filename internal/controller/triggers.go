package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// Triggers asks for a cycle when something to scale changes:
//
//	VariantAutoscaling       created, deleted, or its spec changed; never its status
//	Deployment, StatefulSet  created, deleted, its spec changed (replicas, template),
//	                         or its replicas or Ready replicas did, if a
//	                         VariantAutoscaling scales it
//
// What is there at the start asks for nothing: the first cycle sees it anyway.
// Targets of other kinds are not watched.
type Triggers struct {
	cache   cache.Cache
	trigger func(reason string)
}

var (
	_ manager.Runnable               = (*Triggers)(nil)
	_ manager.LeaderElectionRunnable = (*Triggers)(nil)
)

// NewTriggers returns Triggers that watch through c and call trigger, which must
// not block. It may be called by several goroutines at once and often: it is the
// callee that makes one cycle of many calls.
func NewTriggers(c cache.Cache, trigger func(reason string)) *Triggers {
	return &Triggers{cache: c, trigger: trigger}
}

// NeedLeaderElection reports that only the leader decides.
func (t *Triggers) NeedLeaderElection() bool { return true }

// Start watches until ctx ends.
func (t *Triggers) Start(ctx context.Context) error {
	for _, object := range []client.Object{&v1alpha1.VariantAutoscaling{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		informer, err := t.cache.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		// The handler goes when the informer does, with the manager.
		if _, err := informer.AddEventHandler(t.handler(ctx)); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	<-ctx.Done()
	return nil
}

// handler returns what is called for each change of a watched object.
func (t *Triggers) handler(ctx context.Context) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if !initial {
				t.notice(ctx, object, "created")
			}
		},
		UpdateFunc: func(before, after any) {
			if matters(before, after) {
				t.notice(ctx, after, "changed")
			}
		},
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			t.notice(ctx, object, "deleted")
		},
	}
}

// notice asks for a cycle if object is something to scale.
func (t *Triggers) notice(ctx context.Context, object any, what string) {
	switch o := object.(type) {
	case *v1alpha1.VariantAutoscaling:
		t.trigger(fmt.Sprintf("%s %s/%s %s", v1alpha1.Kind, o.Namespace, o.Name, what))
	case *appsv1.Deployment:
		t.noticeTarget(ctx, "Deployment", o, what)
	case *appsv1.StatefulSet:
		t.noticeTarget(ctx, "StatefulSet", o, what)
	}
}

func (t *Triggers) noticeTarget(ctx context.Context, kind string, o client.Object, what string) {
	var list v1alpha1.VariantAutoscalingList
	if err := t.cache.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing VariantAutoscalings; the change waits for the next cycle",
			"namespace", o.GetNamespace(), "target", o.GetName())
		return
	}
	if scaled(list.Items, kind, o.GetName()) {
		t.trigger(fmt.Sprintf("%s %s/%s %s", kind, o.GetNamespace(), o.GetName(), what))
	}
}

// scaled reports whether one of vas names the target.
func scaled(vas []v1alpha1.VariantAutoscaling, kind, name string) bool {
	for i := range vas {
		if ref := vas[i].Target(); ref.Kind == kind && ref.Name == name {
			return true
		}
	}
	return false
}

// matters reports whether the difference between two states of an object is one
// that a decision may depend on.
func matters(before, after any) bool {
	switch b := after.(type) {
	case *v1alpha1.VariantAutoscaling:
		a, ok := before.(*v1alpha1.VariantAutoscaling)
		return !ok || a.Generation != b.Generation || a.UID != b.UID
	case *appsv1.Deployment:
		a, ok := before.(*appsv1.Deployment)
		return !ok || a.Generation != b.Generation || a.UID != b.UID ||
			a.Status.Replicas != b.Status.Replicas || a.Status.ReadyReplicas != b.Status.ReadyReplicas
	case *appsv1.StatefulSet:
		a, ok := before.(*appsv1.StatefulSet)
		return !ok || a.Generation != b.Generation || a.UID != b.UID ||
			a.Status.Replicas != b.Status.Replicas || a.Status.ReadyReplicas != b.Status.ReadyReplicas
	}
	return false
}
