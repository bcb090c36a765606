package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fakeCache holds objects as the manager's cache does: stripped.
type fakeCache struct {
	client.Reader // what is not needed here panics
	objects       []client.Object
	fail          string // name of the list type that cannot be read
}

func (f *fakeCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if strings.Contains(fmt.Sprintf("%T", list), "."+f.fail) && f.fail != "" {
		return errors.New("boom")
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	for _, object := range f.objects {
		if o.Namespace != "" && o.Namespace != object.GetNamespace() {
			continue
		}
		kept, err := strip(object.DeepCopyObject())
		if err != nil {
			return err
		}
		switch l := list.(type) {
		case *v1alpha1.VariantAutoscalingList:
			appendTo(&l.Items, kept)
		case *appsv1.DeploymentList:
			appendTo(&l.Items, kept)
		case *appsv1.StatefulSetList:
			appendTo(&l.Items, kept)
		case *corev1.PodList:
			appendTo(&l.Items, kept)
		case *metav1.PartialObjectMetadataList:
			appendTo(&l.Items, kept)
		case *autoscalingv2.HorizontalPodAutoscalerList:
			appendTo(&l.Items, kept)
		case *unstructured.UnstructuredList:
			appendTo(&l.Items, kept)
		default:
			return fmt.Errorf("unexpected list %T", list)
		}
	}
	return nil
}

// appendTo appends an object to the list of its type.
func appendTo[T any](items *[]T, object any) {
	if o, ok := object.(*T); ok {
		*items = append(*items, *o)
	}
}

// fakeScales answers by the target's name.
type fakeScales map[string]func() (*autoscalingv1.Scale, error)

func (f fakeScales) Scale(_ context.Context, _ string, target scaling.TargetRef) (*autoscalingv1.Scale, error) {
	return f[target.Name]()
}

func deployment(name string, replicas *int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("deployment-" + name)}}
	d.Spec.Replicas = replicas
	d.Spec.Template.Spec.NodeSelector = map[string]string{"nvidia.com/gpu.product": "NVIDIA-L4"}
	return d
}

func replicaSet(name, owner string) *metav1.PartialObjectMetadata {
	rs := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("replicaset-" + name), OwnerReferences: controlledBy("deployment-" + owner),
	}}
	rs.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	return rs
}

func controlledBy(uid string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{UID: "another"}, {UID: types.UID(uid), Controller: &yes}}
}

func ownedBy(uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences = controlledBy(uid) }
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

