package discovery

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestPageOfAPod(t *testing.T) {
	ports := func(ports ...corev1.ContainerPort) []corev1.Container { return []corev1.Container{{Ports: ports}} }
	port := func(name string, n int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: n}
	}
	for name, c := range map[string]struct {
		ip          string
		annotations map[string]string
		containers  []corev1.Container
		want        string
	}{
		"no address yet":           {"", nil, ports(port("http", 8080)), ""},
		"nothing said":             {"10.0.0.1", nil, nil, "http://10.0.0.1:8000/metrics"},
		"the first port":           {"10.0.0.1", nil, ports(port("", 8200), port("side", 9000)), "http://10.0.0.1:8200/metrics"},
		"http before others":       {"10.0.0.1", nil, ports(port("grpc", 9002), port("http", 8080)), "http://10.0.0.1:8080/metrics"},
		"metrics before http":      {"10.0.0.1", nil, ports(port("http", 8080), port("metrics", 9090)), "http://10.0.0.1:9090/metrics"},
		"a sidecar's metrics":      {"10.0.0.1", nil, append(ports(port("http", 8080)), ports(port("metrics", 9091))...), "http://10.0.0.1:9091/metrics"},
		"annotations before ports": {"10.0.0.1", map[string]string{annotationPort: "9100", annotationPath: "prom", annotationScheme: "https"}, ports(port("metrics", 9090)), "https://10.0.0.1:9100/prom"},
		"IPv6":                     {"fd00::1", nil, nil, "http://[fd00::1]:8000/metrics"},
		"a scheme that is a URL":   {"10.0.0.1", map[string]string{annotationScheme: "http://169.254.169.254/latest?x="}, nil, "http://10.0.0.1:8000/metrics"},
		"another scheme":           {"10.0.0.1", map[string]string{annotationScheme: "file"}, nil, "http://10.0.0.1:8000/metrics"},
		"a scheme in capitals":     {"10.0.0.1", map[string]string{annotationScheme: "HTTPS"}, nil, "https://10.0.0.1:8000/metrics"},
		"a port that is a host":    {"10.0.0.1", map[string]string{annotationPort: "80@evil.example:81"}, ports(port("http", 8080)), "http://10.0.0.1:8080/metrics"},
		"a port out of range":      {"10.0.0.1", map[string]string{annotationPort: "65536"}, nil, "http://10.0.0.1:8000/metrics"},
		"a path of another host":   {"10.0.0.1", map[string]string{annotationPath: "//evil.example/x"}, nil, "http://10.0.0.1:8000//evil.example/x"},
		"a path that is no path":   {"10.0.0.1", map[string]string{annotationPath: "/a b?c"}, nil, "http://10.0.0.1:8000/a%20b%3Fc"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: corev1.PodSpec{Containers: c.containers}, Status: corev1.PodStatus{PodIP: c.ip}}
			if got := metricsURLOf(p); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestThePageOutlivesStrippingWhereItIsNeeded(t *testing.T) {
	const page = "http://10.0.0.1:8000/metrics"
	pickers, err := labels.Parse("inferencepool")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		of     labels.Selector
		labels map[string]string
		want   string
	}{
		{"of every pod", labels.Everything(), nil, page},
		{"of a picker", pickers, map[string]string{"inferencepool": "chat"}, page},
		{"not of other pods than pickers", pickers, map[string]string{"app": "chat"}, ""},
		{"of none", nil, map[string]string{"inferencepool": "chat"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var strip func(any) (any, error)
			for object, by := range CacheOptions(Needs{Pages: tt.of}).ByObject {
				if _, ok := object.(*corev1.Pod); ok {
					strip = by.Transform
				}
			}
			var object any = livePod("a", func(p *corev1.Pod) {
				p.Labels, p.Status.PodIP, p.Spec.Containers = tt.labels, "10.0.0.1", []corev1.Container{{Name: "engine"}}
			})
			for range 2 { // an informer may strip an object twice
				stripped, err := strip(object)
				if err != nil {
					t.Fatal(err)
				}
				object = stripped
			}
			if p, _ := living(object.(*corev1.Pod)); p.metricsURL != tt.want {
				t.Errorf("got %q, want %q", p.metricsURL, tt.want)
			}
		})
	}
}

