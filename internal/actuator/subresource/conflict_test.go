package subresource

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// at is the record of a cycle after some seconds.
func at(seconds int, r memory.Record) memory.Record {
	r.Plan.At = now.Add(time.Duration(seconds) * time.Second)
	return r
}

func TestWhatAnotherClientKeepsUndoingIsSetLessAndLessOften(t *testing.T) {
	w := newWorld("scale", 1)
	h := w.hand()
	var when []int
	for second := range 600 { // a change of the target wakes a cycle each second
		before := len(w.sets)
		w.replicas = 1 // by another
		h.Carry(t.Context(), at(second, record(1, 3)))
		if len(w.sets) > before {
			when = append(when, second)
		}
		trouble, _ := h.Trouble(keyV)
		if told := trouble.Reason == string(scaling.ReasonTargetNotMoving); told != (len(when) > revertsBeforePause) {
			t.Errorf("second %d, set %d times: trouble %+v", second, len(when), trouble)
		}
	}
	want := []int{0, 1, 2, 3, 4, 6, 10, 18, 34, 66, 126, 186, 246, 306, 366, 426, 486, 546}
	if diff := cmp.Diff(want, when); diff != "" {
		t.Errorf("set in these seconds (-want +got):\n%s", diff)
	}
}

func TestPauseEndsWhenWhatWasSetHasStayed(t *testing.T) {
	w := newWorld("scale", 1)
	h := w.hand()
	for second := range 10 {
		w.replicas = 1
		h.Carry(t.Context(), at(second, record(1, 3)))
	}
	w.replicas = 3 // the other was stopped
	h.Carry(t.Context(), at(60, record(3, 3)))
	if trouble, _ := h.Trouble(keyV); trouble.Reason == "" {
		t.Error("no trouble after a minute: a pause would end it")
	}
	h.Carry(t.Context(), at(10+120, record(3, 3)))
	if trouble, _ := h.Trouble(keyV); trouble.Reason != "" {
		t.Errorf("after two minutes: trouble %+v", trouble)
	}
	before := len(w.sets)
	for i, step := range []scaling.Replicas{4, 5, 6, 7, 8, 9} {
		h.Carry(t.Context(), at(200+i, record(scaling.Replicas(w.replicas), step)))
	}
	if got := len(w.sets) - before; got != 6 {
		t.Errorf("set %d times in six cycles that grow, want each time", got)
	}
}

func TestAnotherLeaderBeginsWithoutPause(t *testing.T) {
	w := newWorld("scale", 1)
	h := w.hand()
	step := func(second int) int {
		w.replicas = 1
		before := len(w.sets)
		h.Carry(t.Context(), at(second, record(1, 3)))
		return len(w.sets) - before
	}
	for second := range 20 {
		step(second)
	}
	if step(20) != 0 {
		t.Fatal("set without a pause after twenty times")
	}
	h.Clear()
	if step(21) != 1 {
		t.Error("not set by a process that leads again")
	}
}

func TestZeroBesideAnHPAIsNoConflict(t *testing.T) {
	w := newWorld("zero", 0)
	w.scalers.List = []scaling.Scaler{{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 9}}}
	h := w.hand()
	for i := range 10 { // started, raised by the HPA, and idle again
		w.replicas = 0
		h.Carry(t.Context(), at(2*i, record(0, 1)))
		w.replicas = 4
		h.Carry(t.Context(), at(2*i+1, record(4, 0)))
	}
	if len(w.sets) != 20 {
		t.Errorf("set %d times, want 20", len(w.sets))
	}
}

func TestARefusalInOtherWordsEachTimeIsToldOnce(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	refusal := func(webhook string, request int) error {
		return apierrors.NewForbidden(deployments, "d", fmt.Errorf("admission webhook %q denied the request: request %d is frozen", webhook, request))
	}
	w := newWorld("scale", 1)
	h := w.hand()
	told := h.Watch()
	step := func(what string, want bool, refuse ...error) (message string) {
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
		trouble, _ := h.Trouble(keyV)
		return trouble.Message
	}
	first := step("it begins", true, refusal("w", 1))
	if again := step("it lasts", false, refusal("w", 2)); again != first {
		t.Errorf("%q became %q", first, again)
	}
	step("another refuses", true, refusal("x", 3))
	step("a role is missing", true, forbidden())
	step("a webhook again", true, refusal("w", 4))
	step("a webhook still", false, refusal("w", 5))
	if len(lines) != 4 {
		t.Errorf("logged %q, want 4 lines", lines)
	}
}
