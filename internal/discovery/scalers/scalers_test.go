package scalers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fakeWatches is a cache with informers, some of which are not what they should.
type fakeWatches struct {
	client.Reader             // what is not needed here panics
	objects                   []client.Object
	fail                      string          // name of the list type that cannot be read
	missing, unsynced, broken map[string]bool // by kind
	asked                     int             // for ScaledObjects
}

// List holds HPAs as the manager's cache does: stripped.
func (f *fakeWatches) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if f.fail != "" && strings.HasSuffix(fmt.Sprintf("%T", list), "."+f.fail) {
		return errors.New("boom")
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	for _, object := range f.objects {
		if o.Namespace != "" && o.Namespace != object.GetNamespace() {
			continue
		}
		switch l := list.(type) {
		case *autoscalingv2.HorizontalPodAutoscalerList:
			if h, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				l.Items = append(l.Items, *Strip(h.DeepCopy()))
			}
		case *unstructured.UnstructuredList:
			if u, ok := object.(*unstructured.Unstructured); ok {
				l.Items = append(l.Items, *u.DeepCopy())
			}
		default:
			return fmt.Errorf("unexpected list %T", list)
		}
	}
	return nil
}

func (f *fakeWatches) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	kind := scaling.KindHPA
	if _, ok := object.(*unstructured.Unstructured); ok {
		kind = scaling.KindScaledObject
		f.asked++
	}
	switch {
	case f.missing[kind]:
		return nil, &meta.NoKindMatchError{}
	case f.broken[kind]:
		return nil, errors.New("boom")
	}
	return fakeInformer{synced: !f.unsynced[kind]}, nil
}

type fakeInformer struct {
	cache.Informer
	synced bool
}

func (f fakeInformer) HasSynced() bool { return f.synced }

// variantA is variant a, which scales Deployment a.
var variantA = []scaling.Variant{{Key: scaling.VariantKey{Namespace: "ns", Name: "a"}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "a"}}}

// at is a time, in seconds after another.
func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

// reading is a metric of one's own with a selector, for an average of 1.
func reading(name string, selector map[string]string) autoscalingv2.MetricSpec {
	one := resource.MustParse("1")
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: name, Selector: &metav1.LabelSelector{MatchLabels: selector}},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &one},
	}}
}

// follower is an HPA of Deployment a that reads the decision on variant a.
func follower(change ...func(*autoscalingv2.HorizontalPodAutoscaler)) *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "h"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "a"},
			MaxReplicas:    7,
			Metrics:        []autoscalingv2.MetricSpec{reading("wva_desired_replicas", map[string]string{"variant_name": "a"})},
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue},
		}},
	}
	for _, f := range change {
		f(h)
	}
	return h
}

// keda is a ScaledObject s of Deployment a that reads the decision on variant a.
func keda(change ...func(map[string]any)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(scaledObjectKind)
	u.SetNamespace("ns")
	u.SetName("s")
	spec := map[string]any{
		"scaleTargetRef": map[string]any{"name": "a"},
		"triggers": []any{map[string]any{"type": "prometheus", "metadata": map[string]any{
			"query": `wva_desired_replicas{variant_name="a",exported_namespace="ns"}`, "threshold": "1",
		}}},
	}
	for _, f := range change {
		f(spec)
	}
	u.Object["spec"] = spec
	return u
}

// what an HPA, and a ScaledObject with one, are by default.
var (
	byDefault = scaling.Scaler{
		Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 7},
		Up:   scaling.ScalerRules{Tolerance: 0.1, Period: 15 * time.Second},
		Down: scaling.ScalerRules{Tolerance: 0.1, Window: 5 * time.Minute, Period: 15 * time.Second},
	}
	byKEDA = scaling.Scaler{Kind: scaling.KindScaledObject, Name: "s", Bounds: scaling.Bounds{Max: 100}, Up: byDefault.Up, Down: byDefault.Down}
)

