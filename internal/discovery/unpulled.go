package discovery

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// imageReasons are the reasons with which the kubelet lets a container wait for its image
// (k8s.io/kubernetes, pkg/kubelet/images/types.go). The first two alternate.
var imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "InvalidImageName", "RegistryUnavailable"}

func waitsForImage(c corev1.ContainerStatus) bool {
	return c.State.Waiting != nil && slices.Contains(imageReasons, c.State.Waiting.Reason)
}

// unpulled returns the image that a container of a pod waits for because it could not be pulled, ""
// where no container waits for one.
func unpulled(p *corev1.Pod) string {
	for _, containers := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		if i := slices.IndexFunc(containers, waitsForImage); i >= 0 {
			return containers[i].Image
		}
	}
	return ""
}

// imageFailure reports the image that the oldest of the waiting pods of a target could not pull,
// since the creation of that pod; the zero value where no pod waits for one.
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
