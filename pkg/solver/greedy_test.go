package solver

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// wants is a server with candidates, written as "accelerator replicas value"; the
// type is the accelerator, one card for a replica.
func wants(name string, priority int, candidates ...string) core.Choice {
	c := core.Choice{Server: core.Server{Name: name}, Priority: priority}
	for _, text := range candidates {
		var a core.Allocation
		if _, err := fmt.Sscanf(text, "%s %d %g", &a.Accelerator, &a.Replicas, &a.Value); err != nil {
			panic(err)
		}
		a.Type, a.Units, a.Wanted, a.Cost = a.Accelerator, 1, a.Replicas, a.Value
		c.Candidates = append(c.Candidates, a)
	}
	return c
}

// outcome writes what was given, as "server=replicas accelerator".
func outcome(choices []core.Choice, given map[string][]core.Allocation) string {
	var parts []string
	for _, c := range choices {
		for _, a := range given[c.Server.Name] {
			parts = append(parts, fmt.Sprintf("%s=%d%s", c.Server.Name, a.Replicas, a.Accelerator))
		}
	}
	return strings.Join(parts, " ")
}

func TestGreedyGivesByPriorityAndRegret(t *testing.T) {
	tests := []struct {
		name    string
		choices []core.Choice
		stock   stock
		want    string
	}{
		{"the more important first", []core.Choice{wants("low", 10, "A 2 1"), wants("top", 1, "A 2 9")}, stock{"A": 3}, "top=2A"},
		{"then the one with more to lose", []core.Choice{wants("a", 1, "A 1 1", "B 1 2"), wants("b", 1, "A 1 1", "B 1 50")}, stock{"A": 1, "B": 1}, "a=1B b=1A"},
		{"one without a second choice loses most", []core.Choice{wants("a", 1, "A 1 1", "B 1 99"), wants("b", 1, "A 1 1")}, stock{"A": 1, "B": 1}, "a=1B b=1A"},
		{"then the higher value", []core.Choice{wants("a", 1, "A 1 1"), wants("b", 1, "A 1 2")}, stock{"A": 1}, "b=1A"},
		{"then the name", []core.Choice{wants("b", 1, "A 1 1"), wants("a", 1, "A 1 1")}, stock{"A": 1}, "a=1A"},
		{"a server without load is served", []core.Choice{wants("idle", 1, "A 0 -5"), wants("busy", 1, "A 1 1")}, stock{"A": 1}, "idle=0A busy=1A"},
		{"a server without load takes no stock", []core.Choice{wants("idle", 1, "A 0 -5")}, nil, "idle=0A"},
		{"what does not fit goes on", []core.Choice{wants("a", 1, "A 4 1", "B 4 2", "C 1 3")}, stock{"A": 3, "B": 3, "C": 3}, "a=1C"},
		{"a type that is missing has none", []core.Choice{wants("a", 1, "A 1 1")}, stock{"B": 3}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			given, _ := greedy(t, GreedyOptions{}).allocate(test.choices, maps.Clone(test.stock))
			if got := outcome(test.choices, given); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPoliciesShareOutWhatIsLeft(t *testing.T) {
	// Three cards; every server wants more. b is one priority below the others.
	three := []core.Choice{wants("a", 1, "A 4 40"), wants("b", 2, "A 4 40"), wants("c", 1, "A 9 90")}
	// Room for b after a had its best effort only if that waits.
	late := []core.Choice{wants("a", 1, "A 4 40"), wants("b", 2, "A 2 20")}
	tests := []struct {
		name    string
		choices []core.Choice
		stock   stock
		options GreedyOptions
		want    string
	}{
		{"none", three, stock{"A": 3}, GreedyOptions{}, ""},
		{"exhaustive: the first takes all", three, stock{"A": 3}, GreedyOptions{Policy: config.PolicyPriorityExhaustive}, "c=3A"},
		{"round robin by priority", three, stock{"A": 3}, GreedyOptions{Policy: config.PolicyPriorityRoundRobin}, "a=1A c=2A"},
		{"round robin by priority, late", three, stock{"A": 3}, GreedyOptions{Policy: config.PolicyPriorityRoundRobin, DelayedBestEffort: true}, "a=1A c=2A"},
		{"round robin goes on to the next priority only late", three, stock{"A": 3}, GreedyOptions{Policy: config.PolicyRoundRobin}, "a=1A c=2A"},
		{"round robin over all", three, stock{"A": 3}, GreedyOptions{Policy: config.PolicyRoundRobin, DelayedBestEffort: true}, "a=1A b=1A c=1A"},
		{"never more than wanted", []core.Choice{wants("a", 1, "A 3 30", "B 2 90"), wants("b", 1, "A 3 30")}, stock{"A": 2, "B": 1}, GreedyOptions{Policy: config.PolicyRoundRobin}, "a=1A b=1A"},
		{"best effort before the next priority", late, stock{"A": 3}, GreedyOptions{Policy: config.PolicyPriorityExhaustive}, "a=3A"},
		{"best effort after all", late, stock{"A": 3}, GreedyOptions{Policy: config.PolicyPriorityExhaustive, DelayedBestEffort: true}, "a=1A b=2A"},
		{"turns stay with the first type that fits", []core.Choice{wants("a", 1, "A 3 30", "B 4 90")}, stock{"A": 1, "B": 3}, GreedyOptions{Policy: config.PolicyRoundRobin}, "a=1A"},
		{"exhaustive: the next type if the first is gone", []core.Choice{wants("a", 1, "A 3 30", "B 4 90")}, stock{"B": 3}, GreedyOptions{Policy: config.PolicyPriorityExhaustive}, "a=3B"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			given, _ := greedy(t, test.options).allocate(test.choices, maps.Clone(test.stock))
			if got := outcome(test.choices, given); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, c := range test.choices {
				for _, a := range given[c.Server.Name] {
					if want := 10 * float64(a.Replicas); a.Accelerator == "A" && a.Cost != want {
						t.Errorf("%s: got cost %g for %d replicas, want %g", c.Server.Name, a.Cost, a.Replicas, want)
					}
				}
			}
		})
	}
}

// TestRoundRobinEndsAtWhatIsWanted is the case in which the published optimizer
// went on: stock is left when the turns have given all that is wanted.
func TestRoundRobinEndsAtWhatIsWanted(t *testing.T) {
	choices := []core.Choice{wants("a", 1, "A 2 20"), wants("b", 1, "A 5 50")}
	given := map[string][]core.Allocation{}
	left := stock{"A": 100}
	takeTurns(choices, given, left)
	if got, want := outcome(choices, given), "a=2A b=5A"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if left["A"] != 93 {
		t.Errorf("%d cards are left, want 93", left["A"])
	}
}

func TestShortfallsSayWhatIsMissing(t *testing.T) {
	choices := []core.Choice{
		wants("none", 1), wants("part", 1, "A 4 40", "B 9 90"), wants("full", 1, "A 1 1"),
		{Server: core.Server{Name: "refused"}, Refused: []core.InfeasibleError{
			{Accelerator: "A", Err: fmt.Errorf("too slow")}, {Err: fmt.Errorf("no load")},
		}},
	}
	given := map[string][]core.Allocation{"part": {choices[1].Candidates[0].Limit(1)}, "full": choices[2].Candidates}
	s := solution(choices, given, stock{"A": 0, "B": 7})
	var got []string
	for _, x := range s.Shortfalls {
		got = append(got, fmt.Sprintf("%s got %d: %s", x.Server, x.Got, x))
	}
	want := []string{
		"none got 0: no accelerator to choose from",
		"part got 1: A takes 4 of type A, 0 left; B takes 9 of type B, 7 left",
		"refused got 0: A: too slow; no load",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shortfalls (-want +got):\n%s", diff)
	}
}

func TestOptionsOutOfRangeAreErrors(t *testing.T) {
	if _, err := NewGreedySolver(GreedyOptions{Policy: "roundrobin"}); err == nil {
		t.Error("a policy that does not exist: got no error")
	}
	for _, o := range []MIPOptions{{Policy: "x"}, {Gap: -1}, {MaxWork: -1}} {
		if _, err := NewMIPSolver(o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}
