package subresource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var (
	now     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	keyV    = scaling.VariantKey{Namespace: "n", Name: "v"}
	modelM  = scaling.ModelKey{Namespace: "n", ID: "m"}
	targetD = scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}

	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
)

// world holds a TargetScaler and all its dependencies.
type world struct {
	objects  map[client.ObjectKey]*v1alpha1.VariantAutoscaling
	pods     map[string]*corev1.Pod
	scalers  scaling.Scalers
	replicas int32    // of the target now
	refuse   []error  // of the next calls to set a scale
	before   func()   // what happens between reading and setting a scale
	patches  []string // of pods
	denied   error    // of patching
	counted  []metrics.Outcome

	mu   sync.Mutex
	sets []int32
}

// newWorld has variant v, whose object asks for a, and a target of current replicas.
func newWorld(a scaling.Actuation, current int32) *world {
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "v", Annotations: map[string]string{v1alpha1.AnnotationActuation: string(a)},
	}}
	va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: "d"}
	return &world{
		objects:  map[client.ObjectKey]*v1alpha1.VariantAutoscaling{client.ObjectKeyFromObject(va): va},
		pods:     map[string]*corev1.Pod{},
		scalers:  scaling.Scalers{Own: a, Known: true},
		replicas: current,
	}
}

func (w *world) hand() *TargetScaler {
	return New(Options{Objects: w, Scalers: w, Scales: w, Pods: w, Count: func(o metrics.Outcome) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counted = append(w.counted, o)
	}})
}

func (w *world) va() *v1alpha1.VariantAutoscaling {
	return w.objects[client.ObjectKey{Namespace: "n", Name: "v"}]
}

func (w *world) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	va, ok := w.objects[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	va.DeepCopyInto(into.(*v1alpha1.VariantAutoscaling))
	return nil
}

func (w *world) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list := into.(*corev1.PodList)
	for _, p := range w.pods {
		list.Items = append(list.Items, *p)
	}
	return nil
}

func (w *world) Scalers(scaling.VariantKey) scaling.Scalers { return w.scalers }

func (w *world) Scale(context.Context, string, scaling.TargetRef) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d"}, Spec: autoscalingv1.ScaleSpec{Replicas: w.replicas}}, nil
}

func (w *world) SetScale(ctx context.Context, target scaling.TargetRef, scale *autoscalingv1.Scale) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.before != nil {
		w.before()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if target != targetD {
		return fmt.Errorf("not the target: %s", target)
	}
	if len(w.refuse) > 0 {
		err := w.refuse[0]
		w.refuse = w.refuse[1:]
		return fmt.Errorf("setting the scale: %w", err)
	}
	w.replicas = scale.Spec.Replicas
	w.sets = append(w.sets, scale.Spec.Replicas)
	return nil
}

// record is a cycle that saw current replicas and decides for desired.
func record(current, desired scaling.Replicas, change ...func(*scaling.Variant)) memory.Record {
	v := scaling.Variant{Key: keyV, Model: modelM, Target: targetD, Replicas: scaling.ReplicaCounts{Observed: true, Current: current, Ready: current}}
	for _, f := range change {
		f(&v)
	}
	d := scaling.Decision{Variant: keyV, Model: modelM, Current: current}.Then(scaling.StageOptimize, desired, scaling.ReasonSaturated, "")
	return memory.Record{Cycle: "c", Fleet: scaling.Fleet{At: now, Variants: []scaling.Variant{v}}, Plan: scaling.Plan{At: now, Decisions: []scaling.Decision{d}}}
}

func conflict() error {
	return apierrors.NewConflict(deployments, "d", errors.New("the object has been modified"))
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments/scale"}, "d",
		errors.New(`User "u" cannot update resource "deployments/scale" in API group "apps" in the namespace "n"`))
}

