package discovery

import (
	"net"
	"net/url"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// FuzzPageOf reads where pods serve their metrics: whatever their author writes, the
// manager asks the pod's own address, or none.
func FuzzPageOf(f *testing.F) {
	f.Add("10.0.0.1", "https", "8080", "/metrics", "http", int32(9090), "")
	f.Add("fd00::1", "http://x/", "80@evil:1", "//evil/x?y#z", "", int32(0), "http://evil.example")
	f.Add("", "", "", "", "metrics", int32(8000), "http://169.254.169.254/latest")
	f.Fuzz(func(t *testing.T, ip, scheme, port, path, name string, number int32, stored string) {
		if ip != "" && net.ParseIP(ip) == nil {
			return // the kubelet's
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationScheme: scheme, annotationPort: port, annotationPath: path, annotationPage: stored}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: name, ContainerPort: max(1, number&0xffff)}}}}},
			Status:     corev1.PodStatus{PodIP: ip},
		}
		keep := stripKeepingPages(labels.Everything())
		got := page(t, keep, pod)
		if ip == "" {
			if got != "" {
				t.Fatalf("the page of a pod without an address is %q", got)
			}
			return
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatalf("the page %q is no URL: %v", got, err)
		}
		n, err := strconv.Atoi(u.Port())
		if u.Hostname() != ip || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" || err != nil || n < 1 || n > 65535 {
			t.Fatalf("the page of a pod at %s is %q", ip, got)
		}
	})
}

// page returns the page that a pod has in the cache, once it was stripped and once more.
func page(t *testing.T, keep func(any) (any, error), pod *corev1.Pod) string {
	t.Helper()
	var pages [2]string
	object := any(pod)
	for i := range pages {
		var err error
		if object, err = keep(object); err != nil {
			t.Fatal(err)
		}
		pages[i] = object.(*corev1.Pod).Annotations[annotationPage]
	}
	if pages[0] != pages[1] {
		t.Fatalf("stripped once the page is %q, stripped again %q", pages[0], pages[1])
	}
	return pages[0]
}
