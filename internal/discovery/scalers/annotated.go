package scalers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// annotationProblem holds, in the object that stands for a scaler, why that scaler cannot be
// decided on. It is never copied from a scaler.
const annotationProblem = "wva.llmd.ai/problem"

// Annotated reads the scalers that are variants by their annotations, as the VariantAutoscalings
// that they stand for. These have the kind, the name and the UID of the scaler, so that events go
// to the scaler. It is safe for concurrent use.
type Annotated struct {
	Reader *Reader
	// On reports whether annotated scalers are variants.
	On func() bool
	// Instance is the controller instance in their label, "" for any.
	Instance string
	// Statuses holds the decisions on them; nil leaves their status empty.
	Statuses Statuses
}

// Statuses holds the status of variants without a VariantAutoscaling.
type Statuses interface {
	// Status returns the status of a variant, and false where there is none for the object with
	// that UID.
	Status(ctx context.Context, key scaling.VariantKey, uid types.UID) (v1alpha1.VariantAutoscalingStatus, bool)
}

// Problem says why the scaler that va stands for cannot be decided on, "" where it can.
func Problem(va *v1alpha1.VariantAutoscaling) string {
	if !va.FromScaler() {
		return ""
	}
	return va.Annotations[annotationProblem]
}

// List returns the VariantAutoscalings that the annotated scalers of a namespace stand for, "" for
// all namespaces, sorted by key. It leaves out scalers whose target one of vas scales, and scalers
// with the name of one of vas. Kinds that are not listed yet, or that the manager has no right to
// list, have none.
func (a *Annotated) List(ctx context.Context, namespace string, vas []v1alpha1.VariantAutoscaling) ([]v1alpha1.VariantAutoscaling, error) {
	if a == nil || !a.On() {
		return nil, nil
	}
	found, err := a.Reader.managed(ctx, namespace)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(s managed) bool {
		return a.Instance != "" && s.meta.Labels[v1alpha1.LabelControllerInstance] != a.Instance
	})
	if len(found) == 0 {
		return nil, nil
	}
	targets, names := map[claim]bool{}, map[types.NamespacedName]bool{}
	for i := range vas {
		va := &vas[i]
		names[types.NamespacedName{Namespace: va.Namespace, Name: va.Name}] = true
		if va.DeletionTimestamp.IsZero() {
			ref := va.Target()
			targets[claim{va.Namespace, ref.Kind, ref.Name}] = true
		}
	}
	on := map[claim][]managed{}
	for _, s := range found {
		on[s.claim()] = append(on[s.claim()], s)
	}
	var out []v1alpha1.VariantAutoscaling
	for _, s := range found {
		key := types.NamespacedName{Namespace: s.meta.Namespace, Name: s.meta.Name}
		if targets[s.claim()] || names[key] {
			continue
		}
		names[key] = true // an HPA and a ScaledObject may share a name; the HPA comes first
		out = append(out, a.object(ctx, s, on[s.claim()]))
	}
	return out, nil
}

// object returns the VariantAutoscaling that a scaler stands for; rivals are all scalers of its
// target.
func (a *Annotated) object(ctx context.Context, s managed, rivals []managed) v1alpha1.VariantAutoscaling {
	ref := v1alpha1.ScaleTargetRef(s.target)
	va := v1alpha1.VariantAutoscaling{
		TypeMeta: s.kind,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.meta.Namespace, Name: s.meta.Name, UID: s.meta.UID, ResourceVersion: s.meta.ResourceVersion, Generation: s.meta.Generation,
			CreationTimestamp: s.meta.CreationTimestamp, DeletionTimestamp: s.meta.DeletionTimestamp,
			Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: s.meta.Annotations[v1alpha1.AnnotationModelID], ScaleTargetRef: &ref, MinReplicas: int32(max(0, min(s.bounds.Min, math.MaxInt32))),
		},
	}
	if s.bounds.Max >= 1 {
		most := int32(min(s.bounds.Max, math.MaxInt32))
		va.Spec.MaxReplicas = &most
	}
	for _, label := range []string{v1alpha1.LabelAcceleratorName, v1alpha1.LabelControllerInstance} {
		if value, ok := s.meta.Labels[label]; ok {
			va.Labels[label] = value
		}
	}
	for _, annotation := range []string{v1alpha1.AnnotationPaused, v1alpha1.AnnotationApprove, v1alpha1.AnnotationApproved, v1alpha1.RoleKey} {
		if value, ok := s.meta.Annotations[annotation]; ok {
			va.Annotations[annotation] = value
		}
	}
	// The other values ask the manager to scale, which the scaler does itself.
	if value := s.meta.Annotations[v1alpha1.AnnotationActuation]; value == string(scaling.ActuationAdvisory) {
		va.Annotations[v1alpha1.AnnotationActuation] = value
	}
	cost := s.meta.Annotations[v1alpha1.AnnotationVariantCost]
	if isCost(cost) {
		va.Spec.VariantCost = cost
	}
	if problem := s.problem(cost, rivals); problem != "" {
		va.Annotations[annotationProblem] = problem
	}
	if a.Statuses != nil {
		if status, ok := a.Statuses.Status(ctx, scaling.VariantKey{Namespace: va.Namespace, Name: va.Name}, va.UID); ok {
			va.Status = status
		}
	}
	return va
}

// managed is a scaler that is a variant by its annotations.
type managed struct {
	kind   metav1.TypeMeta
	meta   metav1.ObjectMeta
	target scaling.TargetRef
	bounds scaling.Bounds
}

