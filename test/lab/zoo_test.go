package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// runSmallZoo runs "lab zoo" on small scenarios and returns what it prints.
func runSmallZoo(t *testing.T, dir, out string, args ...string) string {
	t.Helper()
	var b bytes.Buffer
	all := append([]string{"-traces", dir, "-o", out, "-requests", "1500", "-points", "2", "-policies", "hybrid hpa-queue", "-seed", "6"}, args...)
	if err := runZoo(t.Context(), all, &b); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, b.String())
	}
	return b.String()
}

func TestZooGoesOnWhereItWas(t *testing.T) {
	dir, out := folder(t), t.TempDir()
	results := filepath.Join(out, "results.jsonl")
	cut := func() { // as an interruption does
		content, err := os.ReadFile(results)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(results, append(content, `{"key":"half of a li`...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := runSmallZoo(t, dir, out, "-n", "2", "-commit", "a")
	cut()
	for _, step := range []struct {
		what, left string
		args       []string
	}{
		{"the same again", "0 of 4 runs are left", []string{"-n", "2", "-commit", "a"}},
		{"one more scenario", "2 of 6 runs are left", []string{"-n", "3", "-commit", "a"}},
		{"another build: ours anew, the others are kept", "3 of 6 runs are left", []string{"-n", "3", "-commit", "b"}},
		{"other settings of the others", "3 of 6 runs are left", []string{"-n", "3", "-commit", "b", "-points", "3"}},
		{"another seed", "4 of 4 runs are left", []string{"-n", "2", "-commit", "a", "-seed", "48", "-dry"}},
	} {
		if got := runSmallZoo(t, dir, out, step.args...); !strings.Contains(got, step.left) {
			t.Errorf("%s: no %q in\n%s", step.what, step.left, got)
		}
	}
	again := runSmallZoo(t, dir, out, "-n", "2", "-commit", "a", "-against", "b")
	row := func(text string) []string {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| 2 | ") {
				return strings.Split(line, " | ")
			}
		}
		t.Fatalf("no row in\n%s", text)
		return nil
	}
	const ours, before = 2, 3
	if was, is := row(first), row(again); is[ours] != was[ours] || was[before] != "–" || is[before] == "–" {
		t.Errorf("found %s where the first run had %s, want ours as it was, and the other build beside it", is, was)
	}
}

func TestZooWritesTheDocument(t *testing.T) {
	dir, out := folder(t), t.TempDir()
	text := runSmallZoo(t, dir, out, "-run", "2", "-commit", "a", "-clairvoyant", "3")
	written, err := os.ReadFile(filepath.Join(out, "zoo-6.md"))
	if err != nil || !strings.Contains(text, string(written)) {
		t.Errorf("%v: what is written is not what is printed", err)
	}
	for _, want := range []string{
		"# Zoo\n", "commit a", "## What it should show", "| target reached where an untuned policy of others reaches it,",
		"## Ours", "| `hybrid` | 1 |", "## The others",
		"| `hpa-queue` |", "## All scenarios", "`hpa-queue`, untuned", "**`hybrid`**", "wva simulate --scenario",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s, err := lab.ReadScenario(filepath.Join(out, "zoo-6-2.yaml"), nil)
	if err != nil || s.Workload.Open == nil || s.Name != "zoo-6-2" {
		t.Errorf("the scenario file that is written: %v, %s", err, s.Name)
	}
}

// TestAScenarioFileIsTheScenario writes the files of scenarios and reads them back: fleet
// and requests are those of the zoo.
func TestAScenarioFileIsTheScenario(t *testing.T) {
	c, err := readStock(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	c.Requests = 500
	for n := range 12 {
		a, err := c.draw(5, n)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.file(a)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "scenario.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := lab.ReadScenario(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := a.Scenario(c.Stock)
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range []uint64{1, 2} {
			if diff := cmp.Diff(requests(t, want, seed), requests(t, got, seed)); diff != "" {
				t.Errorf("scenario %d, seed %d: %s", n, seed, diff)
			}
		}
		got.Workload, want.Workload = lab.Source{}, lab.Source{}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(sim.Config{})); diff != "" {
			t.Errorf("scenario %d: %s", n, diff)
		}
	}
}

// requests returns what arrives in a scenario.
func requests(t *testing.T, s lab.Scenario, seed uint64) []workload.Request {
	t.Helper()
	var all []workload.Request
	for r, err := range s.Workload.Open(seed) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestZooSaysWhatIsWrong(t *testing.T) {
	dir := folder(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no folder of traces: make lab-zoo TRACES=folder"},
		{[]string{"-traces", dir, "-n", "0"}, "-n 0, want 1 or more"},
		{[]string{"-traces", dir, "-run", "one"}, `-run "one", want numbers of scenarios from 1 on`},
		{[]string{"-traces", dir, "-policies", "magic"}, `policy "magic" is not known`},
		{[]string{"-traces", dir, "-extra", dir}, "there is a trace of that name in another folder"},
		{[]string{"-traces", t.TempDir()}, "reading the profiles"},
	} {
		err := runZoo(t.Context(), append(tt.args, "-o", t.TempDir()), &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

// TestSimulatorVersionIsRaised holds what a policy of others comes to against what it was
// when simulatorVersion was last raised. Where it differs, raise that and write down what
// is found: results that were kept of others are then run again.
func TestSimulatorVersionIsRaised(t *testing.T) {
	const version, want = "1", "hpa-rate 0.987495 7.410700, kpa 0.965612 8.267626"
	dir := folder(t)
	c, err := readStock(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Requests = 4000
	a, err := c.draw(1, 7)
	if err != nil {
		t.Fatal(err)
	}
	known, err := openResults(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := &zooRun{zooOptions: zooOptions{points: 1, commit: "a"}, resultFile: known, watch: clock.RealClock{}}
	scenario, err := a.Scenario(c.Stock)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range []string{"hpa-rate", "kpa"} {
		r, err := v.run(t.Context(), a, scenario, lab.Choice{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %.6f %.6f", name, r.Attainment, r.Cost))
	}
	if err := known.close(); err != nil {
		t.Fatal(err)
	}
	if found := strings.Join(got, ", "); found != want || simulatorVersion != version {
		t.Errorf("version %s: %s, want version %s: %s", simulatorVersion, found, version, want)
	}
}

func TestJudge(t *testing.T) {
	at := func(attained, cost float64) lab.Point { return lab.Point{Attainment: attained, Cost: cost} }
	ours := func(attained, cost float64, turns int) map[string]result {
		return map[string]result{"hybrid": {Attainment: attained, Cost: cost, Turns: turns}}
	}
	all := []score{
		{number: 1, target: 0.95, own: ours(0.96, 8, 0), untuned: []named{{at(0.97, 10), "a"}, {at(0.99, 20), "b"}}, tuned: []named{{at(0.95, 4), "a:x=1"}}},
		{number: 2, target: 0.95, own: ours(0.80, 10, 3), constant: true, untuned: []named{{at(0.91, 12), "a"}, {at(0.96, 40), "b"}}},
		{number: 3, target: 0.95, own: ours(0.97, 30, 1), constant: true, untuned: []named{{at(0.96, 20), "a"}}},
		{number: 4, target: 0.99, own: ours(0.97, 30, 0), untuned: []named{{at(0.96, 20), "a"}}},
		{number: 5, target: 0.99, own: map[string]result{}, untuned: []named{{at(1, 20), "a"}}},
	}
	v := judge(all, "hybrid")
	if v.ran != 4 || v.reached != 2 || v.winnable != 3 || v.won != 2 || v.farBehind != 1 || v.constant != 2 || v.turned != 1 || v.turns != 3 {
		t.Errorf("got %+v", v)
	}
	if got := v.untuned.mean(); math.Abs(got-(0.8+1.5)/2) > 1e-9 || v.untuned.at(1) != 1.5 || v.untuned.at(0.5) != 0.8 || v.tuned.at(1) != 2 {
		t.Errorf("ratios %v and %v", v.untuned, v.tuned)
	}
	var worst []string
	for _, s := range all {
		if l, ok := s.lagOf("hybrid"); ok {
			worst = append(worst, fmt.Sprintf("%d %.2f %s", l.number, l.size, l.reason.policy))
		}
	}
	if got, want := strings.Join(worst, ", "), "1 0.00 , 2 2.50 b, 3 0.50 a, 4 0.00 "; got != want {
		t.Errorf("worst %s, want %s", got, want)
	}
	pair := []score{
		{own: map[string]result{"a": {Attainment: 0.9, Cost: 3}, "b": {Attainment: 0.8, Cost: 2}}},
		{own: map[string]result{"a": {Attainment: 1, Cost: 9}}},
	}
	if points, cost := beside(pair, "a", "b"); math.Abs(points-0.1) > 1e-9 || cost != 1.5 {
		t.Errorf("a is %g points and %g times the cost beside b, want 0.1 and 1.5", points, cost)
	}
	if !math.IsNaN(distribution(nil).at(0.5)) {
		t.Error("a quantile of nothing is a number")
	}
}