func TestFleet(t *testing.T) {
	two := int32(2)
	statefulSet := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "statefulset-s"}}
	lws := variant("c-lws", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "l"}
	})
	loser := variant("e-loser", targeting("Deployment", "d"))
	loser.CreationTimestamp = metav1.NewTime(at(99))
	cache := &fakeCache{objects: []client.Object{
		variant("a-deployment", targeting("Deployment", "d")), variant("b-set", targeting("StatefulSet", "s")), lws,
		variant("d-missing"), loser,
		deployment("d", &two), replicaSet("d-1", "d"), replicaSet("d-2", "d"), statefulSet,
		livePod("d-1-x", ownedBy("replicaset-d-1"), readySince(60), startedAt(5, 6)),
		livePod("d-2-y", ownedBy("replicaset-d-2")),
		livePod("s-0", ownedBy("statefulset-s"), readySince(30)),
		livePod("l-0", ownedBy("statefulset-l"), labelled("role", "leader"), readySince(40)),
		livePod("l-0-1", ownedBy("statefulset-l-0"), labelled("role", "worker"), readySince(40)),
		livePod("stray", labelled("app", "x"), readySince(10)),
		livePod("d-1-old", ownedBy("replicaset-d-1"), inPhase(corev1.PodFailed)),
		livePod("d-1-ending", ownedBy("replicaset-d-1"), deletedAt(110)),
		livePod("d-1-ended", ownedBy("replicaset-d-1"), deletedAt(100), inPhase(corev1.PodSucceeded)),
	}}
	scales := fakeScales{"l": func() (*autoscalingv1.Scale, error) {
		return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 1}, Status: autoscalingv1.ScaleStatus{Selector: "role=leader"}}, nil
	}}
	cluster := New(cache, scales)
	now := at(120)
	got, err := cluster.Fleet(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}

	type row struct {
		Name, Missing, Accelerator string
		Current, Ready             scaling.Replicas
		StartUp                    time.Duration
		Gone                       bool
	}
	var rows []row
	for _, v := range got.Variants {
		rows = append(rows, row{v.Key.Name, v.Missing, v.Accelerator, v.Replicas.Current, v.Replicas.Ready, v.StartUp, v.Gone})
	}
	want := []row{
		{"a-deployment", "", "L4", 2, 1, time.Minute, false},
		{"b-set", "", "", 1, 1, 30 * time.Second, false},
		{"c-lws", "", "", 1, 1, 40 * time.Second, false},
		{"d-missing", `Deployment "d-missing" not found in namespace "ns"`, "", 0, 0, 0, true},
	}
	if diff := cmp.Diff(rows, want); diff != "" {
		t.Errorf("variants, -got +want:\n%s", diff)
	}
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
	pods := []scaling.Pod{
		{Namespace: "ns", Name: "d-1-x", Variant: key("a-deployment"), Ready: true, Created: at(0), Scheduled: at(5), Started: at(6), ReadyAt: at(60)},
		{Namespace: "ns", Name: "d-2-y", Variant: key("a-deployment"), Created: at(0)},
		{Namespace: "ns", Name: "l-0", Variant: key("c-lws"), Ready: true, Created: at(0), ReadyAt: at(40)},
		{Namespace: "ns", Name: "s-0", Variant: key("b-set"), Ready: true, Created: at(0), ReadyAt: at(30)},
	}
	if diff := cmp.Diff(got.Pods, pods); diff != "" {
		t.Errorf("pods, -got +want:\n%s", diff)
	}
	if diff := cmp.Diff(got.Ending, []scaling.PodName{{Namespace: "ns", Name: "d-1-ending"}}); diff != "" {
		t.Errorf("pods that terminate, -got +want:\n%s", diff)
	}
	if !got.At.Equal(now) {
		t.Errorf("at %v, want %v", got.At, now)
	}
	rivals := []scaling.VariantKey{key("a-deployment"), key("e-loser")}
	if diff := cmp.Diff(cluster.Contenders(key("e-loser")), rivals); diff != "" {
		t.Errorf("contenders, -got +want:\n%s", diff)
	}
	if alone := cluster.Contenders(key("b-set")); alone != nil {
		t.Errorf("contenders of a variant without rivals: %v", alone)
	}
}

func TestConflictEndsByItself(t *testing.T) {
	older, younger := variant("a", targeting("Deployment", "d")), variant("b", targeting("Deployment", "d"))
	younger.CreationTimestamp = metav1.NewTime(at(5))
	cache := &fakeCache{objects: []client.Object{older, younger}}
	cluster := New(cache, fakeScales{})
	if got := cluster.Contenders(keyOf(younger)); got != nil {
		t.Errorf("before the first fleet: %v", got)
	}
	for _, step := range []struct {
		objects []client.Object
		rivals  int
		fleet   []string
	}{
		{[]client.Object{older, younger}, 2, []string{"ns/a"}},
		{[]client.Object{younger}, 0, []string{"ns/b"}},
	} {
		cache.objects = step.objects
		fleet, err := cluster.Fleet(t.Context(), at(0))
		if err != nil {
			t.Fatal(err)
		}
		var keys []scaling.VariantKey
		for _, v := range fleet.Variants {
			keys = append(keys, v.Key)
		}
		if diff := cmp.Diff(names(keys), step.fleet); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
		if got := cluster.Contenders(keyOf(younger)); len(got) != step.rivals {
			t.Errorf("got %d contenders, want %d", len(got), step.rivals)
		}
	}
}

