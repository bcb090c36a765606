package watch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var (
	at       = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	theModel = scaling.ModelKey{Namespace: "n", ID: "m"}
	other    = scaling.ModelKey{Namespace: "n", ID: "other"}
	key      = scaling.VariantKey{Namespace: "n", Name: "v"}
)

// world implements all dependencies of a Watch, with given snapshots and their analyses.
type world struct {
	fleet    scaling.Fleet
	fleetErr error

	snapshots  []scaling.Snapshot
	signals    map[scaling.ModelKey]scaling.Signal
	others     []scaling.Analysis // analyses that decide beside the foremost
	refreshErr error
	calls      []string

	record   memory.Record
	recorded bool

	woken    []string
	observed []bool // whether each pass went well
	lines    []string
}

func (w *world) Fleet(context.Context, time.Time) (scaling.Fleet, error) {
	return w.fleet, w.fleetErr
}

func (w *world) Refresh(context.Context, scaling.Fleet) error {
	w.calls = append(w.calls, "refresh")
	return w.refreshErr
}

func (w *world) Look(context.Context, scaling.Fleet) ([]scaling.Snapshot, error) {
	w.calls = append(w.calls, "look")
	return w.snapshots, w.refreshErr
}

func (w *world) Latest() (memory.Record, bool) { return w.record, w.recorded }

func (w *world) watch() *Watch {
	return &Watch{
		Clock: testingclock.NewFakePassiveClock(at), Cluster: w, Collector: w, Memory: w,
		Analyze: func(_ memory.Record, s scaling.Snapshot) []scaling.Analysis {
			return append([]scaling.Analysis{{Model: s.Model, Signal: w.signals[s.Model]}}, w.others...)
		},
		Wake:    func(reason string) { w.woken = append(w.woken, reason) },
		Observe: func(err error) { w.observed = append(w.observed, err == nil) },
	}
}

func (w *world) context(t *testing.T) context.Context {
	t.Helper()
	log := funcr.New(func(_, args string) { w.lines = append(w.lines, args) }, funcr.Options{Verbosity: 1})
	return logr.NewContext(t.Context(), log)
}

// settled returns a world in which the last cycle saw one steady model with two Ready replicas, and
// nothing has changed since.
func settled() *world {
	counts := scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2}
	fleet := scaling.Fleet{At: at, Variants: []scaling.Variant{{Key: key, Model: theModel, Replicas: counts}}}
	return &world{
		fleet:     fleet,
		snapshots: []scaling.Snapshot{{Model: theModel}},
		signals:   map[scaling.ModelKey]scaling.Signal{theModel: scaling.Steady},
		recorded:  true,
		record: memory.Record{
			Fleet:     scaling.Fleet{At: at, Variants: []scaling.Variant{{Key: key, Model: theModel, Replicas: counts}}},
			Snapshots: []scaling.Snapshot{{Model: theModel}},
			Analyses:  []scaling.Analysis{{Model: theModel, Signal: scaling.Steady}},
			History:   memory.History{key: {Desired: 2}},
		},
	}
}

func TestACycleIsWokenForWhatTheLastOneDidNotSee(t *testing.T) {
	tests := []struct {
		name   string
		change func(w *world)
		want   []string // reasons in every mode
		alone  []string // reasons where nothing else runs cycles
	}{
		{"nothing changed", func(*world) {}, nil, nil},
		{
			"a reading crossed a threshold",
			func(w *world) { w.signals[theModel] = scaling.Grow },
			[]string{"model n/m: signal went from steady to grow"},
			[]string{"model n/m: signal went from steady to grow"},
		},
		{
			"readings went missing",
			func(w *world) { w.signals[theModel] = scaling.Unknown },
			[]string{"model n/m: signal went from steady to unknown"},
			[]string{"model n/m: signal went from steady to unknown"},
		},
		{
			"another analysis wants to grow, which did not",
			func(w *world) {
				w.record.Analyses = append(w.record.Analyses, scaling.Analysis{Model: theModel, Analyzer: "second"})
				w.others = []scaling.Analysis{{Model: theModel, Analyzer: "second", Signal: scaling.Grow}}
			},
			[]string{"model n/m: signal of second went from unknown to grow"},
			[]string{"model n/m: signal of second went from unknown to grow"},
		},
		{
			"another analysis still wants to grow, or would shrink, or is new",
			func(w *world) {
				w.record.Analyses = append(w.record.Analyses, scaling.Analysis{Model: theModel, Analyzer: "second", Signal: scaling.Grow}, scaling.Analysis{Model: theModel, Analyzer: "third"})
				w.others = []scaling.Analysis{
					{Model: theModel, Analyzer: "second", Signal: scaling.Grow},
					{Model: theModel, Analyzer: "third", Signal: scaling.Shrink},
					{Model: theModel, Analyzer: "fourth", Signal: scaling.Grow},
				}
			},
			nil, nil,
		},
		{
			"the source fails",
			func(w *world) { w.snapshots[0].Fault, w.signals[theModel] = "refused", scaling.Unknown },
			[]string{"model n/m: metrics are out of reach"},
			[]string{"model n/m: metrics are out of reach"},
		},
		{
			"the source is back",
			func(w *world) { w.record.Snapshots[0].Fault = "refused" },
			[]string{"model n/m: metrics are back"},
			[]string{"model n/m: metrics are back"},
		},
		{
			"the source fails with other words",
			func(w *world) { w.record.Snapshots[0].Fault, w.snapshots[0].Fault = "refused", "reset" },
			nil, nil,
		},
		{
			"two models have changed",
			func(w *world) {
				w.snapshots = append(w.snapshots, scaling.Snapshot{Model: other})
				w.record.Analyses = append(w.record.Analyses, scaling.Analysis{Model: other, Signal: scaling.Grow})
				w.signals = map[scaling.ModelKey]scaling.Signal{theModel: scaling.Shrink, other: scaling.Steady}
			},
			[]string{"model n/m: signal went from steady to shrink; and 1 more"},
			[]string{"model n/m: signal went from steady to shrink; and 1 more"},
		},
		{
			"a model that no cycle saw is left to its own trigger",
			func(w *world) {
				w.snapshots = append(w.snapshots, scaling.Snapshot{Model: other})
				w.signals[other] = scaling.Steady
			},
			nil, nil,
		},
		{
			"before the first cycle",
			func(w *world) { w.recorded, w.signals[theModel] = false, scaling.Grow },
			nil, nil,
		},
		{
			"a signal lasts",
			func(w *world) { w.record.Analyses[0].Signal, w.signals[theModel] = scaling.Grow, scaling.Grow },
			nil,
			[]string{"model n/m: signal is grow"},
		},
		{
			"nothing is known for long",
			func(w *world) { w.record.Analyses[0].Signal, w.signals[theModel] = scaling.Unknown, scaling.Unknown },
			nil,
			[]string{"model n/m: signal is unknown"},
		},
		{
			"an order is not followed",
			func(w *world) { w.record.History[key] = memory.Past{Desired: 3} },
			nil,
			[]string{"variant n/v: 3 replicas decided, target has 2"},
		},
		{
			"a replica starts",
			func(w *world) {
				w.fleet.Variants[0].Replicas.Ready, w.record.Fleet.Variants[0].Replicas.Ready = 1, 1
			},
			nil,
			[]string{"variant n/v: 1 of 2 replicas Ready"},
		},
		{
			"a target that is not watched got its replica",
			func(w *world) { w.record.Fleet.Variants[0].Replicas.Ready = 1 },
			nil,
			[]string{"variant n/v: replicas changed"},
		},
		{
			"a target cannot be read",
			func(w *world) { w.fleet.Variants[0].Replicas = scaling.ReplicaCounts{} },
			nil,
			[]string{"variant n/v: its target is not readable"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, alone := range []bool{false, true} {
				w := settled()
				tt.change(w)
				watch := w.watch()
				watch.Alone = alone
				watch.Pass(w.context(t))
				want := tt.want
				if alone {
					want = tt.alone
				}
				if diff := cmp.Diff(want, w.woken); diff != "" {
					t.Errorf("alone %v: reasons (-want +got):\n%s", alone, diff)
				}
			}
		})
	}
}

