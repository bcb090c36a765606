package discovery

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
)

// Needs says which further data the cache keeps. The zero value keeps what every manager needs.
type Needs struct {
	// Pages selects the pods whose metrics URL is kept, for scraping them; nil for none.
	Pages labels.Selector
	// Namespace is the only namespace to watch, "" for all.
	Namespace string
}

// namespace returns how the cache watches namespaces.
func (n Needs) namespace() cache.ByObject {
	by := cache.ByObject{Transform: stripNamespace}
	if n.Namespace != "" {
		by.Field = fields.OneTermEqualSelector("metadata.name", n.Namespace)
	}
	return by
}

// namespaces returns the object by which the cache watches namespaces: metadata only.
func namespaces() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

// CacheOptions returns the options of the manager's cache that keep its memory small: of pods,
// workloads, ReplicaSets and HorizontalPodAutoscalers it keeps only the fields that this program
// reads. It does not watch pods that have ended.
//
// Objects of these kinds from the cache are incomplete, so they must not be written back. Targets
// are scaled by their scale subresource.
func CacheOptions(needs Needs) cache.Options {
	stripPod := strip
	if needs.Pages != nil {
		stripPod = stripKeepingPages(needs.Pages)
	}
	replicaSet := &metav1.PartialObjectMetadata{}
	replicaSet.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Transform: stripPod, Field: fields.AndSelectors(
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
			)},
			&appsv1.Deployment{}:  {Transform: strip},
			&appsv1.StatefulSet{}: {Transform: strip},
			replicaSet:            {Transform: strip},

			&autoscalingv2.HorizontalPodAutoscaler{}: {Transform: strip},

			namespaces(): needs.namespace(),
		},
	}
}

// strip returns an object with only the fields that this program reads. It returns an unknown
// object, such as the tombstone of a deleted one, unchanged.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		kept := &corev1.Pod{ObjectMeta: stripMeta(o.ObjectMeta), Status: corev1.PodStatus{
			Phase: o.Status.Phase, Conditions: stripConditions(o.Status.Conditions),
			StartTime: o.Status.StartTime, ContainerStatuses: stripContainers(o.Status.ContainerStatuses),
			InitContainerStatuses: stripContainers(o.Status.InitContainerStatuses),
		}}
		kept.Annotations = stripMarks(o.Annotations)
		if gpus := gpusHeld(o); gpus > 0 {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, annotationGPUs, strconv.Itoa(int(gpus)))
		}
		return kept, nil
	case *appsv1.Deployment:
		return &appsv1.Deployment{
			ObjectMeta: stripMeta(o.ObjectMeta),
			Spec: appsv1.DeploymentSpec{
				Replicas: o.Spec.Replicas, Selector: o.Spec.Selector, Template: stripTemplate(o.Spec.Template),
			},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: o.Status.ObservedGeneration, Replicas: o.Status.Replicas, ReadyReplicas: o.Status.ReadyReplicas,
				Conditions: stripFailure(o.Status.Conditions),
			},
		}, nil
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{
			ObjectMeta: stripMeta(o.ObjectMeta),
			Spec: appsv1.StatefulSetSpec{
				Replicas: o.Spec.Replicas, Selector: o.Spec.Selector, Template: stripTemplate(o.Spec.Template),
			},
			Status: appsv1.StatefulSetStatus{
				ObservedGeneration: o.Status.ObservedGeneration, Replicas: o.Status.Replicas, ReadyReplicas: o.Status.ReadyReplicas,
			},
		}, nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		return scalers.Strip(o), nil
	case *metav1.PartialObjectMetadata:
		o.ObjectMeta = stripMeta(o.ObjectMeta)
		o.Labels = nil
		return o, nil
	}
	return object, nil
}

// stripNamespace keeps the name of a namespace and whether it is excluded.
func stripNamespace(object any) (any, error) {
	o, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	meta := metav1.ObjectMeta{Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	if value, ok := o.Annotations[v1alpha1.AnnotationExclude]; ok {
		meta.Annotations = map[string]string{v1alpha1.AnnotationExclude: value}
	}
	return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta, ObjectMeta: meta}, nil
}

// stripMeta keeps identity, age, labels and the controller.
func stripMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels,
	}
	if owner := metav1.GetControllerOf(&m); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return out
}

// stripConditions keeps the conditions that living reads, without their messages.
func stripConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	out := make([]corev1.PodCondition, 0, 2)
	for _, c := range conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			out = append(out, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return out
}

// stripContainers keeps the restart count of containers that were restarted, and the image of
// containers that wait for it.
func stripContainers(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range containers {
		kept := corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount}
		if waitsForImage(c) {
			kept.Image = c.Image
			kept.State.Waiting = &corev1.ContainerStateWaiting{Reason: c.State.Waiting.Reason}
		}
		if kept.RestartCount > 0 || kept.Image != "" {
			out = append(out, kept)
		}
	}
	return out
}

// stripTemplate keeps the labels, the node constraints, the requested devices, the grace period,
// and the arguments that limit an engine.
func stripTemplate(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	out := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: t.Labels}}
	out.Spec.TerminationGracePeriodSeconds = t.Spec.TerminationGracePeriodSeconds
	out.Spec.NodeSelector = t.Spec.NodeSelector
	if t.Spec.Affinity != nil {
		out.Spec.Affinity = &corev1.Affinity{NodeAffinity: t.Spec.Affinity.NodeAffinity}
	}
	for i := range t.Spec.Containers {
		c := &t.Spec.Containers[i]
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, Resources: c.Resources})
	}
	for i := range t.Spec.InitContainers {
		c := &t.Spec.InitContainers[i]
		out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{Name: c.Name, Resources: c.Resources})
	}
	stripEngine(t.Spec.Containers, out.Spec.Containers)
	return out
}
