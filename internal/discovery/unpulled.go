package discovery

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// imageReasons are those for which the kubelet has a container wait for its image
// (k8s.io/kubernetes, pkg/kubelet/images/types.go). The first two take turns.
var imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "InvalidImageName", "RegistryUnavailable"}

func waitsForImage(c corev1.ContainerStatus) bool {
	return c.State.Waiting != nil && slices.Contains(imageReasons, c.State.Waiting.Reason)
}

// unpulled returns the image that a container of a pod waits for because it could not be pulled, ""
// where none does.
func unpulled(p *corev1.Pod) string {
	for _, containers := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		if i := slices.IndexFunc(containers, waitsForImage); i >= 0 {
			return containers[i].Image
		}
	}
	return ""
}

// imageFailure returns that pods of a target wait for an image that could not be pulled, since
// the oldest of them was created.
func imageFailure(pods []pod) scaling.Trouble {
	var oldest *pod
	for i := range pods {
		if p := &pods[i]; p.unpulled != "" && (oldest == nil || p.created.Before(oldest.created)) {
			oldest = p
		}
	}
	if oldest == nil {
		return scaling.Trouble{}
	}
	return scaling.Trouble{Reason: scaling.ImageNotPulled, Message: fmt.Sprintf("image %q", oldest.unpulled), Since: oldest.created}
}