// TestAPodWithoutAnAddressNamesNoPage: the annotation of the cache is no way for a pod's
// author to have the manager ask another address.
func TestAPodWithoutAnAddressNamesNoPage(t *testing.T) {
	pod := livePod("a", func(p *corev1.Pod) {
		p.Annotations, p.Spec.Containers = map[string]string{annotationPage: "http://169.254.169.254/latest/meta-data"}, []corev1.Container{{Name: "engine"}}
	})
	if got := page(t, stripKeepingPages(labels.Everything()), pod); got != "" {
		t.Errorf("the manager asks %q", got)
	}
}

func TestPagesNameTheModelsOfPods(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	fleet := scaling.Fleet{
		Variants: []scaling.Variant{{Key: key, Model: scaling.ModelKey{Namespace: "ns", ID: "m"}}},
		Pods: []scaling.Pod{
			{Namespace: "ns", Name: "a", Variant: key, Ready: true, MetricsURL: "http://a"},
			{Namespace: "ns", Name: "loading", Variant: key, MetricsURL: "http://b"},
			{Namespace: "ns", Name: "homeless", Variant: key, Ready: true},
		},
	}
	want := []MetricsEndpoint{
		{Namespace: "ns", Pod: "a", Model: "m", URL: "http://a"},
		{Namespace: "ns", Pod: "loading", Model: "m", URL: "http://b", Starting: true},
	}
	if diff := cmp.Diff(MetricsEndpoints(fleet), want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestPickersAreTheReadyPodsOfTheSelector(t *testing.T) {
	page := func(p *corev1.Pod) { p.Annotations = map[string]string{annotationPage: "http://" + p.Name} }
	cache := &keptCache{pods: []*corev1.Pod{
		livePod("epp-b", labelled("inferencepool", "x-epp"), readySince(1), page),
		livePod("epp-a", labelled("inferencepool", "x-epp"), readySince(1), page),
		livePod("epp-starting", labelled("inferencepool", "x-epp"), page),
		livePod("other", labelled("app", "x"), readySince(1), page),
	}}
	selector, err := labels.Parse("inferencepool")
	if err != nil {
		t.Fatal(err)
	}
	got, err := New(cache, fakeScales{}).Pickers(t.Context(), selector)
	if err != nil {
		t.Fatal(err)
	}
	want := []MetricsEndpoint{{Namespace: "ns", Pod: "epp-a", URL: "http://epp-a"}, {Namespace: "ns", Pod: "epp-b", URL: "http://epp-b"}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestPodsOfALeaderWorkerSetAreItsLeaders(t *testing.T) {
	controlled := func(kind, name string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{Kind: kind, Name: name, UID: "x", Controller: &yes}}
	}
	leaders := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "l", UID: "statefulset-l", OwnerReferences: controlled("LeaderWorkerSet", "l"),
	}}
	workers := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "l-0", UID: "statefulset-l-0", OwnerReferences: controlled("Pod", "l-0"),
	}}
	cache := &fakeCache{objects: []client.Object{
		variant("v", func(va *v1alpha1.VariantAutoscaling) {
			va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "l"}
		}),
		leaders, workers,
		livePod("l-0", ownedBy("statefulset-l"), readySince(1)),
		livePod("l-0-1", ownedBy("statefulset-l-0"), readySince(1)),
	}}
	// The scale selects nothing: ownership alone tells.
	scales := fakeScales{"l": func() (*autoscalingv1.Scale, error) {
		return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 1}}, nil
	}}
	fleet, err := New(cache, scales).Fleet(t.Context(), at(9))
	if err != nil {
		t.Fatal(err)
	}
	if len(fleet.Pods) != 1 || fleet.Pods[0].Name != "l-0" {
		t.Errorf("got %v, want the leader l-0", fleet.Pods)
	}
	if v := fleet.Variants[0]; v.Missing != "" || v.Replicas.Ready != 1 {
		t.Errorf("got %+v, want one Ready replica", v)
	}
}

// keptCache holds pods that keep their pages.
type keptCache struct {
	client.Reader
	pods []*corev1.Pod
}

func (k *keptCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	for _, p := range k.pods {
		if o.LabelSelector.Matches(labels.Set(p.Labels)) {
			list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *p)
		}
	}
	return nil
}
