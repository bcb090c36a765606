//go:build !race

package lab

// Searches and comparisons of minutes under the race detector, whose runs race where smaller tests run
// them side by side.

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// TestForesightIsNoDearerThanAnyPolicy: with the seed of the schedule, and judged on the
// same part.
func TestForesightIsNoDearerThanAnyPolicy(t *testing.T) {
	p := testPlan(t, "hybrid", "hpa-rate", "static", "ray-serve")
	p.Scenarios[0].Workload = testGenerator(t, "sine(0.25->3,20m,1h)")
	p.Tune, p.Foresight, p.Seeds = true, 30, []uint64{1}
	s := execute(t, p, Options{}).Scenarios[0]
	c, reach := s.Clairvoyant, 0
	for _, row := range s.Rows {
		if m := row.Runs[0].Measures; m.Attainment >= s.Target {
			reach++
			if c.Measures.Cost > m.Cost {
				t.Errorf("%s reaches the target at %.4f, foresight at %.4f", row.Policy, m.Cost, c.Measures.Cost)
			}
		}
	}
	if reach == 0 || !c.Reached || c.Runs > 30 {
		t.Errorf("%d policies reach the target; foresight %+v", reach, c)
	}
	// 40 minutes of one replica, the minimum, are 0.67.
	if c.Measures.Cost < 0.66 {
		t.Errorf("foresight costs %.3f, less than the minimum of replicas", c.Measures.Cost)
	}
}

// TestBenchmarkIsOfTheFleetThatTheWorkloadNeeds: one replica alone carries less than each
// of many, and what is measured is what each carries of as many as the peak calls for.
func TestBenchmarkIsOfTheFleetThatTheWorkloadNeeds(t *testing.T) {
	s := slowed(testScenario(t, "constant(4,10m)"), 8)
	s.Workload = Generator(simtest.Rates(t, "constant(4,10m)"), simtest.Lengths(t, 160, 40))
	f, err := fit(t.Context(), s, look{seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{variant: s.Models[0].Spec.Variants[0], slo: s.Models[0].Spec.SLO, sample: f.survey.sample, mean: f.survey.Lengths}
	last := 0.0
	for _, peak := range []float64{1, 30, 1e6} { // requests/s
		m, err := b.ofFleet(t.Context(), peak)
		if err != nil {
			t.Fatal(err)
		}
		need := min(16, math.Ceil(peak/m.Rate)) // 16 is the maximum of the variant
		if math.Abs(need-float64(m.Replicas)) > 1 || m.Rate < last {
			t.Errorf("%g requests/s: measured %g requests/s of each of %d replicas, %g are needed and fewer carry %g each", peak, m.Rate, m.Replicas, need, last)
		}
		last = m.Rate
	}
	if one, err := b.ofFleet(t.Context(), 1); err != nil || one.Replicas > 2 || one.Rate > 0.9*last {
		t.Errorf("%d replicas carry %g each, %v: want one or two, and less than 0.9 of %g", one.Replicas, one.Rate, err, last)
	}
}

// TestUntunedIsTheRunWithTheDefaults tunes one policy over few settings, with benchmarks
// that are kept from another run, and compares its trial with its defaults with a run of
// these alone.
func TestUntunedIsTheRunWithTheDefaults(t *testing.T) {
	s := testScenario(t, "sine(1->8,20m,40m)")
	known := keptBenchmarks{}
	plan := Plan{Scenarios: []Scenario{s}, Choices: testChoices(t, "hpa-rate", "static"), Seeds: []uint64{1}, Tune: true, Points: 3}
	var rows [2][]Row
	for i := range rows {
		r, err := Execute(t.Context(), plan, Options{Benchmarks: known})
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = r.Scenarios[0].Rows
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" || len(known) != 1 {
		t.Errorf("%d benchmarks are kept, and with these: %s", len(known), diff)
	}
	for _, r := range rows[0] {
		if len(r.Tuning) > 3 {
			t.Errorf("%s: %d settings were tried, want 3 at most", r.Policy.Name, len(r.Tuning))
		}
	}
	if p, ok := rows[0][1].Untuned(); ok {
		t.Errorf("static has defaults: %+v", p)
	}
	plan.Choices = testChoices(t, "hpa-rate:share=1")
	alone, err := Execute(t.Context(), plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := alone.Scenarios[0].Rows[0].Measures
	got, ok := rows[0][0].Untuned()
	if want := (Point{m.Attainment.Mean, m.Cost.Mean}); !ok || got != want {
		t.Errorf("untuned it comes to %+v, alone to %+v", got, want)
	}
}

// TestBaselinesAreTunedOnTheFirstPartAndJudgedOnTheRest: the load of the first part needs
// one replica, that of the rest three. What is kept is what does in the first part, and in
// hindsight it would have been another.
func TestBaselinesAreTunedOnTheFirstPartAndJudgedOnTheRest(t *testing.T) {
	p := testPlan(t, "static", "hpa-inflight", "static:replicas=3", "saturation")
	p.Scenarios[0].Workload = testGenerator(t, "constant(0.5,20m),constant(1.5,20m),constant(3,20m)")
	p.Tune = true
	r := execute(t, p, Options{}).Scenarios[0]
	if r.From != 1200 || r.Span != 2400 {
		t.Errorf("judged from %g s on for %g s, want 1200 and 2400", r.From, r.Span)
	}
	for _, row := range r.Rows[2:] {
		if len(row.Tuning) > 0 || row.Hindsight != nil {
			t.Errorf("%s was tuned: its parameters were chosen, or it is ours", row.Policy)
		}
	}
	// What is judged costs two thirds of an hour of three replicas.
	if cost := r.Rows[2].Measures.Cost; math.Abs(cost.Mean-2) > 0.05 {
		t.Errorf("three replicas cost %+v, want those of 40 minutes, 2", cost)
	}
	fixed := r.Rows[0]
	if fixed.Hindsight == nil || len(fixed.Hindsight.Runs) != 2 || fixed.Measures.Attainment.Mean > 0.9 || fixed.Hindsight.Measures.Attainment.Mean < 0.94 ||
		fixed.Hindsight.Measures.Cost.Mean < 1.4*fixed.Measures.Cost.Mean {
		t.Errorf("static: kept %s, %+v; in hindsight %+v: want one that misses what it was not tuned on, and one that reaches it", fixed.Policy, fixed.Measures.Attainment, fixed.Hindsight)
	}
	for _, row := range r.Rows[:2] {
		if len(row.Tuning) < 4 || len(row.Tuning) > 12 {
			t.Errorf("%s: tried %d settings, want 4 to 12", row.Policy, len(row.Tuning))
		}
		for _, trial := range row.Tuning {
			if trial.Kept && !cmp.Equal(trial.Params, row.Policy.Params) || trial.Hindsight && !cmp.Equal(trial.Params, row.Hindsight.Policy.Params) {
				t.Errorf("kept %+v, ran %v and %v", trial, row.Policy, row.Hindsight.Policy)
			}
			if trial.Kept && row.Runs[0].Measures.Cost != trial.Rest.Cost {
				t.Errorf("%s: the run with the first seed cost %g, its trial %g", row.Policy, row.Runs[0].Measures.Cost, trial.Rest.Cost)
			}
		}
	}
}
