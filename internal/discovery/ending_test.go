package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAPodOfTheCacheKeepsWhatSaysWhenItGoes(t *testing.T) {
	const cost, note = corev1.PodDeletionCost, "kubectl.kubernetes.io/restartedAt"
	tests := map[string]struct{ has, want map[string]string }{
		"nothing":         {nil, nil},
		"something else":  {map[string]string{note: "now"}, nil},
		"a cost":          {map[string]string{note: "now", cost: "5"}, map[string]string{cost: "5"}},
		"a mark of ours":  {map[string]string{cost: "-1", v1alpha1.AnnotationMarked: "v"}, map[string]string{cost: "-1", v1alpha1.AnnotationMarked: "v"}},
		"no cost by name": {map[string]string{v1alpha1.AnnotationMarked: ""}, map[string]string{v1alpha1.AnnotationMarked: ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := livePod("a", func(p *corev1.Pod) { p.Annotations = tt.has })
			stripped, err := strip(pod)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, stripped.(*corev1.Pod).Annotations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			pod.Status.PodIP = "10.0.0.1"
			withPage, err := stripKeepingPages(labels.Everything())(pod)
			if err != nil {
				t.Fatal(err)
			}
			got := withPage.(*corev1.Pod).Annotations
			delete(got, annotationPage)
			if diff := cmp.Diff(len(tt.want), len(got)); diff != "" || pod.Annotations[annotationPage] != "" {
				t.Errorf("beside the page of its metrics: %v", got)
			}
		})
	}
}

// TestAFleetTellsWhatItsObjectsAskAndHowLongTheirPodsTakeToEnd reads both through a
// cache as a manager has it.
func TestAFleetTellsWhatItsObjectsAskAndHowLongTheirPodsTakeToEnd(t *testing.T) {
	asks := func(value string) func(*v1alpha1.VariantAutoscaling) {
		return func(va *v1alpha1.VariantAutoscaling) {
			va.Annotations = map[string]string{v1alpha1.AnnotationActuation: value}
		}
	}
	slow := deployment("slow", nil)
	slow.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(90))
	cluster := New(&fakeCache{objects: []client.Object{
		variant("a", targeting("Deployment", "slow"), asks("zero")), variant("b", asks("yes")), variant("c"), slow,
	}}, fakeScales{})
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
	if got := cluster.GracePeriod(key("a")); got != 0 {
		t.Errorf("before the first fleet pods take %s", got)
	}
	if _, err := cluster.Fleet(t.Context(), at(0)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		own   scaling.Actuation
		grace time.Duration
	}{
		"a": {scaling.ActuationZero, 90 * time.Second},
		"b": {},
		"c": {},
	} {
		if own, grace := cluster.Scalers(key(name)).Own, cluster.GracePeriod(key(name)); own != want.own || grace != want.grace {
			t.Errorf("%s: asks for %q and takes %s to end, want %q and %s", name, own, grace, want.own, want.grace)
		}
	}
}
