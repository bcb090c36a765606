package discovery

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// podFailure returns why a Deployment cannot have its pods, going by its
// condition ReplicaFailure, which it takes over from its ReplicaSets. The API
// server refuses the pods before there is any: neither the scheduler nor a
// container ever says a word about them.
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