func (s managed) claim() claim { return claim{s.meta.Namespace, s.target.Kind, s.target.Name} }

// problem returns everything that prevents decisions on a scaler, "" for nothing.
func (s managed) problem(cost string, rivals []managed) string {
	var problems []string
	if id := s.meta.Annotations[v1alpha1.AnnotationModelID]; strings.TrimSpace(id) == "" {
		problems = append(problems, fmt.Sprintf("annotation %s is %q: want the ID of the model that the target serves", v1alpha1.AnnotationModelID, id))
	}
	if cost != "" && !isCost(cost) {
		problems = append(problems, fmt.Sprintf("annotation %s is %.40q: want a decimal number of 0 or more", v1alpha1.AnnotationVariantCost, cost))
	}
	if s.target.Name == "" || s.target.Kind == "" {
		problems = append(problems, "its scaleTargetRef names no target")
	} else if len(rivals) > 1 {
		names := make([]string, len(rivals))
		for i, r := range rivals {
			names[i] = r.kind.Kind + " " + r.meta.Name
		}
		slices.Sort(names)
		problems = append(problems, fmt.Sprintf("%s have the annotation %s and scale the same target, %s %s: want one of them",
			strings.Join(names, " and "), v1alpha1.AnnotationManaged, s.target.Kind, s.target.Name))
	}
	return strings.Join(problems, "; ")
}

// isCost reports whether text is a cost: a decimal number, finite and not negative.
func isCost(text string) bool {
	cost, err := strconv.ParseFloat(text, 64)
	return err == nil && cost >= 0 && !math.IsInf(cost, 0)
}

// isManaged reports whether annotations make a scaler a variant.
func isManaged(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationManaged] == "true"
}

// managed returns the annotated scalers of a namespace, "" for all, sorted by namespace, name and
// kind. It leaves out HorizontalPodAutoscalers that KEDA made: their ScaledObjects may be
// annotated.
func (r *Reader) managed(ctx context.Context, namespace string) ([]managed, error) {
	if r == nil || r.watches == nil {
		return nil, nil
	}
	var out []managed
	if why, _ := r.unread(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, scaling.KindHPA); why == "" {
		var hpas autoscalingv2.HorizontalPodAutoscalerList
		if err := r.watches.List(ctx, &hpas, in(namespace)...); err != nil {
			return nil, fmt.Errorf("listing HorizontalPodAutoscalers that may be variants: %w", err)
		}
		for i := range hpas.Items {
			if h := &hpas.Items[i]; isManaged(h.Annotations) && !madeByKEDA(h) {
				out = append(out, managedHPA(h))
			}
		}
	}
	if has, why := r.hasKEDA(ctx); has && why == "" {
		list := newScaledObjectList()
		if err := r.watches.List(ctx, list, in(namespace)...); err != nil {
			return nil, fmt.Errorf("listing ScaledObjects that may be variants: %w", err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			if !isManaged(u.GetAnnotations()) {
				continue
			}
			s, err := readScaledObject(u)
			if err != nil {
				return nil, err
			}
			out = append(out, managedScaledObject(s))
		}
	}
	slices.SortFunc(out, func(a, b managed) int {
		return cmp.Or(strings.Compare(a.meta.Namespace, b.meta.Namespace), strings.Compare(a.meta.Name, b.meta.Name), strings.Compare(a.kind.Kind, b.kind.Kind))
	})
	return out, nil
}

// in returns the options for listing the objects of a namespace, "" for all, without copying them.
func in(namespace string) []client.ListOption {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if namespace != "" {
		options = append(options, client.InNamespace(namespace))
	}
	return options
}

func madeByKEDA(h *autoscalingv2.HorizontalPodAutoscaler) bool {
	owner := metav1.GetControllerOfNoCopy(h)
	return owner != nil && owner.Kind == scaling.KindScaledObject
}

func managedHPA(h *autoscalingv2.HorizontalPodAutoscaler) managed {
	ref := h.Spec.ScaleTargetRef
	return managed{
		kind: metav1.TypeMeta{APIVersion: autoscalingv2.SchemeGroupVersion.String(), Kind: scaling.KindHPA}, meta: h.ObjectMeta,
		target: scaling.TargetRef{APIVersion: cmp.Or(ref.APIVersion, defaultAPIVersion), Kind: ref.Kind, Name: ref.Name},
		bounds: scaling.Bounds{Min: scaling.Replicas(ptr.Deref(h.Spec.MinReplicas, 1)), Max: scaling.Replicas(h.Spec.MaxReplicas)},
	}
}

func managedScaledObject(s *scaledObject) managed {
	ref := s.Spec.ScaleTargetRef
	bounds := s.bounds()
	if n := s.Spec.IdleReplicaCount; n != nil {
		bounds.Min = scaling.Replicas(*n) // the replicas while none of its triggers is active
	}
	return managed{
		kind: metav1.TypeMeta{APIVersion: scaledObjectKind.GroupVersion().String(), Kind: scaling.KindScaledObject}, meta: s.ObjectMeta,
		target: scaling.TargetRef{APIVersion: cmp.Or(ref.APIVersion, defaultAPIVersion), Kind: cmp.Or(ref.Kind, kindDeployment), Name: ref.Name},
		bounds: bounds,
	}
}

// defaultAPIVersion is that of a target reference without one.
const defaultAPIVersion = "apps/v1"
