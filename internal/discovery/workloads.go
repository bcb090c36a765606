package discovery

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The kinds with an informer, in any version of the group apps.
const (
	kindDeployment  = "Deployment"
	kindStatefulSet = "StatefulSet"
)

// workloads holds the workloads and pods of one namespace.
type workloads struct {
	namespace string
	known     map[workloadName]workload
	pods      []pod
	ending    []scaling.PodName   // terminating pods
	owned     map[types.UID][]pod // by the Deployment, else the controller, that owns them
	// parts holds the workloads that another object controls, by that object: the StatefulSet of
	// the leaders of a LeaderWorkerSet, and the StatefulSets of workers by their leader pod.
	parts   map[workloadName][]types.UID
	readyOf map[types.UID]int           // Ready pods, by StatefulSet
	sizeOf  map[types.UID]int           // pods that the spec asks for, by StatefulSet
	groups  map[string]*leaderWorkerSet // by name, the known ones
}

type workloadName struct{ kind, name string }

// workload is a Deployment or a StatefulSet.
type workload struct {
	uid      types.UID
	replicas scaling.Replicas
	pod      *corev1.PodSpec
	labels   map[string]string // of its pod template
	failure  scaling.Trouble   // why its pods are not created; zero where that is unknown
}

// readNamespace reads the workloads and live pods of a namespace.
func (c *Cluster) readNamespace(ctx context.Context, namespace string) (workloads, error) {
	w := workloads{
		namespace: namespace, known: map[workloadName]workload{}, owned: map[types.UID][]pod{}, parts: map[workloadName][]types.UID{},
		readyOf: map[types.UID]int{}, sizeOf: map[types.UID]int{},
	}
	var deployments appsv1.DeploymentList
	var statefulSets appsv1.StatefulSetList
	var pods corev1.PodList
	replicaSets := replicaSetList()
	for _, l := range []struct {
		what string
		list client.ObjectList
	}{
		{"Deployments", &deployments}, {"StatefulSets", &statefulSets}, {"ReplicaSets", replicaSets}, {"Pods", &pods},
	} {
		if err := c.reader.List(ctx, l.list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return workloads{}, fmt.Errorf("listing %s in namespace %s: %w", l.what, namespace, err)
		}
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		w.known[workloadName{kindDeployment, d.Name}] = workload{d.UID, scaling.Replicas(ptr.Deref(d.Spec.Replicas, 1)), &d.Spec.Template.Spec, d.Spec.Template.Labels, podFailure(d.Status.Conditions)}
		w.addPart(d)
	}
	for i := range statefulSets.Items {
		s := &statefulSets.Items[i]
		w.known[workloadName{kindStatefulSet, s.Name}] = workload{uid: s.UID, replicas: scaling.Replicas(ptr.Deref(s.Spec.Replicas, 1)), pod: &s.Spec.Template.Spec, labels: s.Spec.Template.Labels}
		w.readyOf[s.UID], w.sizeOf[s.UID] = int(s.Status.ReadyReplicas), int(ptr.Deref(s.Spec.Replicas, 1))
		w.addPart(s)
	}
	w.assign(pods.Items, deploymentsOf(replicaSets.Items))
	return w, nil
}

// addPart records the controller of a workload.
func (w *workloads) addPart(o metav1.Object) {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		name := workloadName{owner.Kind, owner.Name}
		w.parts[name] = append(w.parts[name], o.GetUID())
	}
}

// assign groups the live pods by their workload, and lists the terminating ones. A pod of a
// ReplicaSet belongs to its Deployment.
func (w *workloads) assign(pods []corev1.Pod, deployments map[types.UID]types.UID) {
	for i := range pods {
		p, ok := living(&pods[i])
		if !ok {
			if ending(&pods[i]) {
				w.ending = append(w.ending, scaling.PodName{Namespace: w.namespace, Name: pods[i].Name})
			}
			continue
		}
		w.pods = append(w.pods, p)
		owner := p.owner
		if deployment, ok := deployments[owner]; ok {
			owner = deployment
		}
		if owner != "" {
			w.owned[owner] = append(w.owned[owner], p)
		}
	}
}

// target returns the target that ref names. scale is the answer of its scale subresource where the
// kind has no informer.
func (w workloads) target(ref scaling.TargetRef, scale scaleAnswer) target {
	if !hasInformer(ref) {
		t := w.scaled(ref, scale)
		if set := w.groups[ref.Name]; set != nil && isGroupSet(ref) && !t.gone {
			t = w.grouped(t, set)
		}
		return t
	}
	found, ok := w.known[workloadName{ref.Kind, ref.Name}]
	if !ok {
		return target{missing: notFound(ref, w.namespace), gone: true}
	}
	t := target{current: found.replicas, pod: found.pod, labels: found.labels, pods: w.owned[found.uid], owned: true, failure: found.failure}
	if t.failure.Reason == "" {
		t.failure = imageFailure(t.pods)
	}
	return t
}

// scaled returns a target that is read by its scale. Its pods are those of the workloads that it
// controls, which are known without the scale too; else those that its scale selects.
func (w workloads) scaled(ref scaling.TargetRef, scale scaleAnswer) target {
	if scale.gone {
		return target{missing: scale.missing, gone: true}
	}
	owned := target{missing: scale.missing, current: scale.replicas, owned: true}
	for _, part := range w.parts[workloadName{ref.Kind, ref.Name}] {
		owned.pods = append(owned.pods, w.owned[part]...)
	}
	if len(owned.pods) > 0 || scale.missing != "" {
		return owned
	}
	selector, err := labels.Parse(scale.selector)
	if err != nil || selector.Empty() {
		return target{missing: fmt.Sprintf("the scale of %s %q in namespace %q does not select its pods: status.selector is %q",
			ref.Kind, ref.Name, w.namespace, scale.selector)}
	}
	t := target{current: scale.replicas}
	for _, p := range w.pods {
		if selector.Matches(labels.Set(p.labels)) {
			t.pods = append(t.pods, p)
		}
	}
	return t
}

// hasInformer reports whether targets of this kind are read from informers.
func hasInformer(ref scaling.TargetRef) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == appsv1.GroupName && (ref.Kind == kindDeployment || ref.Kind == kindStatefulSet)
}

// deploymentsOf maps the UID of each ReplicaSet to that of its Deployment.
func deploymentsOf(replicaSets []metav1.PartialObjectMetadata) map[types.UID]types.UID {
	out := make(map[types.UID]types.UID, len(replicaSets))
	for i := range replicaSets {
		if owner := metav1.GetControllerOfNoCopy(&replicaSets[i]); owner != nil {
			out[replicaSets[i].UID] = owner.UID
		}
	}
	return out
}

// replicaSetList returns the list for reading ReplicaSets: metadata only.
func replicaSetList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	return list
}

func notFound(ref scaling.TargetRef, namespace string) string {
	return fmt.Sprintf("%s %q not found in namespace %q", ref.Kind, ref.Name, namespace)
}
