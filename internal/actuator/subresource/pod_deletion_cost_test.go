package subresource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Patch changes the annotations of a pod as a merge patch does.
func (w *world) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if w.denied != nil {
		return w.denied
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	var body struct {
		Metadata struct {
			UID         types.UID
			Annotations map[string]*string
		}
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	p := w.pods[o.GetName()]
	if p == nil || p.UID != body.Metadata.UID {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, o.GetName(), fmt.Errorf("uid %s", body.Metadata.UID))
	}
	changed := map[string]string{} // the list that was read stays as it was
	maps.Copy(changed, p.Annotations)
	for name, value := range body.Metadata.Annotations {
		if value == nil {
			delete(changed, name)
		} else {
			changed[name] = *value
		}
	}
	p.Annotations = changed
	w.patches = append(w.patches, o.GetName())
	return nil
}

// serving adds Ready pods to a world and to a record, with the requests in flight of each;
// a negative number means that the pod does not report.
func (w *world) serving(r memory.Record, held map[string]float64) memory.Record {
	s := scaling.Snapshot{Model: modelM}
	r.Fleet.Pods = nil
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if w.pods[name] == nil {
			w.pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("uid-" + name)}}
		}
		r.Fleet.Pods = append(r.Fleet.Pods, scaling.Pod{Namespace: "n", Name: name, Variant: keyV, Ready: true})
		sample := scaling.ReplicaSample{Pod: name, Variant: keyV, Ready: true, QueueLength: scaling.Measured(0, scaling.Fresh)}
		if held[name] >= 0 {
			sample.Running = scaling.Measured(held[name], scaling.Fresh)
		}
		s.Replicas = append(s.Replicas, sample)
	}
	r.Snapshots = []scaling.Snapshot{s}
	return r
}

// costs returns the costs of the pods that have one.
func (w *world) costs() map[string]string {
	out := map[string]string{}
	for name, p := range w.pods {
		if cost, ok := p.Annotations[corev1.PodDeletionCost]; ok {
			out[name] = cost + " " + p.Annotations[v1alpha1.AnnotationMarked]
		}
	}
	return out
}

func TestThePodsWithTheFewestRequestsAreMarkedOnceAndUnmarkedAfterwards(t *testing.T) {
	w := newWorld("scale", 4)
	h := w.hand()
	held := map[string]float64{"a": 9, "b": 2, "c": 0, "d": -1}
	h.Mark(t.Context(), w.serving(record(4, 2), held))
	want := map[string]string{"c": "-2 v", "b": "-1 v"}
	if diff := cmp.Diff(want, w.costs()); diff != "" {
		t.Fatalf("at the beginning of a shrink (-want +got):\n%s", diff)
	}
	held["c"], held["a"] = 20, 0 // load moves on, and the choice stands
	h.Mark(t.Context(), w.serving(record(4, 2), held))
	h.Mark(t.Context(), w.serving(record(2, 2), held)) // the target is set, no pod has gone yet
	if diff := cmp.Diff(want, w.costs()); diff != "" || len(w.patches) != 2 {
		t.Errorf("while it lasts, %d patches (-want +got):\n%s", len(w.patches), diff)
	}
	delete(held, "c")
	delete(w.pods, "c")
	h.Mark(t.Context(), w.serving(record(2, 2), held))
	if diff := cmp.Diff(map[string]string{"b": "-1 v"}, w.costs()); diff != "" {
		t.Errorf("half way (-want +got):\n%s", diff)
	}
	delete(held, "a") // another client's choice
	h.Mark(t.Context(), w.serving(record(2, 2), held))
	if costs := w.costs(); len(costs) != 0 {
		t.Errorf("afterwards: %v", costs)
	}
}

func TestAShrinkThatIsCancelledTakesItsMarksAway(t *testing.T) {
	w := newWorld("scale", 2)
	h := w.hand()
	held := map[string]float64{"a": 1, "b": 2}
	h.Mark(t.Context(), w.serving(record(2, 1), held))
	if len(w.costs()) != 1 {
		t.Fatalf("marked %v", w.costs())
	}
	another := w.hand() // also by another process
	another.Mark(t.Context(), w.serving(record(2, 2), held))
	if costs := w.costs(); len(costs) != 0 {
		t.Errorf("left behind: %v", costs)
	}
}

func TestNothingIsMarkedWhereItIsNotOurs(t *testing.T) {
	tests := map[string]struct {
		asks   scaling.Actuation
		change func(*world)
		record memory.Record
	}{
		"metrics":                    {"metrics", nil, record(2, 1)},
		"beside an HPA, with scale":  {"scale", func(w *world) { w.scalers.List = []scaling.Scaler{{Kind: scaling.KindHPA}} }, record(2, 1)},
		"growth":                     {"scale", nil, record(2, 3)},
		"to zero":                    {"scale", nil, record(2, 0)},
		"enough are not Ready":       {"scale", nil, record(3, 2)},
		"paused":                     {"scale", nil, record(2, 1, func(v *scaling.Variant) { v.Paused = true })},
		"a StatefulSet":              {"scale", nil, record(2, 1, func(v *scaling.Variant) { v.Target.Kind = "StatefulSet" })},
		"a Deployment of others":     {"scale", nil, record(2, 1, func(v *scaling.Variant) { v.Target.APIVersion = "other.example/v1" })},
		"the user has costs himself": {"scale", func(w *world) { w.pods["a"].Annotations = map[string]string{corev1.PodDeletionCost: "5"} }, record(2, 1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tt.asks, 2)
			r := w.serving(tt.record, map[string]float64{"a": 0, "b": 1})
			if tt.change != nil {
				tt.change(w)
			}
			w.hand().Mark(t.Context(), r)
			if len(w.patches) != 0 {
				t.Errorf("patched %v", w.patches)
			}
		})
	}
}

func TestMarksFollowWhatAnHPAShrinks(t *testing.T) {
	w := newWorld("zero", 3)
	w.scalers.List = []scaling.Scaler{{Kind: scaling.KindHPA, Bounds: scaling.Bounds{Min: 1, Max: 5}}}
	w.hand().Mark(t.Context(), w.serving(record(3, 2), map[string]float64{"a": 3, "b": 1, "c": 2}))
	if diff := cmp.Diff(map[string]string{"b": "-1 v"}, w.costs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThatPodsMayNotBeMarkedIsLoggedOnce(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	w := newWorld("scale", 2)
	h := w.hand()
	held := map[string]float64{"a": 1, "b": 2}
	w.denied = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a",
		fmt.Errorf(`User "u" cannot patch resource "pods" in API group "" in the namespace "n"`))
	for range 2 {
		h.Mark(ctx, w.serving(record(2, 1), held))
	}
	h.Mark(ctx, w.serving(record(2, 2), held)) // nothing to do is no news
	if len(lines) != 1 || !strings.Contains(lines[0], "bind the ClusterRole workload-variant-autoscaler-pod-marker-role") {
		t.Errorf("logged %q, want one line that names the role", lines)
	}
	w.denied = nil
	h.Mark(ctx, w.serving(record(2, 1), held))
	if len(lines) != 2 || !strings.Contains(lines[1], "marked again") {
		t.Errorf("logged %q, want that it works again", lines)
	}
}
