package discovery

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// endingAnnotations are the annotations that rank the pods of a target for deletion, and name the
// client that set the rank.
var endingAnnotations = [...]string{corev1.PodDeletionCost, v1alpha1.AnnotationMarked}

// stripMarks returns the endingAnnotations among annotations in a new map; nil for none.
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

// gracePeriod returns how long a pod may take to terminate, 0 where its spec is unknown. In the
// templates of other kinds than its own, such as LeaderWorkerSet, the API server stores no default,
// but the pods made of them get it.
func gracePeriod(pod *corev1.PodSpec) time.Duration {
	if pod == nil {
		return 0
	}
	if pod.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
}
