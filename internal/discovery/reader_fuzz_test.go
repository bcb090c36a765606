package discovery

import (
	"encoding/json"
	"net"
	"net/url"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// FuzzPageOf reads where pods serve their metrics: whatever their author writes, the
// manager asks the pod's own address, or nobody.
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

// FuzzHPA reads HorizontalPodAutoscalers: nothing crashes, and one of the cache, which is
// stripped, reads as that of the API server does.
func FuzzHPA(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"minReplicas":0,"maxReplicas":-1,"behavior":{"scaleUp":{"tolerance":"1e9","stabilizationWindowSeconds":-5,"policies":[{"periodSeconds":2147483647}],"selectPolicy":"Disabled"}}}}`,
		`{"metadata":{"name":"h"},"spec":{"maxReplicas":3,"metrics":[{"type":"External","external":{"metric":{"name":"wva_desired_replicas","selector":{"matchLabels":{"variant_name":"a"},"matchExpressions":[{"key":"variant_name","operator":"In"}]}},"target":{"averageValue":"1"}}},{"type":"Resource"}]},"status":{"currentMetrics":[{"type":"External","external":{"metric":{"name":"wva_desired_ratio"}}},{"type":""}],"conditions":[{"type":"ScalingActive","status":"False","reason":"AmbiguousSelector","message":"x"},{"type":"AbleToScale","status":"False","reason":"FailedGetScale"}]}}`,
		`{"spec":{"metrics":[{"external":{"metric":{"name":"inferno_desired_ratio"},"target":{"value":"1000m"}}}]},"status":{"conditions":[{"type":"ScalingActive","status":"False","reason":"ScalingDisabled"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		if json.Unmarshal(data, h) != nil {
			return
		}
		want, got := ofHPA(h, seriesA), ofHPA(stripHPA(h), seriesA)
		if want.Inactive.Reason == reasonAmbiguousSelector {
			want.Inactive.Message = ""
		}
		if want.Unable.Reason == reasonAmbiguousSelector {
			want.Unable.Message = ""
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("an HPA of the cache reads otherwise (-whole +stripped):\n%s", diff)
		}
	})
}

// FuzzScaledObject reads ScaledObjects, which no definition of ours has checked: nothing
// crashes, and bounds and messages are the same for the same object.
func FuzzScaledObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"metadata":{"name":"s","annotations":{"autoscaling.keda.sh/paused-replicas":"x"}},"spec":{"scaleTargetRef":{"name":"d"},"minReplicaCount":-3,"maxReplicaCount":1e3,"triggers":[{"type":"prometheus","metadata":{"query":"wva_desired_replicas{variant_name=\"a\"}","threshold":"NaN"}}]},"status":{"conditions":[{"type":"Ready","status":"False","reason":"R","message":"m"}]}}`,
		`{"spec":{"triggers":[{"metadata":{"query":"wva_desired_ratio{target_name=~\"a.b\"}","threshold":"1"}},{"metadata":null}]}}`,
		`{"metadata":{"creationTimestamp":"x"},"spec":{"triggers":{}}}`, `{"spec":3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		content := map[string]any{}
		if json.Unmarshal(data, &content) != nil {
			return
		}
		read := func() (scaling.Scaler, bool) {
			s, err := readScaledObject(&unstructured.Unstructured{Object: content})
			if err != nil {
				return scaling.Scaler{}, false
			}
			return scalerObject{keda: s, hpa: &autoscalingv2.HorizontalPodAutoscaler{}}.scaler(seriesA), true
		}
		first, ok := read()
		again, same := read()
		if ok != same {
			t.Fatal("the same object is read, and is not")
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("the same object reads otherwise:\n%s", diff)
		}
	})
}
