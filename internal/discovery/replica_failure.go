package discovery

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// podFailure returns why a Deployment cannot create its pods, by its condition ReplicaFailure,
// which it copies from its ReplicaSets. The API server refuses these pods before they exist, so
// neither the scheduler nor a container reports the reason.
func podFailure(conditions []appsv1.DeploymentCondition) scaling.Trouble {
	for _, c := range conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return scaling.Trouble{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
		}
	}
	return scaling.Trouble{}
}

// stripFailure keeps the condition that podFailure reads.
func stripFailure(conditions []appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	for _, c := range conditions {
		if c.Type == appsv1.DeploymentReplicaFailure {
			c.LastUpdateTime.Reset()
			return []appsv1.DeploymentCondition{c}
		}
	}
	return nil
}
