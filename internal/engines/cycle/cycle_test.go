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

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// world implements all dependencies of a cycle and notes the order of its calls.
type world struct {
	calls   []string
	fault   string
	lost    error // of reading the cluster
	deaf    error // of the actuator's calls
	history memory.History
	last    memory.Record
	present scaling.ReplicaCounts // of the only variant; zero: two Ready replicas
	full    bool                  // its replicas report that they are full
}

func (w *world) Fleet(_ context.Context, now time.Time) (scaling.Fleet, error) {
	w.calls = append(w.calls, "fleet")
	of := scaling.ModelKey{Namespace: "ns", ID: "m"}
	counts := w.present
	if !counts.Observed {
		counts = scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2}
	}
	return scaling.Fleet{At: now, Variants: []scaling.Variant{{
		Key: scaling.VariantKey{Namespace: "ns", Name: "v"}, Model: of, Bounds: scaling.Unbounded(),
		Replicas: counts, Accelerator: "A100", GPUsPerReplica: 1,
	}}}, w.lost
}

func (w *world) Collect(_ context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	w.calls = append(w.calls, "collect")
	m := fleet.Models()[0]
	s := scaling.Snapshot{Model: m.Model, At: fleet.At, Window: time.Minute, Variants: m.Variants, Fault: w.fault}
	if w.full {
		usage, queue := scaling.Measured(0.95, scaling.Fresh), scaling.Measured(9, scaling.Fresh)
		for i := range m.Variants[0].Replicas.Ready {
			s.Replicas = append(s.Replicas, scaling.ReplicaSample{
				Pod: fmt.Sprint(i), Variant: m.Variants[0].Key, Ready: true, At: fleet.At,
				KVCacheUsage: usage, KVCacheUsageNow: usage, QueueLength: queue, QueueLengthNow: queue,
			})
		}
	}
	return []scaling.Snapshot{s}
}

func (w *world) Apply(_ context.Context, r memory.Record) error {
	w.calls = append(w.calls, fmt.Sprintf("apply cycle %s", r.Cycle))
	return w.deaf
}

func (w *world) History() memory.History { return w.history }

func (w *world) Record(r memory.Record) {
	w.calls = append(w.calls, fmt.Sprintf("record cycle %s", r.Cycle))
	w.history, w.last = r.History, r
}

func newCycle(w *world) *Cycle {
	return &Cycle{Process: "p", Clock: testingclock.NewFakePassiveClock(now), Cluster: w, Collector: w, Recorder: w, Actuator: w}
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

func TestAnOutageOfManyModelsIsOneLineForEachFault(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	fleet := func(faults ...string) []scaling.Snapshot {
		var snapshots []scaling.Snapshot
		for i, fault := range faults {
			snapshots = append(snapshots, scaling.Snapshot{Model: scaling.ModelKey{Namespace: "ns", ID: fmt.Sprintf("m%d", i)}, Fault: fault})
		}
		return snapshots
	}
	const out, back = `"msg"="metrics are out of reach, decisions hold" "error"=null `, `"level"=0 "msg"="metrics are back" `
	var c Cycle
	for _, step := range []struct {
		faults []string
		want   []string
	}{
		{[]string{"", "", "", "", ""}, nil},
		{[]string{"a", "a", "a", "a", "a"}, []string{out + `"models"=5 "model"="ns/m0, ns/m1, ns/m2 and 2 more" "reason"="a"`}},
		{[]string{"a", "a", "a", "a", "a"}, nil},
		{[]string{"a", "b", "c", "b", "a"}, []string{out + `"models"=2 "model"="ns/m1, ns/m3" "reason"="b"`, out + `"models"=1 "model"="ns/m2" "reason"="c"`}},
		{[]string{"", "", "", "b", ""}, []string{back + `"models"=4 "model"="ns/m0, ns/m1, ns/m2 and 1 more"`}},
		{[]string{"a", "", "", ""}, []string{out + `"models"=1 "model"="ns/m0" "reason"="a"`, back + `"models"=1 "model"="ns/m3"`}},
	} {
		lines = nil
		c.reportFaults(log, fleet(step.faults...))
		if diff := cmp.Diff(step.want, lines); diff != "" {
			t.Errorf("faults %q (-want +got):\n%s", step.faults, diff)
		}
	}
}

func TestACycleDecidesUnderThePolicyOfEachModel(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	w := &world{history: memory.History{key: {Desired: 1, DecidedAt: now.Add(-time.Hour), ProgressAt: now.Add(-time.Hour)}}, full: true}
	c := newCycle(w)
	var asked []scaling.ModelKey
	c.Policy = func(m scaling.ModelKey) settings.Model {
		asked = append(asked, m)
		return withPace(constrain.Pacing{ScaleUpStabilization: time.Minute})
	}
	w.present = scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1}
	if err := c.Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]scaling.ModelKey{{Namespace: "ns", ID: "m"}}, asked); diff != "" {
		t.Errorf("policies asked for (-want +got):\n%s", diff)
	}
	if cause := w.last.Plan.Decisions[0].Cause(); cause.Reason != scaling.ReasonStabilizing {
		t.Errorf("cause %+v, want that growth has not been wanted for a minute", cause)
	}
	if !w.history[key].Wants.Known() {
		t.Error("nothing is remembered of what was wanted")
	}
}

// stock is an inventory that counts the requests for it.
type stock struct {
	free  scaling.Accelerators
	asked int
}

func (s *stock) Inventory(context.Context) scaling.Inventory {
	s.asked++
	return scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{{Accelerator: "A100", Total: 8, Free: []scaling.FreeNodes{{GPUs: s.free, Nodes: 1}}}}}
}

func TestOnlyALimitedModelAsksWhatAcceleratorsThereAre(t *testing.T) {
	tests := []struct {
		name    string
		limited bool
		free    scaling.Accelerators
		quota   scaling.Accelerators
		asked   int
		want    scaling.Replicas
	}{
		{"not limited", false, 1, 8, 0, 2},
		{"limited, with one left", true, 1, 8, 1, 2},
		{"limited, with a quota that is used up", true, 1, 1, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{full: true, present: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1}}
			c, s := newCycle(w), &stock{free: tt.free}
			c.Stock = s
			c.Quotas = func(variants []scaling.Variant) []scaling.Quota {
				return []scaling.Quota{{Namespace: variants[0].Key.Namespace, Accelerator: variants[0].Accelerator, GPUs: tt.quota}}
			}
			c.Policy = func(scaling.ModelKey) settings.Model {
				how := settings.Default()
				how.Limited = tt.limited
				return how
			}
			if err := c.Run(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if got := w.last.Plan.Decisions[0].Target(); got != tt.want || s.asked != tt.asked {
				t.Errorf("decided %d after asking %d times, want %d and %d", got, s.asked, tt.want, tt.asked)
			}
		})
	}
}

func TestARecordHoldsTheObjectivesOfItsModels(t *testing.T) {
	w, of := &world{}, scaling.ModelKey{Namespace: "ns", ID: "m"}
	c := newCycle(w)
	how := settings.Default()
	c.Policy = func(scaling.ModelKey) settings.Model { return how }
	if err := c.Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := w.last.Objectives; got != nil {
		t.Errorf("of a model without one there is %v", got)
	}
	how.Objective = scaling.Objective{Class: "Premium", Priority: 1, TTFT: 500, ITL: 24}
	how.Sizing.TTFTPercentile = 0.9
	if err := c.Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	want := []scaling.ModelObjective{{Model: of, Objective: how.Objective, TTFTPercentile: 0.9}}
	if diff := cmp.Diff(want, w.last.Objectives); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