func TestScalersOfATarget(t *testing.T) {
	yes := true
	with := func(s scaling.Scaler, change func(*scaling.Scaler)) scaling.Scaler {
		change(&s)
		return s
	}
	says := func(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason string) func(*autoscalingv2.HorizontalPodAutoscaler) {
		return func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Status.Conditions = append(h.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
				Type: kind, Status: status, Reason: reason, Message: "words", LastTransitionTime: metav1.NewTime(at(5)),
			})
		}
	}
	noHPA := func(s *scaling.Scaler) {
		s.Unread = scaling.Trouble{Reason: "NoHorizontalPodAutoscaler", Message: "KEDA has not made its HorizontalPodAutoscaler yet"}
	}
	made := func(h *autoscalingv2.HorizontalPodAutoscaler) { // by KEDA
		h.Name, h.Spec.Metrics = "keda-hpa-s", []autoscalingv2.MetricSpec{reading("s0-prometheus", nil)}
		h.OwnerReferences = []metav1.OwnerReference{{Kind: scaling.KindScaledObject, Name: "s", Controller: &yes}}
	}
	tests := map[string]struct {
		objects []client.Object
		want    []scaling.Scaler
	}{
		"none":                {nil, nil},
		"an HPA":              {[]client.Object{follower()}, []scaling.Scaler{byDefault}},
		"of another target":   {[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Name = "b" })}, nil},
		"of another kind":     {[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Kind = "StatefulSet" })}, nil},
		"in another place":    {[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Namespace = "elsewhere" })}, nil},
		"another API version": {[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.APIVersion = "apps/v1beta2" })}, []scaling.Scaler{byDefault}},
		"two of them": {
			[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name = "i" }), follower()},
			[]scaling.Scaler{byDefault, with(byDefault, func(s *scaling.Scaler) { s.Name = "i" })},
		},
		"its own rules": {
			[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.MinReplicas, h.Status.DesiredReplicas = new(int32(2)), 5
				h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleUp: &autoscalingv2.HPAScalingRules{
						Tolerance: new(resource.MustParse("50m")), StabilizationWindowSeconds: new(int32(30)),
						Policies: []autoscalingv2.HPAScalingPolicy{{PeriodSeconds: 60}, {PeriodSeconds: 20}},
					},
					ScaleDown: &autoscalingv2.HPAScalingRules{SelectPolicy: new(autoscalingv2.DisabledPolicySelect)},
				}
			})},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) {
				s.Bounds.Min, s.Asks, s.Down.Disabled = 2, 5, true
				s.Up = scaling.ScalerRules{Tolerance: 0.05, Explicit: true, Window: 30 * time.Second, Period: time.Minute}
			})},
		},
		"cannot read": {
			[]client.Object{follower(says(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetExternalMetric"))},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) {
				s.Inactive = scaling.Trouble{Reason: "FailedGetExternalMetric", Message: "words", Since: at(5)}
			})},
		},
		"shares its pods": { // in words that list the others in any order
			[]client.Object{follower(says(autoscalingv2.ScalingActive, corev1.ConditionFalse, "AmbiguousSelector"))},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) { s.Inactive = scaling.Trouble{Reason: "AmbiguousSelector", Since: at(5)} })},
		},
		"at zero": {
			[]client.Object{follower(says(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled"))},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) { s.AtZero = true })},
		},
		"may not scale": {
			[]client.Object{follower(says(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedUpdateScale"))},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) { s.Unable = scaling.Trouble{Reason: "FailedUpdateScale", Message: "words"} })},
		},
		"all is well": {
			[]client.Object{follower(says(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound"),
				says(autoscalingv2.ScalingLimited, corev1.ConditionFalse, "DesiredWithinRange"))},
			[]scaling.Scaler{byDefault},
		},
		"that no controller synced": {
			[]client.Object{follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Status.Conditions = nil })},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) {
				s.Unread = scaling.Trouble{Reason: "NotSynced", Message: "the controller of HorizontalPodAutoscalers has not looked at it yet"}
			})},
		},
		"a ScaledObject without an HPA": {[]client.Object{keda()}, []scaling.Scaler{with(byKEDA, noHPA)}},
		"a ScaledObject and its HPA": {
			[]client.Object{keda(), follower(made, says(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled"))},
			[]scaling.Scaler{byKEDA},
		},
		"a ScaledObject whose HPA has values of other names": {
			[]client.Object{keda(), follower(made, func(h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.Metrics = append(h.Spec.Metrics, reading("wva_desired_replicas", nil))
				h.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType}}
			})},
			[]scaling.Scaler{byKEDA},
		},
		"a ScaledObject and another HPA": {[]client.Object{keda(), follower()}, []scaling.Scaler{byDefault, with(byKEDA, noHPA)}},
		"an HPA whose ScaledObject has gone": {
			[]client.Object{follower(made)},
			[]scaling.Scaler{with(byDefault, func(s *scaling.Scaler) {
				s.Name, s.Misread = "keda-hpa-s", "none of its metrics is wva_desired_replicas or wva_desired_ratio"
			})},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := New(&fakeWatches{objects: tt.objects}, clocktesting.NewFakePassiveClock(at(0))).Of(t.Context(), variantA)[variantA[0].Key]
			if diff := cmp.Diff(got, scaling.Scalers{Known: true, List: tt.want}); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestWhetherAnHPAMayGoToZeroIsKnownByTheReleaseAndByWhatHPAsShow(t *testing.T) {
	release := func(minor int) *Release {
		r := &Release{}
		r.last.Store(&scaling.Release{Major: 1, Minor: minor})
		return r
	}
	least := func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MinReplicas = new(int32(0)) }
	says := func(status corev1.ConditionStatus) func(*autoscalingv2.HorizontalPodAutoscaler) {
		return func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Status.Conditions = append(h.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScaledToZero, Status: status, Reason: "R"})
		}
	}
	elsewhere := func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name, h.Spec.ScaleTargetRef.Name = "i", "b" }
	tests := map[string]struct {
		release    *Release
		hpas       []client.Object
		known, may bool
	}{
		"not asked":                              {nil, []client.Object{follower()}, false, false},
		"no answer":                              {&Release{}, []client.Object{follower()}, false, false},
		"1.36":                                   {release(36), []client.Object{follower()}, true, false},
		"1.37":                                   {release(37), []client.Object{follower()}, true, true},
		"1.36, minReplicas 0 was taken":          {release(36), []client.Object{follower(least)}, true, true},
		"1.36, that of another target":           {release(36), []client.Object{follower(), follower(least, elsewhere)}, true, true},
		"1.36, an HPA went to zero":              {release(36), []client.Object{follower(says(corev1.ConditionTrue))}, true, true},
		"1.36, an HPA would say that it had":     {release(36), []client.Object{follower(says(corev1.ConditionFalse))}, true, true},
		"1.36, a ScaledObject with a minimum, 0": {release(36), []client.Object{keda()}, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := New(&fakeWatches{objects: tt.hpas}, clocktesting.NewFakePassiveClock(at(0)))
			r.Release = tt.release
			got := r.Of(t.Context(), variantA)[variantA[0].Key].Zero
			if want := (scaling.HPAZero{Known: tt.known, May: tt.may, Release: tt.release.known()}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestScalersAreUnknownUntilTheyAreRead(t *testing.T) {
	hpas, scaledObjects := map[string]bool{scaling.KindHPA: true}, map[string]bool{scaling.KindScaledObject: true}
	tests := map[string]struct {
		watches *fakeWatches
		want    scaling.Scalers
	}{
		"no cache at all":        {nil, scaling.Scalers{Fault: "who scales targets is not read"}},
		"HPAs not listed":        {&fakeWatches{unsynced: hpas}, scaling.Scalers{Fault: "HorizontalPodAutoscalers have not been listed yet; the manager's role must allow to list and watch them"}},
		"HPAs not watched":       {&fakeWatches{broken: hpas}, scaling.Scalers{Fault: "watching HorizontalPodAutoscalers: boom"}},
		"HPAs not read":          {&fakeWatches{fail: "HorizontalPodAutoscalerList"}, scaling.Scalers{Fault: "listing HorizontalPodAutoscalers in namespace ns: boom"}},
		"no KEDA":                {&fakeWatches{missing: scaledObjects}, scaling.Scalers{Known: true}},
		"ScaledObjects unlisted": {&fakeWatches{unsynced: scaledObjects}, scaling.Scalers{Fault: "ScaledObjects have not been listed yet; the manager's role must allow to list and watch them"}},
		"KEDA out of reach":      {&fakeWatches{broken: scaledObjects}, scaling.Scalers{Fault: "watching ScaledObjects: boom"}},
		"ScaledObjects unread":   {&fakeWatches{fail: "UnstructuredList"}, scaling.Scalers{Fault: "listing ScaledObjects in namespace ns: boom"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r *Reader
			if tt.watches != nil {
				r = New(tt.watches, clocktesting.NewFakePassiveClock(at(0)))
			}
			if diff := cmp.Diff(r.Of(t.Context(), variantA)[variantA[0].Key], tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestAClusterWithoutKEDAIsAskedNowAndThen(t *testing.T) {
	watches := &fakeWatches{missing: map[string]bool{scaling.KindScaledObject: true}}
	clk := clocktesting.NewFakePassiveClock(at(0))
	r := New(watches, clk)
	var asked []int
	for _, seconds := range []int{0, 30, 59, 60, 61} {
		clk.SetTime(at(seconds))
		r.Of(t.Context(), variantA)
		asked = append(asked, watches.asked)
	}
	if want := []int{1, 1, 1, 2, 2}; !cmp.Equal(asked, want) {
		t.Errorf("asked %v times, want %v", asked, want)
	}
}
