package subresource

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scale"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// markPatience is how long marking may delay the publication of a plan.
const markPatience = 2 * time.Second

// Patcher changes objects.
type Patcher interface {
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
}

// Mark marks the pods that should end first where the plan of the record has fewer replicas than
// the target, and removes marks where no pod should end any more. It does so for the targets that
// this process scales. Call it before the plan is published. It takes two seconds at most, because
// a plan can be carried out without marks. It logs when marking begins to fail.
func (h *TargetScaler) Mark(ctx context.Context, record memory.Record) {
	within, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	pods := cachedPods{reader: h.Objects, by: map[string]map[string]*corev1.Pod{}}
	var fault error
	tried := false
	for _, o := range orders(record) {
		if !sets(h.Scalers.Scalers(o.variant.Key)) || !ranksPods(o.variant.Target) {
			continue
		}
		patched, err := h.markOne(within, o, record, pods)
		tried = tried || patched
		if err != nil {
			fault, tried = err, true
			if within.Err() != nil || apierrors.IsForbidden(err) {
				break
			}
		}
	}
	if tried && ctx.Err() == nil {
		h.reportMarks(logr.FromContextOrDiscard(ctx), fault)
	}
}

// sets reports whether this process sets replicas of a target with the scalers by.
func sets(by scaling.Scalers) bool {
	mode := by.InForce()
	return mode == scaling.ActuationScale || mode == scaling.ActuationZero
}

// ranksPods reports whether the controller of a target removes pods by their cost.
func ranksPods(target scaling.TargetRef) bool {
	gv, err := schema.ParseGroupVersion(target.APIVersion)
	return err == nil && gv.Group == "apps" && (target.Kind == "Deployment" || target.Kind == "ReplicaSet")
}

// markOne updates the marks on the pods of one target, and reports whether it tried to change any.
func (h *TargetScaler) markOne(ctx context.Context, o order, record memory.Record, pods cachedPods) (patched bool, err error) {
	snapshot, _ := record.Snapshot(o.variant.Model)
	candidates, err := candidatesOf(ctx, o.variant.Key, record.Fleet.Pods, snapshot, pods)
	if err != nil {
		return false, err
	}
	costs := chooseCosts(candidates, o.variant.Replicas.Current, o.desired)
	for _, pod := range slices.Sorted(maps.Keys(costs)) {
		if err := h.patch(ctx, o.variant.Key, pods.by[o.variant.Key.Namespace][pod], costs[pod]); err != nil && !apierrors.IsNotFound(err) {
			return true, err
		}
	}
	return len(costs) > 0, nil
}

// candidate is a Ready pod of a target that may be marked.
type candidate struct {
	pod      string
	inFlight scaling.Reading // requests that run or wait
	marked   bool            // by this process, or an earlier one
	foreign  bool            // has a cost of another client
}

// chooseCosts returns the costs to set on pods by name, 0 to remove a mark. The fewer
// requests in flight, the lower the cost; pods with an unknown number end last. A pod
// without a cost has 0, so the pods that stay need none.
func chooseCosts(pods []candidate, current, desired scaling.Replicas) map[string]int {
	if slices.ContainsFunc(pods, func(p candidate) bool { return p.foreign }) {
		return nil
	}
	out := map[string]int{}
	surplus := scaling.Replicas(len(pods)) - desired // pods that are not Ready end before the Ready ones, whatever their cost
	var free []candidate
	for _, p := range pods {
		switch {
		case !p.marked:
			free = append(free, p)
		case surplus <= 0 || desired > current:
			out[p.pod] = 0
		default:
			surplus--
		}
	}
	if desired >= current || desired == 0 || surplus <= 0 {
		return out // no pod should end, all should, or enough are marked
	}
	slices.SortFunc(free, func(a, b candidate) int {
		known := func(c candidate) int {
			if c.inFlight.Known() {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(known(a), known(b)), cmp.Compare(a.inFlight.Value, b.inFlight.Value), strings.Compare(a.pod, b.pod))
	})
	for i, p := range free[:min(int(surplus), len(free))] {
		out[p.pod] = i - int(surplus)
	}
	return out
}

// candidatesOf returns the Ready pods of a variant.
func candidatesOf(ctx context.Context, key scaling.VariantKey, fleet []scaling.Pod, s scaling.Snapshot, cached cachedPods) ([]candidate, error) {
	held := map[string]scaling.Reading{}
	for _, r := range s.Replicas {
		if waiting := r.Waiting(); r.Variant == key && r.Running.Known() && waiting.Known() {
			held[r.Pod] = scaling.Measured(r.Running.Value+waiting.Value, min(r.Running.State, waiting.State))
		}
	}
	var out []candidate
	for _, p := range fleet {
		if p.Variant != key || !p.Ready {
			continue
		}
		object, err := cached.pod(ctx, p.Namespace, p.Name)
		if err != nil {
			return nil, err
		}
		if object == nil {
			continue // the pod is deleted
		}
		_, cost := object.Annotations[corev1.PodDeletionCost]
		_, marked := object.Annotations[v1alpha1.AnnotationMarked]
		out = append(out, candidate{pod: p.Name, inFlight: held[p.Name], marked: marked, foreign: cost && !marked})
	}
	return out, nil
}

// patch sets the cost and the mark of a pod; cost 0 removes both. It does not change another pod of
// the same name.
func (h *TargetScaler) patch(ctx context.Context, key scaling.VariantKey, pod *corev1.Pod, cost int) error {
	var value, mark any
	if cost != 0 {
		value, mark = strconv.Itoa(cost), key.Name
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]any{corev1.PodDeletionCost: value, v1alpha1.AnnotationMarked: mark},
	}})
	if err != nil {
		return fmt.Errorf("encoding the cost of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := h.Pods.Patch(ctx, object, client.RawPatch(types.MergePatchType, body), scale.FieldOwner); err != nil {
		return fmt.Errorf("setting the cost of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// reportMarks logs when marking begins to fail, and when it is possible again.
func (h *TargetScaler) reportMarks(log logr.Logger, err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
		if _, refused := rbac.Missing(err); refused {
			fault = "the manager may not patch pods: bind the ClusterRole " + rbac.PodMarkerRole + " to its account"
		}
	}
	if (fault == "") != (h.markFault == "") {
		if fault != "" {
			log.Info("pods that should go first are not marked, Kubernetes chooses", "reason", fault)
		} else {
			log.Info("pods that should go first are marked again")
		}
	}
	h.markFault = fault
}

// cachedPods reads the pods of a namespace once.
type cachedPods struct {
	reader client.Reader
	by     map[string]map[string]*corev1.Pod // by namespace and name
}

// pod returns a pod, nil where it is deleted. The caller must not modify it.
func (c cachedPods) pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if c.by[namespace] == nil {
		var list corev1.PodList
		if err := c.reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing pods in namespace %s: %w", namespace, err)
		}
		c.by[namespace] = make(map[string]*corev1.Pod, len(list.Items))
		for i := range list.Items {
			c.by[namespace][list.Items[i].Name] = &list.Items[i]
		}
	}
	return c.by[namespace][name], nil
}
