package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// waiting is a container that waits.
func waiting(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Image: "of-" + name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func TestPodsThatWaitForTheirImageSaySo(t *testing.T) {
	statefulSet := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "s"}}
	va := variant("a", targeting("StatefulSet", "s"))
	pod := func(name string, created int, status corev1.PodStatus) *corev1.Pod {
		return livePod(name, ownedBy("s"), func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(at(created))
			p.Status = status
		})
	}
	pulls := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("c", "ContainerCreating")}}
	for name, tt := range map[string]struct {
		pods []client.Object
		want scaling.Trouble
	}{
		"they are being created": {[]client.Object{pod("p", 3, pulls)}, scaling.Trouble{}},
		"the image of one cannot be pulled": {
			[]client.Object{pod("p", 3, pulls), pod("q", 4, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("c", "ImagePullBackOff")}})},
			scaling.Trouble{Reason: scaling.ImageNotPulled, Message: `image "of-c"`, Since: at(4)},
		},
		"the image of an init container cannot be pulled, since the oldest pod": {
			[]client.Object{
				pod("p", 5, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("c", "ErrImagePull")}}),
				pod("q", 2, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("i", "InvalidImageName")}}),
			},
			scaling.Trouble{Reason: scaling.ImageNotPulled, Message: `image "of-i"`, Since: at(2)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := New(&fakeCache{objects: append([]client.Object{va, statefulSet}, tt.pods...)}, fakeScales{})
			if _, err := cluster.Fleet(t.Context(), at(10)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(cluster.PodFailure(keyOf(va)), tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}
