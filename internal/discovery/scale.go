package discovery

import (
	"context"
	"errors"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Scales reads the scale subresource of any kind, with the errors of a scale.Client.
type Scales interface {
	// Scale returns the scale of a target.
	Scale(ctx context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error)
}

// scaleAnswer is the answer of the scale subresource of a target.
type scaleAnswer struct {
	missing  string // why the other fields are unknown, "" when they are known
	gone     bool   // the target, or its kind, does not exist, or cannot be scaled
	replicas scaling.Replicas
	selector string
}

// answerOf returns the answer for the result of reading a scale.
func answerOf(scale *autoscalingv1.Scale, err error, ref scaling.TargetRef, namespace string) scaleAnswer {
	switch {
	case err == nil:
		return scaleAnswer{replicas: scaling.Replicas(scale.Spec.Replicas), selector: scale.Status.Selector}
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