func TestAPassMeasuresOnceWhetherThatSucceedsOrNot(t *testing.T) {
	for _, err := range []error{nil, errors.New("refused")} {
		w := settled()
		w.refreshErr = err
		w.watch().Pass(w.context(t))
		if diff := cmp.Diff([]string{"look"}, w.calls); diff != "" {
			t.Errorf("%v: calls (-want +got):\n%s", err, diff)
		}
	}
}

func TestAPassThatSucceedsIsLogged(t *testing.T) {
	w := settled()
	w.watch().Pass(w.context(t))
	if len(w.lines) != 1 || !strings.Contains(w.lines[0], "Background fetch completed for 1 VAs in 0s") {
		t.Errorf("log %q", w.lines)
	}
}

func TestWithoutAnybodyToWakeMeasurementsAreOnlyRefreshed(t *testing.T) {
	w := settled()
	watch := w.watch()
	watch.Wake = nil
	watch.Pass(w.context(t))
	if diff := cmp.Diff([]string{"refresh"}, w.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAFailureIsCountedEachTimeAndLoggedWhenItBeginsAndEnds(t *testing.T) {
	w := settled()
	watch, ctx := w.watch(), w.context(t)
	steps := []struct {
		fleet, refresh error
		want           string // in the only log line
	}{
		{nil, nil, ""},
		{nil, errors.New("refused"), `"error"="refused"`},
		{nil, errors.New("timeout"), ""},
		{errors.New("cache not synced"), nil, ""},
		{nil, nil, "background fetch succeeds again"},
		{errors.New("cache not synced"), nil, "observing the fleet: cache not synced"},
	}
	for i, step := range steps {
		w.fleetErr, w.refreshErr, w.lines = step.fleet, step.refresh, nil
		watch.Pass(ctx)
		var seen []string
		for _, line := range w.lines {
			if !strings.Contains(line, `"level"=1`) {
				seen = append(seen, line)
			}
		}
		if step.want == "" && len(seen) > 0 || step.want != "" && (len(seen) != 1 || !strings.Contains(seen[0], step.want)) {
			t.Errorf("step %d: log %q, want one line with %q", i, seen, step.want)
		}
	}
	if diff := cmp.Diff([]bool{true, false, false, false, true, false}, w.observed); diff != "" {
		t.Errorf("passes that went well (-want +got):\n%s", diff)
	}
}

func TestAFailureDoesNotHideWhatACycleWouldSee(t *testing.T) {
	w := settled()
	w.refreshErr, w.snapshots[0].Fault = errors.New("refused"), "refused"
	w.watch().Pass(w.context(t))
	if diff := cmp.Diff([]string{"model n/m: metrics are out of reach"}, w.woken); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestAPassThatIsCutOffIsNoFailureAndWakesNoModel(t *testing.T) {
	w := settled()
	w.signals[theModel], w.refreshErr = scaling.Grow, context.Canceled
	ctx, cancel := context.WithCancel(w.context(t))
	cancel()
	w.watch().Pass(ctx)
	if len(w.observed) > 0 || len(w.woken) > 0 || len(w.lines) > 0 {
		t.Errorf("observed %v, woken %q, log %q", w.observed, w.woken, w.lines)
	}
}
