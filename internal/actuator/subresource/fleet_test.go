package subresource

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// fleet is many targets of one replica, each with a variant of the same name and without
// another scaler.
type fleet struct {
	client.Reader // pods are not looked for

	mu     sync.Mutex
	silent map[string]bool // targets whose webhook does not answer
	begun  []string        // targets of which the scale was read, in order
	set    map[string]int
	now    map[string]int // in one namespace, at this moment
	most   map[string]int
}

func newFleet(silent ...string) *fleet {
	f := &fleet{silent: map[string]bool{}, set: map[string]int{}, now: map[string]int{}, most: map[string]int{}}
	for _, name := range silent {
		f.silent[name] = true
	}
	return f
}

func (f *fleet) hand() *TargetScaler {
	return New(Options{Objects: f, Scalers: f, Scales: f, Count: func(metrics.Outcome) {}})
}

func (f *fleet) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	va := into.(*v1alpha1.VariantAutoscaling)
	va.Annotations = map[string]string{v1alpha1.AnnotationActuation: "scale"}
	va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: key.Name}
	return nil
}

func (f *fleet) Scalers(scaling.VariantKey) scaling.Scalers {
	return scaling.Scalers{Own: scaling.ActuationScale, Known: true}
}

func (f *fleet) Scale(_ context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, target.Name)
	f.now[namespace]++
	f.most[namespace] = max(f.most[namespace], f.now[namespace])
	return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: target.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}, nil
}

func (f *fleet) SetScale(ctx context.Context, target scaling.TargetRef, scale *autoscalingv1.Scale) error {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now[scale.Namespace]--
	}()
	if f.silent[target.Name] {
		<-ctx.Done()
		return fmt.Errorf("setting the scale: %w", ctx.Err())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set[target.Name]++
	return nil
}

// member is a variant in a fleet.
type member struct {
	namespace, name string
}

// members returns n variants of one namespace, and their names.
func members(namespace, prefix string, n int) (out []member, names []string) {
	for i := range n {
		name := fmt.Sprintf("%s%02d", prefix, i)
		out, names = append(out, member{namespace, name}), append(names, name)
	}
	return out, names
}

// growing is a cycle that wants two replicas of each.
func growing(all ...member) memory.Record {
	r := memory.Record{Fleet: scaling.Fleet{At: now}, Plan: scaling.Plan{At: now}}
	for _, m := range all {
		v := scaling.Variant{
			Key: scaling.VariantKey{Namespace: m.namespace, Name: m.name}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: m.name},
			Replicas: scaling.ReplicaCounts{Observed: true, Current: 1},
		}
		d := scaling.Decision{Variant: v.Key, Current: 1}
		r.Fleet.Variants = append(r.Fleet.Variants, v)
		r.Plan.Decisions = append(r.Plan.Decisions, d.Then(scaling.StageOptimize, 2, scaling.ReasonSaturated, ""))
	}
	return r
}

func TestTargetsThatDoNotAnswerStopNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, names := members("a", "stuck", 40) // at eight at a time, for all of the ten seconds
		others, _ := members("b", "other", 20)
		f := newFleet(names...)
		began := time.Now()
		f.hand().Carry(t.Context(), growing(append(stuck, others...)...))
		if len(f.set) != len(others) {
			t.Errorf("%d targets were set, want the %d whose webhooks answer", len(f.set), len(others))
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s, want 10 s at most", took)
		}
		if f.most["a"] > 2 {
			t.Errorf("%d targets of one namespace at the same time, want 2 at most", f.most["a"])
		}
	})
}

func TestTargetsThatDidNotAnswerGoLastTheNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []member
		var names []string
		for i := range 25 { // in namespaces of their own: 8 at a time for 10 s are 40
			some, called := members(fmt.Sprintf("a%02d", i), fmt.Sprintf("stuck%02d-", i), 2)
			all, names = append(all, some...), append(names, called...)
		}
		last := member{"z", "last"}
		f := newFleet(names...)
		h := f.hand()
		r := growing(append(all, last)...)
		began := time.Now()
		h.Carry(t.Context(), r)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s, want 10 s at most", took)
		}
		key := scaling.VariantKey{Namespace: "z", Name: "last"}
		if trouble, _ := h.Trouble(key); trouble.Reason != notTried || f.set["last"] != 0 {
			t.Fatalf("set %d times, trouble %+v; want that it was not tried", f.set["last"], trouble)
		}
		h.Carry(t.Context(), r)
		if trouble, _ := h.Trouble(key); trouble.Reason != "" || f.set["last"] != 1 {
			t.Errorf("set %d times, trouble %+v; want once", f.set["last"], trouble)
		}
	})
}

func TestStartsFromZeroGoFirst(t *testing.T) {
	grown := func(name string) order {
		return order{variant: scaling.Variant{Key: scaling.VariantKey{Name: name}, Replicas: scaling.ReplicaCounts{Current: 1}}}
	}
	start := func(name string) order { return order{variant: scaling.Variant{Key: scaling.VariantKey{Name: name}}} }
	slow := func(key scaling.VariantKey) bool { return key.Name == "a" || key.Name == "d" }
	var got []string
	for _, o := range queue([]order{grown("a"), grown("b"), start("c"), start("d"), grown("e"), start("f")}, slow) {
		got = append(got, o.variant.Key.Name)
	}
	if diff := cmp.Diff([]string{"c", "f", "b", "e", "a", "d"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsBegunByAProcessThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, names := members("a", "stuck", 6)
		f := newFleet(names...)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		h := f.hand()
		h.Carry(ctx, growing(stuck...))
		if _, known := h.Trouble(scaling.VariantKey{Namespace: "a", Name: names[0]}); known || len(f.begun) != 2 {
			t.Errorf("began with %q, trouble known: %t; want the first two and nothing known", f.begun, known)
		}
	})
}
