package actuator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// notes records the events, each with the object that it goes to.
type notes []string

func (n *notes) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	*n = append(*n, fmt.Sprintf("%s: %s %s %s: %s", regarding.(client.Object).GetName(), kind, reason, action, fmt.Sprintf(note, args...)))
}

// named is a cache that has an object for every name but "gone".
type named struct{ client.Reader }

func (named) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if key.Name == "gone" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return nil
}

func selecting(names ...string) external.Ambiguity {
	a := external.Ambiguity{Namespace: "prod", Metric: "wva_desired_replicas", Selector: "target_kind=Deployment", Sum: "7", Cycle: "k-12"}
	for _, name := range names {
		a.Variants = append(a.Variants, scaling.VariantKey{Namespace: "prod", Name: name})
	}
	return a
}

func newAmbiguities(told *notes) (*actuator.Ambiguities, *testingclock.FakePassiveClock) {
	clock := testingclock.NewFakePassiveClock(start)
	return actuator.NewAmbiguities(actuator.AmbiguitiesOptions{Reader: named{}, Events: told, Clock: clock, Log: logr.Discard()}), clock
}

func TestEveryVariantOfAnAmbiguousSelectorIsTold(t *testing.T) {
	var told notes
	a, _ := newAmbiguities(&told)
	a.Report(t.Context(), selecting("a", "gone", "b"))
	const what = `Warning InvalidConfiguration SelectOneVariant: the selector "target_kind=Deployment" on wva_desired_replicas in namespace prod ` +
		`matches 3 variants (a, gone, b), and an autoscaler adds them up to 7: select one by variant_name; cycle k-12`
	if diff := cmp.Diff(notes{"a: " + what, "b: " + what}, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAmbiguityIsToldOnceAnHour(t *testing.T) {
	var told notes
	a, clock := newAmbiguities(&told)
	for i := range 4 * 60 * 4 { // four hours of an HPA that asks every 15 s
		clock.SetTime(start.Add(time.Duration(i) * 15 * time.Second))
		a.Report(t.Context(), selecting("a", "b"))
	}
	if len(told) != 2*4 {
		t.Errorf("got %d events on two variants in four hours, want 8", len(told))
	}
	a.Report(t.Context(), selecting("a", "b", "c"))
	if len(told) != 2*4+3 {
		t.Errorf("got %d events after another variant came in, want 11", len(told))
	}
}

func TestManyAmbiguitiesDoNotFillTheMemory(t *testing.T) {
	var told notes
	a, _ := newAmbiguities(&told)
	for i := range 5000 {
		several := selecting("a", "b")
		several.Selector = fmt.Sprintf("any=%d", i)
		a.Report(t.Context(), several)
	}
	if len(told) != 2*1000 {
		t.Errorf("got %d events, want those of 1000 ambiguities", len(told))
	}
}

func TestNoteOfAnAmbiguityFitsAnEvent(t *testing.T) {
	var told notes
	a, _ := newAmbiguities(&told)
	var names []string
	for i := range 50 {
		names = append(names, strings.Repeat("n", 250)+fmt.Sprint(i))
	}
	several := selecting(names...)
	several.Namespace, several.Selector = strings.Repeat("s", 63), strings.Repeat("ä", 1000)
	a.Report(t.Context(), several)
	if len(told) != 10 {
		t.Fatalf("got %d events, want one for each of the first ten variants", len(told))
	}
	_, note, _ := strings.Cut(told[0], "SelectOneVariant: ")
	if len(note) > 1024 || !strings.Contains(note, "and 40 more") || !strings.HasSuffix(note, "; cycle k-12") {
		t.Errorf("note of %d bytes: %s", len(note), note)
	}
}
