package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// starting is a cluster with one variant of model m, whose pods come and go.
type starting struct {
	*Cluster
	cache   *fakeCache
	variant *v1alpha1.VariantAutoscaling
}

func newStarting() *starting {
	s := &starting{cache: &fakeCache{}, variant: variant("v", targeting("Deployment", "d"))}
	s.Cluster = New(s.cache, fakeScales{})
	return s
}

// sees returns the variant as a fleet of so many seconds sees it with these pods.
func (s *starting) sees(t *testing.T, seconds int, pods ...*corev1.Pod) scaling.Variant {
	t.Helper()
	two := int32(2)
	s.cache.objects = []client.Object{s.variant, deployment("d", &two), replicaSet("d-1", "d")}
	for _, p := range pods {
		s.cache.objects = append(s.cache.objects, p)
	}
	fleet, err := s.Fleet(t.Context(), at(seconds))
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Variants[0]
}

// serving is a pod of the variant, created and taken by a kubelet at a second.
func serving(name string, created int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := livePod(name, append(change, ownedBy("replicaset-d-1"))...)
	p.UID = types.UID(name + "-0000000")
	p.CreationTimestamp, p.Status.StartTime = metav1.NewTime(at(created)), &metav1.Time{Time: at(created)}
	return p
}

func unreadySince(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at(seconds))})
	}
}

func withRestarts(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 1}}
}

func TestAReadinessProbeThatFailedIsNoStartUp(t *testing.T) {
	const m = 60
	type look struct {
		at   int
		pods []*corev1.Pod
		want time.Duration
	}
	tests := map[string][]look{
		"one of 50 minutes of age, at the first look": {
			{50 * m, []*corev1.Pod{serving("a", 0, readySince(49*m))}, 0},
		},
		"both of two, at the first look": {
			{50 * m, []*corev1.Pod{serving("a", 0, readySince(49*m)), serving("b", 5*m, readySince(49*m))}, 0},
		},
		"one beside another": {
			{50 * m, []*corev1.Pod{serving("a", 0, readySince(49*m)), serving("b", 46*m, readySince(49*m))}, 3 * time.Minute},
		},
		"one that was seen to start": {
			{1 * m, []*corev1.Pod{serving("a", 0, unreadySince(1))}, 0},
			{3 * m, []*corev1.Pod{serving("a", 0, readySince(2*m))}, 2 * time.Minute},
			{50 * m, []*corev1.Pod{serving("a", 0, unreadySince(49*m))}, 2 * time.Minute},
			{51 * m, []*corev1.Pod{serving("a", 0, readySince(50*m))}, 2 * time.Minute},
		},
		"one that is not Ready at the first look": {
			{50 * m, []*corev1.Pod{serving("a", 0, unreadySince(49*m))}, 0},
			{51 * m, []*corev1.Pod{serving("a", 0, readySince(50*m))}, 0},
		},
		"one whose container was restarted": {
			{9 * m, []*corev1.Pod{serving("a", 0, readySince(8*m), withRestarts)}, 0},
		},
	}
	for name, looks := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStarting()
			for _, l := range looks {
				if got := s.sees(t, l.at, l.pods...).StartUp; got != l.want {
					t.Errorf("usual start-up after %s: got %s, want %s", time.Duration(l.at)*time.Second, got, l.want)
				}
			}
		})
	}
}

func TestAPodThatWasSeenBeforeItsFirstReadyCounts(t *testing.T) {
	const m = 60
	tests := map[string]struct {
		pods  []*corev1.Pod // at minute 1
		ready *corev1.Pod   // at minute 40
		want  time.Duration
	}{
		"a model that loads for long":          {[]*corev1.Pod{serving("a", 0, unreadySince(2))}, serving("a", 0, readySince(35*m)), 35 * time.Minute},
		"before the kubelet took it":           {[]*corev1.Pod{serving("a", 0)}, serving("a", 0, readySince(35*m)), 35 * time.Minute},
		"its container was restarted meantime": {[]*corev1.Pod{serving("a", 0, unreadySince(2), withRestarts)}, serving("a", 0, readySince(12*m), withRestarts), 12 * time.Minute},
		"within a second":                      {[]*corev1.Pod{serving("a", 50)}, serving("a", 50, readySince(50)), time.Second},
		"another pod was seen":                 {[]*corev1.Pod{serving("b", 0)}, serving("a", 0, readySince(35*m)), 0},
		"it waited for a node for over an hour": {
			[]*corev1.Pod{serving("a", -60*m)}, serving("a", -60*m, readySince(5*m)), 0,
		},
		"its clock is behind": {[]*corev1.Pod{serving("a", 10)}, serving("a", 10, readySince(9)), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStarting()
			s.sees(t, m, tt.pods...)
			if got := s.sees(t, 40*m, tt.ready).StartUp; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestStartUpsAreRememberedWithoutAPod(t *testing.T) {
	s := newStarting()
	s.sees(t, 0, serving("a", 0), serving("b", 0), serving("c", 0))
	got := s.sees(t, 400, serving("a", 0, readySince(360)), serving("b", 0, readySince(300)), serving("c", 0, readySince(390)))
	want := scaling.Variant{StartUp: 6 * time.Minute, SlowStartUp: 390 * time.Second, StartUps: 3}
	same := func(when string, v scaling.Variant) {
		t.Helper()
		is := scaling.Variant{StartUp: v.StartUp, SlowStartUp: v.SlowStartUp, StartUps: v.StartUps}
		if diff := cmp.Diff(is, want); diff != "" {
			t.Errorf("%s, -got +want:\n%s", when, diff)
		}
	}
	same("while they run", got)
	same("scaled to zero", s.sees(t, 7200))
	same("while one waits", s.sees(t, 7300, serving("d", 7290, unreadySince(7291))))
	s.variant.Spec.ScaleTargetRef.Name = "gone"
	same("without its target", s.sees(t, 7400))
	s.variant.Spec.ScaleTargetRef.Name = "d"

	next := newStarting() // the manager starts again
	next.RestoreStartUps(s.AllStartUps(), at(7500))
	same("in another process", next.sees(t, 7500))
	same("which sees a pod again", next.sees(t, 7600, serving("a", 0, readySince(540))))
	for _, one := range next.StartUps(scaling.ModelKey{Namespace: "ns", ID: "m"}, "v") {
		if !one.Restored {
			t.Errorf("%+v does not count as restored", one)
		}
	}
	next.variant.Spec.ModelID = "other"
	want = scaling.Variant{}
	same("of another model", next.sees(t, 7700))
}

func TestStartUpsOfAVariantThatIsGoneAreForgottenAfterADay(t *testing.T) {
	const day = 24 * 3600
	key := scaling.ModelKey{Namespace: "ns", ID: "m"}
	s := newStarting()
	s.sees(t, 60, serving("a", 0, readySince(50)))
	s.variant = variant("w", targeting("Deployment", "d"))
	s.sees(t, day)
	if got := s.StartUps(key, "v"); len(got) != 1 {
		t.Errorf("within a day: got %v, want that of pod a", got)
	}
	s.sees(t, day+61)
	if got := s.AllStartUps()[key]; len(got) != 0 {
		t.Errorf("after a day: got %v, want none", got)
	}
}
