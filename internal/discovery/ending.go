package discovery

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// endingAnnotations say which pods of a target should go first, and who says so.
var endingAnnotations = [...]string{corev1.PodDeletionCost, v1alpha1.AnnotationMarked}

// stripMarks keeps endingAnnotations, in a map of its own; nil where there is none.
func stripMarks(annotations map[string]string) map[string]string {
	var out map[string]string
	for _, name := range endingAnnotations {
		if value, ok := annotations[name]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// gracePeriod returns how long a pod may take to end, 0 where that is not known. The
// API server stores a default, so an absent one is no pod's.
func gracePeriod(pod *corev1.PodSpec) time.Duration {
	if pod == nil || pod.TerminationGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
}
