package discovery

import (
	"context"
	"errors"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Scales reads the scale subresource of any kind.
type Scales interface {
	// Scale returns the scale of a target. The error is a NotFound of the API
	// server where the target or the subresource does not exist, a NoMatchError of
	// meta where the kind does not, and scaling.ErrClusterScoped where the kind has
	// no namespace.
	Scale(ctx context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error)
}

// ScaleClient reads scales from the API server. The zero value is not usable;
// see NewScaleClient.
type ScaleClient struct {
	client scaleAPI
}

// scaleAPI is what is needed of a client.Client.
type scaleAPI interface {
	client.SubResourceClientConstructor
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

var _ Scales = (*ScaleClient)(nil)

// NewScaleClient returns a ScaleClient that asks with c, which is the client of
// a manager. Each call is one GET, once the kind is known.
func NewScaleClient(c scaleAPI) *ScaleClient {
	return &ScaleClient{client: c}
}

// Scale returns the scale of a target.
func (s *ScaleClient) Scale(ctx context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error) {
	object, answer := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	object.SetAPIVersion(target.APIVersion)
	object.SetKind(target.Kind)
	object.SetNamespace(namespace)
	object.SetName(target.Name)
	// Without this an object of the cluster would be asked for: its path has no namespace.
	switch namespaced, err := s.client.IsObjectNamespaced(object); {
	case err != nil:
		return nil, fmt.Errorf("looking up the kind of %s: %w", target, err)
	case !namespaced:
		return nil, fmt.Errorf("reading the scale of %s: %w", target, scaling.ErrClusterScoped)
	}
	answer.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	if err := s.client.SubResource("scale").Get(ctx, object, answer); err != nil {
		return nil, fmt.Errorf("reading the scale of %s in namespace %s: %w", target, namespace, err)
	}
	scale := &autoscalingv1.Scale{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, scale); err != nil {
		return nil, fmt.Errorf("decoding the scale of %s in namespace %s: %w", target, namespace, err)
	}
	return scale, nil
}

// scaleAnswer is what the scale subresource of a target says.
type scaleAnswer struct {
	missing  string // why the rest is unknown
	gone     bool   // the target, or its kind, does not exist, or cannot be scaled
	replicas int
	selector string
}

// answerOf puts the outcome of reading a scale into an answer.
func answerOf(scale *autoscalingv1.Scale, err error, ref scaling.TargetRef, namespace string) scaleAnswer {
	switch {
	case err == nil:
		return scaleAnswer{replicas: int(scale.Spec.Replicas), selector: scale.Status.Selector}
	case meta.IsNoMatchError(err):
		return scaleAnswer{missing: fmt.Sprintf("%s: the cluster has no such kind in %s", notFound(ref, namespace), ref.APIVersion), gone: true}
	case errors.Is(err, scaling.ErrClusterScoped):
		return scaleAnswer{missing: fmt.Sprintf("%s %q of %s cannot be a target: %s", ref.Kind, ref.Name, ref.APIVersion, scaling.ErrClusterScoped), gone: true}
	case apierrors.IsNotFound(err):
		return scaleAnswer{missing: notFound(ref, namespace) + ", or it has no scale subresource", gone: true}
	}
	if right, refused := rbac.Missing(err); refused {
		return scaleAnswer{missing: fmt.Sprintf("%s %q in namespace %q cannot be read: %s", ref.Kind, ref.Name, namespace, right.Grant(rbac.ManagerRole))}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return silent(ref, namespace)
	}
	return scaleAnswer{missing: err.Error()}
}
