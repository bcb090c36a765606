package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// webhooks hang for the targets of namespace evil, and answer others at once.
type webhooks struct {
	hang time.Duration // however long it may take

	mu    sync.Mutex
	asked map[string]int // by namespace
}

func (w *webhooks) Scale(ctx context.Context, namespace string, _ scaling.TargetRef) (*autoscalingv1.Scale, error) {
	w.mu.Lock()
	w.asked[namespace]++
	w.mu.Unlock()
	if namespace == "evil" {
		select {
		case <-time.After(w.hang):
		case <-ctx.Done():
		}
		return nil, fmt.Errorf("reading: %w", ctx.Err())
	}
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}, nil
}

// reads is how many times the targets of a namespace were read.
func (w *webhooks) reads(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[namespace]
}

// things are n objects of a namespace with a target each.
func things(namespace string, n int) []*v1alpha1.VariantAutoscaling {
	var vas []*v1alpha1.VariantAutoscaling
	for i := range n {
		va := &v1alpha1.VariantAutoscaling{}
		va.Namespace, va.Name = namespace, fmt.Sprint("v", i)
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "x.example/v1", Kind: "Thing", Name: fmt.Sprint("x", i)}
		vas = append(vas, va)
	}
	return vas
}

func TestTargetsThatHangHoldUpALookForTwoSecondsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &webhooks{hang: 30 * time.Second, asked: map[string]int{}}
		reads := newScaleReads(api)
		fleet := append(things("evil", 40), things("good", 40)...)
		good := scaleTarget{"good", refOf(fleet[40])}
		var waited time.Duration
		for cycle := range 5 {
			start := time.Now()
			answers := reads.read(t.Context(), fleet, start)
			took := time.Since(start)
			if waited += took; took > scalesWithin {
				t.Errorf("cycle %d waits for %s, want at most %s", cycle, took, scalesWithin)
			}
			if answers[good].replicas != 3 || answers[good].missing != "" {
				t.Errorf("cycle %d: the target of another namespace is %+v, want 3 replicas", cycle, answers[good])
			}
			for key, a := range answers {
				if key.namespace == "evil" && !strings.Contains(a.missing, "was not answered within 2s") {
					t.Fatalf("cycle %d: %v is told %q", cycle, key, a.missing)
				}
			}
			time.Sleep(time.Second)
		}
		if waited > scalesWithin {
			t.Errorf("five cycles waited for %s in all, want %s", waited, scalesWithin)
		}
		if api.reads("good") != 5*40 {
			t.Errorf("targets that answer were read %d times, want 5 times each", api.reads("good"))
		}
		time.Sleep(missFor)
		if n := api.reads("evil"); n != 40 {
			t.Errorf("targets that hang were read %d times within %s, want once each", n, missFor)
		}
		began := time.Now()
		reads.read(t.Context(), fleet, began)
		if took := time.Since(began); took > 0 {
			t.Errorf("a look waits for %s again within %s", took, distrustFor)
		}
		time.Sleep(missFor)
		if n := api.reads("evil"); n != 80 {
			t.Errorf("targets that hang were read %d times, want again after %s", n, missFor)
		}
	})
}

// halfHanging hangs for target x0 while hangs is true, and answers for all others how many
// looks there were before.
type halfHanging struct {
	hangs bool
	looks int32
}

func (h *halfHanging) Scale(ctx context.Context, _ string, ref scaling.TargetRef) (*autoscalingv1.Scale, error) {
	if ref.Name == "x0" && h.hangs {
		<-ctx.Done()
		return nil, fmt.Errorf("reading: %w", ctx.Err())
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: h.looks}}
	time.Sleep(answersAfter)
	return scale, nil
}

// answersAfter is what an answer takes: a look that does not wait never has it.
const answersAfter = time.Millisecond

func TestALookTakesTheLastAnswersOfANamespaceWhoseTargetsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &halfHanging{hangs: true}
		reads, vas, began := newScaleReads(api), things("ns", 2), time.Now()
		for _, each := range []struct {
			at       time.Duration // since the first look
			hangs    bool
			waits    time.Duration
			replicas scaling.Replicas // that x1 has
		}{
			{0, true, scalesWithin, 0},
			{time.Minute, true, 0, 0},
			{2 * time.Minute, false, 0, 1},                        // what the look before it began to read
			{2*time.Minute + distrustFor, false, answersAfter, 3}, // asked in time again
		} {
			time.Sleep(each.at - time.Since(began))
			api.hangs = each.hangs
			before := time.Now()
			answer := reads.read(t.Context(), vas, before)[scaleTarget{"ns", refOf(vas[1])}]
			synctest.Wait()
			if took := time.Since(before); took != each.waits || answer.replicas != each.replicas || answer.missing != "" {
				t.Errorf("after %s: waits for %s, %+v, want %s and %d replicas", each.at, took, answer, each.waits, each.replicas)
			}
			api.looks++
		}
	})
}

func TestEditsOfTargetsThatHangDoNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &webhooks{hang: 30 * time.Second, asked: map[string]int{}}
		reads := newScaleReads(api)
		for edit := range 20 {
			vas := things("evil", 40)
			for _, va := range vas {
				va.Spec.ScaleTargetRef.Name += fmt.Sprint("-", edit)
			}
			reads.read(t.Context(), vas, time.Now())
		}
		time.Sleep(time.Minute)
		// 8 at once, 2s each, for the 40s of edits and the queue of the last one.
		if n := api.reads("evil"); n > 8*20+40 {
			t.Errorf("%d reads of 800 targets that were named for 2s each, want at most 200", n)
		}
		synctest.Wait()
		if len(reads.known) != 40 {
			t.Errorf("%d targets are remembered, want the 40 of now", len(reads.known))
		}
	})
}

func TestAKindThatIsNotThereIsLookedForAgainLater(t *testing.T) {
	looked := 0
	reads := newScaleReads(fakeScales{"x0": func() (*autoscalingv1.Scale, error) {
		looked++
		return nil, &meta.NoKindMatchError{}
	}})
	start := at(0)
	for _, after := range []time.Duration{0, time.Second, missFor - 1, missFor} {
		reads.read(t.Context(), things("ns", 1), start.Add(after))
	}
	if looked != 2 {
		t.Errorf("a kind that is not there was looked for %d times within %s, want twice", looked, missFor)
	}
}

func TestALookEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the manager ends"))
		start := time.Now()
		reads := newScaleReads(&webhooks{hang: time.Second, asked: map[string]int{}})
		if got := reads.read(ctx, things("evil", 1), start); len(got) != 1 || time.Since(start) > 0 {
			t.Errorf("it took %s to answer %v", time.Since(start), got)
		}
		time.Sleep(time.Minute) // for the read to end
	})
}
