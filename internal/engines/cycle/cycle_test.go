package cycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// world is all ends of a cycle. It notes in which order they are used.
type world struct {
	calls   []string
	fault   string
	lost    error // of the cluster
	deaf    error // of the actuator
	history scaling.History
	last    scaling.Record
}

func (w *world) Fleet(_ context.Context, now time.Time) (scaling.Fleet, error) {
	w.calls = append(w.calls, "fleet")
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	return scaling.Fleet{At: now, Variants: []scaling.Variant{{
		Key: scaling.VariantKey{Namespace: "ns", Name: "v"}, Model: model, Bounds: scaling.Unbounded(),
		Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2},
	}}}, w.lost
}

func (w *world) Collect(_ context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	w.calls = append(w.calls, "collect")
	m := fleet.Models()[0]
	return []scaling.Snapshot{{Model: m.Model, At: fleet.At, Variants: m.Variants, Fault: w.fault}}
}

func (w *world) Apply(_ context.Context, r scaling.Record) error {
	w.calls = append(w.calls, fmt.Sprintf("apply cycle %s", r.Cycle))
	return w.deaf
}

func (w *world) History() scaling.History { return w.history }

func (w *world) Record(r scaling.Record) {
	w.calls = append(w.calls, fmt.Sprintf("record cycle %s", r.Cycle))
	w.history, w.last = r.History, r
}

func newCycle(w *world) *Cycle {
	return &Cycle{Process: "p", Clock: testingclock.NewFakePassiveClock(now), Cluster: w, Collector: w, Analyze: analyze, Recorder: w, Actuator: w}
}

func TestAPlanIsRecordedBeforeItIsPublished(t *testing.T) {
	w := &world{}
	if err := newCycle(w).Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fleet", "collect", "record cycle p-1", "apply cycle p-1"}, w.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if w.last.Interval != time.Minute || len(w.last.Plan.Decisions) != 1 || w.last.Plan.Decisions[0].Target() != 2 {
		t.Errorf("recorded %+v", w.last)
	}
}

func TestALostClusterDecidesNothing(t *testing.T) {
	w := &world{lost: errors.New("no cache")}
	if err := newCycle(w).Run(t.Context(), time.Minute); !errors.Is(err, w.lost) {
		t.Errorf("error %v, want that of the cluster", err)
	}
	if slices.ContainsFunc(w.calls, func(c string) bool { return c != "fleet" }) {
		t.Errorf("went on: %v", w.calls)
	}
}

func TestAnEndedContextPublishesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &world{}
	if err := newCycle(w).Run(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if slices.ContainsFunc(w.calls, func(c string) bool { return strings.HasPrefix(c, "apply") || strings.HasPrefix(c, "record") }) {
		t.Errorf("went on: %v", w.calls)
	}
}

func TestAFailedPublicationIsTold(t *testing.T) {
	w := &world{deaf: errors.New("ns/v")}
	if err := newCycle(w).Run(t.Context(), time.Minute); !errors.Is(err, w.deaf) || !strings.Contains(err.Error(), "cycle p-1") {
		t.Errorf("error %v", err)
	}
}

func TestFaultsAreLoggedWhenTheyBeginAndWhenTheyEnd(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) {
		for _, phrase := range []string{"metrics are out of reach", "metrics are back"} {
			if strings.Contains(args, phrase) {
				lines = append(lines, phrase)
			}
		}
	}, funcr.Options{}))
	w := &world{}
	c := newCycle(w)
	for _, w.fault = range []string{"", "connection refused", "connection refused", "no answer in time", "", ""} {
		if err := c.Run(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"metrics are out of reach", "metrics are out of reach", "metrics are back"}, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
