package lab

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// everySecond is a log of a request each second, told apart by their lengths.
func everySecond(n int) Record {
	r := Record{Name: "log"}
	for i := range n {
		r.Requests = append(r.Requests, workload.Request{At: time.Duration(i) * time.Second, InputTokens: i + 1, OutputTokens: 1})
	}
	return r
}

func TestCutBeginsAgainWhereTheRecordEnds(t *testing.T) {
	s := Cut{From: 7 * time.Second, For: 15 * time.Second, Times: 1}.Of(everySecond(10))
	var lengths []int
	for i, r := range collect(t, s.Open(asRecorded)) {
		if r.At != time.Duration(i)*time.Second {
			t.Errorf("request %d arrives at %s", i, r.At)
		}
		lengths = append(lengths, r.InputTokens)
	}
	if diff := cmp.Diff([]int{8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2}, lengths); diff != "" || s.Length != 15*time.Second {
		t.Errorf("length %s: %s", s.Length, diff)
	}
	curve, err := workload.NewProfile(workload.Constant{Rate: 100, Duration: time.Minute}, workload.Constant{Rate: 0, Duration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	half := Cut{From: 90 * time.Second, For: 4 * time.Minute, Times: 0.5, Lengths: simtest.ShareGPT(t)}.Of(Record{Curve: curve})
	perMinute := make([]float64, 4) // 30 s of silence come first
	for _, r := range collect(t, half.Open(3)) {
		perMinute[(r.At+30*time.Second)/time.Minute%4]++
	}
	for i, want := range []float64{0, 3000, 0, 3000} {
		if math.Abs(perMinute[i]-want) > 300 {
			t.Errorf("minute %d has %g requests, want about %g", i, perMinute[i], want)
		}
	}
}

func TestCutIsScaled(t *testing.T) {
	r := everySecond(2000)
	for _, times := range []float64{0.3, 1, 2.5, 7} {
		c := Cut{For: 2000 * time.Second, Times: times}
		for _, seed := range []uint64{1, 2} {
			all := collect(t, c.Of(r).Open(seed))
			if got, want := float64(len(all)), 2000*times; math.Abs(got-want) > 6*math.Sqrt(want) {
				t.Errorf("times %g, seed %d: %g requests, want about %g", times, seed, got, want)
			}
			if !slices.IsSortedFunc(all, func(a, b workload.Request) int { return int(a.At - b.At) }) {
				t.Errorf("times %g, seed %d: not in the order of arrival", times, seed)
			}
			if diff := cmp.Diff(all, collect(t, c.Of(r).Open(seed))); diff != "" {
				t.Errorf("times %g, seed %d: another pass differs: %s", times, seed, diff)
			}
		}
		if cmp.Equal(collect(t, c.Of(r).Open(1)), collect(t, c.Of(r).Open(2))) {
			t.Errorf("times %g: two seeds have the same requests", times)
		}
	}
	if diff := cmp.Diff(r.Requests, collect(t, Cut{For: 2000 * time.Second, Times: 1}.Of(r).Open(asRecorded))); diff != "" {
		t.Errorf("seed 1 is not the record: %s", diff)
	}
}

const sideBySide = `
models:
  - {id: a, variants: [{profile: {name: p, accelerator: L40S, alphaMS: 9, kvCacheTokens: 32768}}]}
workload:
  - {file: trace.csv, from: 5s, for: 20s, times: 2}
  - {generator: "constant(3,30s)", inputTokens: 300, outputTokens: 10}
`

func TestScenarioFileHoldsItsWorkload(t *testing.T) {
	trace := testTrace(t, 400, 10) // 40 s
	beside := filepath.Join(filepath.Dir(trace), "fleet.yaml")
	if err := os.WriteFile(beside, []byte(sideBySide), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ReadScenario(beside, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(string) (Record, error) { return ReadRecord(trace) }
	all := collect(t, s.Workload.Open(1))
	if got, want := float64(len(all)), 2*200+3*30.0; math.Abs(got-want) > 6*math.Sqrt(want) || s.Workload.Length != 30*time.Second {
		t.Errorf("%g requests in %s, want about %g in 30s", got, s.Workload.Length, want)
	}
	if diff := cmp.Diff(all, collect(t, s.Workload.Open(1))); diff != "" {
		t.Errorf("another pass differs: %s", diff)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"file: trace.csv", "input: 3", "found \"input\", want one of file, for, from"},
		{"file: trace.csv, ", "", "workload[0]: found a mapping, want one of the fields file and generator"},
		{"constant(3,30s)", "constant(3)", "want a generator such as"},
		{"times: 2", "times: 0", "workload[0].times"},
		{"inputTokens: 300", "inputTokens: 0", "workload[1].inputTokens"},
		{"times: 2}", "times: 2, for: 1s}", "each field once"},
	} {
		text := strings.Replace(sideBySide, tt.from, tt.to, 1)
		_, err := ParseScenario([]byte(text), ScenarioOptions{File: "s.yaml", Open: open})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.to, err, tt.want)
		}
	}
	if _, err := ParseScenario([]byte(sideBySide), ScenarioOptions{File: "s.yaml", Open: noFile}); err == nil || !strings.Contains(err.Error(), "workload[0]") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestPointsBoundWhatIsTried(t *testing.T) {
	for _, d := range Catalogue() {
		c := Choice{Name: d.Name}
		all := c.grid(0)
		for _, most := range []int{1, 3, 4} {
			points := c.grid(most)
			if want := min(most, len(all)); len(points) != want {
				t.Errorf("%s: %d points of %d, want %d", d.Name, len(points), len(all), want)
			}
			if len(points) > 0 && !slices.ContainsFunc(points, func(p map[string]string) bool { return isDefault(d, p) }) {
				t.Errorf("%s: the defaults are not among %v", d.Name, points)
			}
			for i, p := range points {
				if slices.ContainsFunc(points[:i], func(o map[string]string) bool { return cmp.Equal(o, p) }) {
					t.Errorf("%s: %v is there twice", d.Name, p)
				}
			}
		}
	}
}

// keptBenchmarks remembers benchmarks.
type keptBenchmarks map[scaling.VariantKey]Measured

func (k keptBenchmarks) Known(_ string, v scaling.VariantKey) (Measured, bool) {
	m, ok := k[v]
	return m, ok
}

func (k keptBenchmarks) Keep(_ string, v scaling.VariantKey, m Measured) { k[v] = m }

// TestOperatorsSayMoreOrLess decides a model of which the operator says objectives and a
// percentile, objectives alone, and nothing.
func TestOperatorsSayMoreOrLess(t *testing.T) {
	s := testScenario(t, "constant(1,20m)")
	slo := s.Models[0].Spec.SLO
	for _, tt := range []struct {
		choice     string
		percentile bool
		said       bool
		ttft, itl  float64
	}{
		{"hybrid", true, true, 0.95, 0.95},
		{"hybrid", false, true, 0.9, 0}, // those of the manager
		{"hybrid:itlPercentile=0.5", true, true, 0.95, 0.5},
		{"hybrid:objectives=none", true, false, 0.9, 0},
	} {
		c := testChoices(t, tt.choice)[0]
		o, err := parseOwn(c)
		if err != nil {
			t.Fatal(err)
		}
		m := s.Models[0]
		m.Percentile = tt.percentile
		got := c.decides(o, fitted{Scenario: s}, m)
		want := scaling.Objective{}
		if tt.said {
			want = scaling.Objective{Class: "scenario", TTFT: slo.TTFT, ITL: slo.ITL, Attainment: 0.95}
		}
		if diff := cmp.Diff(want, got.Objective); diff != "" || got.Sizing.TTFTPercentile != tt.ttft || got.Sizing.ITLPercentile != tt.itl {
			t.Errorf("%s, percentile %t: %+v, %s", tt.choice, tt.percentile, got.Sizing, diff)
		}
	}
	if _, err := ParseChoice("hybrid:objectives=some"); err == nil || !strings.Contains(err.Error(), "want scenario or none") {
		t.Errorf("objectives that are neither: %v", err)
	}
}