func TestCarryDoesWhatIsItsOwnAndNothingElse(t *testing.T) {
	hpa := func(w *world) {
		w.scalers.List = []scaling.Scaler{{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 5}}}
	}
	conflicts := func(n int) func(*world) {
		return func(w *world) {
			for range n {
				w.refuse = append(w.refuse, conflict())
			}
		}
	}
	tests := map[string]struct {
		asks    scaling.Actuation
		change  func(*world)
		record  memory.Record
		sets    []int32
		counted []metrics.Outcome
		trouble string // its reason
	}{
		"metrics":                        {"metrics", nil, record(1, 3), nil, nil, ""},
		"scale":                          {"scale", nil, record(1, 3), []int32{3}, []metrics.Outcome{metrics.Success}, ""},
		"as decided":                     {"scale", nil, record(1, 1), nil, nil, ""},
		"scale beside an HPA":            {"scale", hpa, record(1, 3), nil, nil, ""},
		"zero, above":                    {"zero", hpa, record(1, 3), nil, nil, ""},
		"zero, to zero":                  {"zero", hpa, record(1, 0), []int32{0}, []metrics.Outcome{metrics.Success}, ""},
		"zero, another was faster":       {"zero", hpa, record(0, 3), nil, nil, ""}, // there is one by now
		"the target moved":               {"scale", nil, record(2, 3), []int32{3}, []metrics.Outcome{metrics.Success}, ""},
		"the target is there":            {"scale", nil, record(2, 1), nil, nil, ""},
		"the target was not read":        {"scale", nil, record(1, 3, func(v *scaling.Variant) { v.Replicas.Observed = false }), nil, nil, ""},
		"paused":                         {"scale", nil, record(1, 3, func(v *scaling.Variant) { v.Paused = true }), nil, nil, ""},
		"paused meanwhile":               {"scale", func(w *world) { w.va().Annotations[v1alpha1.AnnotationPaused] = "true" }, record(1, 3), nil, nil, ""},
		"asks no more":                   {"scale", func(w *world) { w.va().Annotations = nil }, record(1, 3), nil, nil, ""},
		"asks for less":                  {"scale", func(w *world) { w.va().Annotations[v1alpha1.AnnotationActuation] = "zero" }, record(1, 3), nil, nil, ""},
		"another target meanwhile":       {"scale", func(w *world) { w.va().Spec.ScaleTargetRef.Name = "e" }, record(1, 3), nil, nil, ""},
		"being deleted":                  {"scale", func(w *world) { w.va().DeletionTimestamp = &metav1.Time{Time: now} }, record(1, 3), nil, nil, ""},
		"gone":                           {"scale", func(w *world) { clear(w.objects) }, record(1, 3), nil, nil, ""},
		"a conflict":                     {"scale", conflicts(1), record(1, 3), []int32{3}, []metrics.Outcome{metrics.Success}, ""},
		"conflicts without end":          {"scale", conflicts(attempts), record(1, 3), nil, []metrics.Outcome{metrics.Conflict}, "Conflict"},
		"forbidden":                      {"scale", func(w *world) { w.refuse = []error{forbidden()} }, record(1, 3), nil, []metrics.Outcome{metrics.Forbidden}, "Forbidden"},
		"the API server does not answer": {"scale", func(w *world) { w.refuse = []error{context.DeadlineExceeded} }, record(1, 3), nil, []metrics.Outcome{metrics.Failure}, "Timeout"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tt.asks, 1)
			if tt.change != nil {
				tt.change(w)
			}
			h := w.hand()
			h.Carry(t.Context(), tt.record)
			if diff := cmp.Diff(tt.sets, w.sets); diff != "" {
				t.Errorf("scales set (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.counted, w.counted); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			if trouble, known := h.Trouble(keyV); trouble.Reason != tt.trouble || !known {
				t.Errorf("trouble %+v, known: %t; want %q", trouble, known, tt.trouble)
			}
		})
	}
}

func TestAConflictIsDecidedAnew(t *testing.T) {
	w := newWorld("zero", 0)
	w.refuse = []error{conflict()}
	w.before = func() { w.replicas = 2 } // a faster client started two
	w.hand().Carry(t.Context(), record(0, 1))
	if len(w.sets) != 0 || w.replicas != 2 {
		t.Errorf("set %v, the target has %d: what another started was undone", w.sets, w.replicas)
	}
}

func TestAProcessThatStopsSetsNothingAndIsInNoTrouble(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld("scale", 1)
	w.before = cancel
	h := w.hand()
	h.Carry(ctx, record(1, 3))
	if trouble, known := h.Trouble(keyV); len(w.sets) != 0 || len(w.counted) != 0 || known || trouble.Reason != "" {
		t.Errorf("set %v, counted %v, trouble %+v, known: %t", w.sets, w.counted, trouble, known)
	}
}

func TestTroubleIsToldWhenItBeginsAndWhenItEnds(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	w := newWorld("scale", 1)
	h := w.hand()
	told := h.Watch()
	step := func(what string, want bool, refuse ...error) {
		t.Helper()
		w.refuse = refuse
		h.Carry(ctx, record(1, 3))
		got := false
		select {
		case <-told:
			got = true
		default:
		}
		if got != want {
			t.Errorf("%s: told %t, want %t", what, got, want)
		}
	}
	step("it begins", true, forbidden())
	step("it lasts", false, forbidden())
	step("it is another", true, context.DeadlineExceeded)
	step("it ends", true)
	step("there is nothing to do", false)
	h.Clear()
	if _, known := h.Trouble(keyV); known {
		t.Error("known after another leads")
	}
	if len(lines) != 3 { // two refusals, one success
		t.Errorf("logged %q", lines)
	}
}

func TestTroubleNamesWhatIsMissingAndNothingThatMoves(t *testing.T) {
	webhook := apierrors.NewForbidden(deployments, "d", errors.New("admission webhook \"w\" denied the request: frozen"))
	tests := map[string]struct {
		err  error
		want scaling.Trouble
	}{
		"a role": {fmt.Errorf("setting: %w", forbidden()), scaling.Trouble{
			Reason: "Forbidden",
			Message: `the manager may not update deployments/scale of API group "apps". ` +
				"Bind the ClusterRole workload-variant-autoscaler-scaler-role to its account",
		}},
		"a webhook":     {fmt.Errorf("setting: %w", webhook), scaling.Trouble{Reason: "Forbidden", Message: `deployments.apps "d" is forbidden: admission webhook "w" denied the request: frozen`}},
		"conflicts":     {conflict(), scaling.Trouble{Reason: "Conflict", Message: "the target was changed by another writer each of 5 times"}},
		"no scale":      {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", deployments, "d", "", 0, true), scaling.Trouble{Reason: "NotFound", Message: "it does not exist, or has no scale subresource"}},
		"no answer":     {fmt.Errorf("setting: %w", context.DeadlineExceeded), scaling.Trouble{Reason: "Timeout", Message: "the API server did not answer within 2s"}},
		"anything else": {errors.New("boom"), scaling.Trouble{Reason: "Failed", Message: "boom"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, troubleOf(tt.err).Trouble); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
