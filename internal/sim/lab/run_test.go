package lab

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

func testPlan(t *testing.T, choices ...string) Plan {
	t.Helper()
	return Plan{Scenarios: []Scenario{slowed(testScenario(t, "sine(0.25->2,5m,10m)"), 4)}, Choices: testChoices(t, choices...), Seeds: []uint64{1, 2}}
}

func execute(t *testing.T, p Plan, o Options) Results {
	t.Helper()
	r, err := Execute(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultsAreTheSameHoweverManyRunAtOnce(t *testing.T) {
	p := testPlan(t, "saturation", "hpa-rate", "static:replicas=4")
	p.Tune = true
	var texts []string
	for _, workers := range []int{1, 4} {
		text, err := json.Marshal(execute(t, p, Options{Workers: workers}))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Errorf("1 worker:\n%s\n4 workers:\n%s", texts[0], texts[1])
	}
}

func TestRowsHaveWhatWasMeasured(t *testing.T) {
	p := testPlan(t, "saturation", "static:replicas=1")
	p.Series = true
	done := 0
	r := execute(t, p, Options{OnProgress: func(p Progress) {
		if p.Done {
			done++
			if p.Finished != done || p.Total != 4 || p.Number != 1 || p.Scenarios != 1 {
				t.Errorf("progress %d says %+v", done, p)
			}
		}
	}})
	if done != 4 || !r.Complete || len(r.Scenarios) != 1 || len(r.Scenarios[0].Rows) != 2 {
		t.Fatalf("%d runs, results %+v", done, r)
	}
	ours, one := r.Scenarios[0].Rows[0], r.Scenarios[0].Rows[1]
	if !ours.Own || one.Own || len(ours.Runs) != 2 {
		t.Errorf("rows %+v and %+v", ours, one)
	}
	// One replica costs its hours at 1 per hour; 2 requests/s are too much for it.
	if c := one.Measures.Cost; math.Abs(c.Mean-1.0/6) > 1e-9 || c.Min != c.Max {
		t.Errorf("one replica for 10 minutes costs %+v", c)
	}
	if a, b := ours.Measures.Attainment.Mean, one.Measures.Attainment.Mean; a < b+0.1 {
		t.Errorf("attained %.2f with saturation and %.2f with one replica", a, b)
	}
	if m := ours.Measures.Attainment; m.Min > m.Mean || m.Mean > m.Max || m.Min == m.Max {
		t.Errorf("spread %+v over different seeds", m)
	}
	if c := ours.Course; c == nil || len(c.Intervals) < 10 || len(c.Decisions) == 0 {
		t.Errorf("course %+v", c)
	}
	from := scaling.Replicas(1)
	for i, d := range ours.Course.Decisions {
		if d.From != from || d.From == d.Target.Replicas {
			t.Errorf("decision %d from %d to %d, after %d", i, d.From, d.Target.Replicas, from)
		}
		from = d.Target.Replicas
	}
}

func TestModelsAddUp(t *testing.T) {
	p := testPlan(t, "saturation")
	p.Scenarios = []Scenario{threeModels(t)}
	p.Foresight = 4
	r := execute(t, p, Options{}).Scenarios[0]
	var arrived float64
	for _, run := range r.Rows[0].Runs {
		var cost, goodput float64
		for _, m := range run.Models {
			cost += m.Measures.Cost
			goodput += m.Measures.Goodput
		}
		if all := run.Measures; len(run.Models) != 3 || math.Abs(all.Cost-cost) > 1e-9 || math.Abs(all.Goodput-goodput) > 1e-9 {
			t.Errorf("three models cost %g and serve %g, all together %+v", cost, goodput, run.Measures)
		}
		arrived = float64(r.Requests)
	}
	if arrived < 5000 || arrived > 5800 { // 9 requests/s for ten minutes
		t.Errorf("%g requests arrived", arrived)
	}
	if _, ok := r.Rows[0].Model(p.Scenarios[0].Models[2].Spec.Key); !ok {
		t.Error("a model has no measures")
	}
	if c := r.Clairvoyant; c == nil || len(c.Models) != 3 || c.Attainable < 0.5 || c.Reached != (c.Measures.Attainment >= r.Target) {
		t.Errorf("clairvoyant %+v", c)
	}
}

func TestInterruptedLabKeepsWhatFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := testPlan(t, "static:replicas=4", "saturation", "hpa-kv")
	r, err := Execute(ctx, p, Options{Workers: 1, OnProgress: func(p Progress) {
		if p.Done && p.Finished == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Complete {
		t.Errorf("complete %t, %v", r.Complete, err)
	}
	if len(r.Scenarios) != 1 || len(r.Scenarios[0].Rows) != 2 {
		t.Fatalf("got %+v, want the two policies that had finished one run each", r)
	}
	for _, row := range r.Scenarios[0].Rows {
		if len(row.Runs) != 1 || row.Runs[0].Seed != 1 || row.Error == "" {
			t.Errorf("row %+v", row)
		}
	}
}

func TestTuningKeepsTheBestPoint(t *testing.T) {
	for _, tt := range []struct {
		name   string
		points []Point
		want   scaling.Replicas
	}{
		{"cheapest that reaches the target", []Point{{0.99, 3}, {0.95, 2}, {0.94, 1}}, 1},
		{"none reaches it", []Point{{0.5, 1}, {0.7, 9}, {0.6, 1}}, 1},
		{"same attainment below it", []Point{{0.5, 2}, {0.5, 1}}, 1},
		{"the first of equals", []Point{{1, 2}, {1, 2}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var trials []Trial
			for i, p := range tt.points {
				trials = append(trials, Trial{Params: count(scaling.Replicas(i)), First: p, Rest: Point{0.9, float64(10 - i)}})
			}
			last := scaling.Replicas(len(trials) - 1) // the cheapest of the rest
			first, hindsight := Choice{Name: "hpa-kv"}.settle(trials, 0.95)
			if !cmp.Equal(first.Params, count(tt.want)) || !cmp.Equal(hindsight.Params, count(last)) {
				t.Errorf("kept %v, and %v in hindsight: want %v and %v", first.Params, hindsight.Params, count(tt.want), count(last))
			}
			for i, trial := range trials {
				if trial.Kept != (i == int(tt.want)) || trial.Hindsight != (i == int(last)) {
					t.Errorf("trial %d: kept %t, in hindsight %t", i, trial.Kept, trial.Hindsight)
				}
			}
		})
	}
	c := Choice{Name: Saturation}
	if first, hindsight := c.settle(nil, 1); !cmp.Equal(first, c) || !cmp.Equal(hindsight, c) {
		t.Error("kept one of none")
	}
}

func TestFirstPartIsAThirdWithinBounds(t *testing.T) {
	for span, want := range map[time.Duration]time.Duration{
		8 * time.Minute: 4 * time.Minute, 50 * time.Minute: 20 * time.Minute, 3 * time.Hour: time.Hour, 24 * time.Hour: 8 * time.Hour, 14 * 24 * time.Hour: 24 * time.Hour,
	} {
		if got := FirstPart(span); got != want {
			t.Errorf("of %s it is %s, want %s", span, got, want)
		}
	}
}

func TestCSVHasEveryMeasure(t *testing.T) {
	p := testPlan(t, "static:replicas=4", "hpa-kv")
	var out bytes.Buffer
	if err := execute(t, p, Options{}).WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if want := 6 + 4*len((&Measures[int]{}).fields()); len(lines[0]) != want {
		t.Errorf("%d columns, want %d", len(lines[0]), want)
	}
	if got := strings.Join(lines[1][:6], " "); got != "test sine(0.25->2,5m,10m) static:replicas=4 false 0.95 2" {
		t.Errorf("line %q", got)
	}
}

// TestMemoryDoesNotGrowWithTheTrace reads logs of one length and of ten times
// that and compares the heap that is in use while they run. Were requests kept,
// the long one would hold 2 MB more.
func TestMemoryDoesNotGrowWithTheTrace(t *testing.T) {
	peak := func(requests int) uint64 {
		s := testScenario(t, "constant(1,1m)")
		file := testTrace(t, requests, 20)
		var err error
		if s.Workload, err = File(file, FileOptions{}); err != nil {
			t.Fatal(err)
		}
		most, n := uint64(0), 0
		execute(t, Plan{Scenarios: []Scenario{s}, Choices: testChoices(t, "static:replicas=4"), Seeds: []uint64{2}}, Options{Workers: 1, OnProgress: func(Progress) {
			if n++; n%10 == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}})
		return most
	}
	short, long := peak(10_000), peak(100_000)
	if long > short+1<<20 {
		t.Errorf("%d bytes of heap for 10,000 requests, %d for 100,000", short, long)
	}
}

// kept keeps reports in memory, and counts.
type kept struct {
	mu           sync.Mutex
	reports      map[string]sim.Report
	found, added int
}

func (k *kept) key(scenario string, from time.Duration, c Choice, seed uint64) string {
	return fmt.Sprint(scenario, from, c, seed)
}

func (k *kept) Known(scenario string, from time.Duration, c Choice, seed uint64) (sim.Report, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.reports[k.key(scenario, from, c, seed)]
	if ok {
		k.found++
	}
	return r, ok
}

func (k *kept) Keep(scenario string, from time.Duration, c Choice, seed uint64, r sim.Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reports[k.key(scenario, from, c, seed)] = r
	k.added++
}

func TestWhatIsKeptIsNotRunAgain(t *testing.T) {
	p := testPlan(t, "saturation", "hpa-rate")
	p.Tune = true
	k := &kept{reports: map[string]sim.Report{}}
	first, err := json.Marshal(execute(t, p, Options{Reports: k}))
	if err != nil {
		t.Fatal(err)
	}
	ran := k.added
	if ran == 0 || k.found != 0 {
		t.Fatalf("%d runs were kept and %d were known at first", ran, k.found)
	}
	var runs atomic.Int64
	again, err := json.Marshal(execute(t, p, Options{Reports: k, OnProgress: func(p Progress) {
		if p.At > 0 {
			runs.Add(1)
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if k.added != ran || k.found != ran || runs.Load() != 0 {
		t.Errorf("%d runs, %d of them known; then %d more and %d steps, want none", ran, k.found, k.added-ran, runs.Load())
	}
	if !bytes.Equal(first, again) {
		t.Errorf("ran:\n%s\nkept:\n%s", first, again)
	}
}