func TestFleetFailsWhenTheCacheCannotBeRead(t *testing.T) {
	for _, list := range []string{"VariantAutoscalingList", "DeploymentList", "StatefulSetList", "PartialObjectMetadataList", "PodList"} {
		cache := &fakeCache{objects: []client.Object{variant("a")}, fail: list}
		if _, err := New(cache, fakeScales{}).Fleet(t.Context(), at(0)); err == nil {
			t.Errorf("%s: no error", list)
		}
	}
}

func TestScaleAnswersOrSaysWhyNot(t *testing.T) {
	ref := scaling.TargetRef{APIVersion: "g/v1", Kind: "Thing", Name: "x"}
	notFoundError := apierrors.NewNotFound(schema.GroupResource{Group: "g", Resource: "things"}, "x")
	noKind := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Thing"}}
	tests := map[string]struct {
		scale autoscalingv1.Scale
		err   error
		want  string
		gone  bool
	}{
		"found":         {autoscalingv1.Scale{Status: autoscalingv1.ScaleStatus{Selector: "a=b"}}, nil, "", false},
		"not found":     {autoscalingv1.Scale{}, fmt.Errorf("reading: %w", notFoundError), `Thing "x" not found in namespace "ns", or it has no scale subresource`, true},
		"no such kind":  {autoscalingv1.Scale{}, fmt.Errorf("reading: %w", noKind), `Thing "x" not found in namespace "ns": the cluster has no such kind in g/v1`, true},
		"other error":   {autoscalingv1.Scale{}, errors.New("boom"), "boom", false},
		"no selector":   {autoscalingv1.Scale{}, nil, `the scale of Thing "x" in namespace "ns" does not select its pods: status.selector is ""`, false},
		"bad selectors": {autoscalingv1.Scale{Status: autoscalingv1.ScaleStatus{Selector: "=,"}}, nil, `the scale of Thing "x" in namespace "ns" does not select its pods: status.selector is "=,"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := workloads{namespace: "ns"}.target(ref, answerOf(&tt.scale, tt.err, ref, "ns"))
			if got.missing != tt.want {
				t.Errorf("got %q, want %q", got.missing, tt.want)
			}
			if got.gone != tt.gone {
				t.Errorf("gone %t, want %t", got.gone, tt.gone)
			}
		})
	}
}

// TestPodsOfATargetAreKnownWithoutItsScale: those that it owns, unless it is gone.
func TestPodsOfATargetAreKnownWithoutItsScale(t *testing.T) {
	ref := scaling.TargetRef{APIVersion: "g/v1", Kind: "Thing", Name: "x"}
	w := workloads{
		namespace: "ns", parts: map[workloadName][]types.UID{{"Thing", "x"}: {"set"}},
		owned: map[types.UID][]pod{"set": {{namespace: "ns", name: "x-0", ready: true}}},
	}
	for _, gone := range []bool{false, true} {
		want := []string{"x-0"}
		if gone {
			want = nil
		}
		c := claims{}
		c.add(scaling.VariantKey{Namespace: "ns", Name: "a"}, w.target(ref, scaleAnswer{missing: "why", gone: gone}))
		var got []string
		for _, p := range c.pods() {
			got = append(got, p.Name)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("gone %t, -got +want:\n%s", gone, diff)
		}
	}
}

func TestKindsWithAnInformer(t *testing.T) {
	tests := map[scaling.TargetRef]bool{
		{APIVersion: "apps/v1", Kind: "Deployment"}:                          true,
		{APIVersion: "apps/v1beta2", Kind: "StatefulSet"}:                    true,
		{APIVersion: "apps/v1", Kind: "ReplicaSet"}:                          false,
		{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet"}:          false,
		{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet"}: false,
		{APIVersion: "v1", Kind: "ReplicationController"}:                    false,
		{APIVersion: "too/many/parts", Kind: "Deployment"}:                   false,
	}
	for ref, want := range tests {
		if got := hasInformer(ref); got != want {
			t.Errorf("%s %s: got %v, want %v", ref.APIVersion, ref.Kind, got, want)
		}
	}
}
