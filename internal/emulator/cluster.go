package emulator

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Cluster is the PodSource of a Kubernetes cluster: it watches pods, and
// Deployments for the models of their templates.
type Cluster struct {
	client    kubernetes.Interface
	namespace string
}

var _ PodSource = (*Cluster)(nil)

// NewCluster returns a source of the pods of one namespace, "" meaning all.
func NewCluster(client kubernetes.Interface, namespace string) *Cluster {
	return &Cluster{client: client, namespace: namespace}
}

// Run watches until ctx ends.
func (c *Cluster) Run(ctx context.Context, sink Sink) error {
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0,
		informers.WithNamespace(c.namespace), informers.WithTransform(slim))
	pods := factory.Core().V1().Pods().Informer()
	if _, err := pods.AddEventHandler(podHandler(sink)); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	deployments := factory.Apps().V1().Deployments().Informer()
	if _, err := deployments.AddEventHandler(deploymentHandler(sink)); err != nil {
		return fmt.Errorf("watching deployments: %w", err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced && ctx.Err() == nil {
			return fmt.Errorf("watching %v: no first list", kind)
		}
	}
	<-ctx.Done()
	return nil
}

// slim drops unused fields of the objects that informers keep.
func slim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func podHandler(sink Sink) cache.ResourceEventHandler {
	set := func(obj any) {
		if p, ok := obj.(*corev1.Pod); ok {
			if pod, ok := podOf(p); ok {
				sink.SetPod(pod)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if p, ok := obj.(*corev1.Pod); ok {
				sink.DeletePod(p.Namespace, p.Name)
			}
		},
	}
}

func deploymentHandler(sink Sink) cache.ResourceEventHandler {
	declare := func(obj any) {
		if d, ok := obj.(*appsv1.Deployment); ok {
			if profile, model := emulated(&d.Spec.Template.ObjectMeta); profile != "" && model != "" {
				sink.Declare(ModelKey{Namespace: d.Namespace, ID: model})
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    declare,
		UpdateFunc: func(_, obj any) { declare(obj) },
	}
}

// emulated returns the profile and the model of an emulated object. Where annotations are
// missing it uses labels, for IDs without a slash.
func emulated(o *metav1.ObjectMeta) (profile, model string) {
	return cmp.Or(o.Annotations[ProfileAnnotation], o.Labels[ProfileAnnotation]),
		cmp.Or(o.Annotations[ModelAnnotation], o.Labels[ModelAnnotation])
}

// podOf returns the Pod of a Kubernetes pod; false means that the pod is not emulated.
func podOf(p *corev1.Pod) (Pod, bool) {
	profile, model := emulated(&p.ObjectMeta)
	if profile == "" || model == "" {
		return Pod{}, false
	}
	pod := Pod{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID),
		Profile: profile, Model: model, Prefill: p.Labels[RoleLabel] == rolePrefill,
		Started: p.Status.Phase == corev1.PodRunning,
		// A pod that has ended keeps its object but serves nothing.
		Terminating: p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			pod.Ready = !pod.Terminating
		}
	}
	return pod, true
}
