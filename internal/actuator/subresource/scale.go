package subresource

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Scales reads and sets the scale subresource of any kind, with the errors of a scale.Client.
type Scales interface {
	// Scale returns the scale of a target as it is now.
	Scale(ctx context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error)
	// SetScale sets the replicas of a target to those of a scale that was read.
	SetScale(ctx context.Context, target scaling.TargetRef, scale *autoscalingv1.Scale) error
}
