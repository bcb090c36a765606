package optimizer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAPausedVariantIsFrozenAndTheOthersMove(t *testing.T) {
	paused := func(v variant) variant { v.paused = true; return v }
	cheap, dear := settledAt("cheap", 10, 2), settledAt("dear", 40, 2)
	tests := []struct {
		name string
		in   Input
		want []string // "variant: target reason"
	}{
		{"growth goes elsewhere", input(scaling.Grow, 9, paused(cheap), dear), []string{"cheap: 2 Paused", "dear: 3 Saturated"}},
		{"reduction comes from elsewhere", input(scaling.Shrink, 1, cheap, paused(dear)), []string{"cheap: 1 Saturated", "dear: 2 Paused"}},
		{
			"a reduction counts on what a paused variant will have",
			input(scaling.Shrink, 2.5, cheap, paused(variant{name: "dear", cost: 40, current: 3, ready: -1, reporting: -1, desired: 1, quiet: time.Hour})),
			[]string{"cheap: 2 Steady", "dear: 1 Paused"},
		},
		{
			"what it was to have does not make the others wait",
			input(scaling.Grow, 9, paused(variant{name: "cheap", cost: 10, current: 1, ready: -1, reporting: -1, desired: 5}), dear),
			[]string{"cheap: 5 Paused", "dear: 3 Saturated"},
		},
		{
			"a removal under way is not taken back",
			input(scaling.Grow, 9, paused(variant{name: "cheap", cost: 10, current: 3, ready: -1, reporting: -1, desired: 1}), dear),
			[]string{"cheap: 1 Paused", "dear: 3 Saturated"},
		},
		{
			"no other can grow",
			input(scaling.Grow, 9, paused(cheap)),
			[]string{"cheap: 2 Paused"},
		},
		{
			"without an earlier decision it keeps what runs",
			input(scaling.Grow, 9, paused(variant{name: "only", cost: 10, current: 4, ready: -1, reporting: -1, desired: -1})),
			[]string{"only: 4 Paused"},
		},
		{
			"without data it keeps its decision, and not what runs",
			input(scaling.Unknown, 0, paused(variant{name: "only", cost: 10, current: 4, ready: -1, reporting: -1, desired: 2, quiet: time.Hour})),
			[]string{"only: 2 Paused"},
		},
		{
			"without data and without a replica another one starts",
			input(scaling.Unknown, 0, paused(variant{name: "cheap", cost: 10, desired: -1}), variant{name: "dear", cost: 40, desired: -1}),
			[]string{"cheap: 0 Paused", "dear: 1 FirstReplica"},
		},
		{
			"a target that cannot be read comes first",
			input(scaling.Grow, 9, paused(variant{name: "gone", cost: 10, desired: 3, unreadable: true}), dear),
			[]string{"dear: 3 Saturated", "gone: 3 TargetUnreadable"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range Decide(tt.in) {
				got = append(got, fmt.Sprintf("%s: %d %s", d.Variant.Name, d.Target(), d.Cause().Reason))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReductionSaysHowManyMoreCouldGo(t *testing.T) {
	tests := []struct {
		name string
		in   Input
		want map[string]scaling.Replicas
	}{
		{"five of eight carry the load", input(scaling.Shrink, 5, settledAt("only", 10, 8)), map[string]scaling.Replicas{"only": 2}},
		{"a part of a replica is needed whole", input(scaling.Shrink, 5.1, settledAt("only", 10, 8)), map[string]scaling.Replicas{"only": 1}},
		{"the one that goes is all there is", input(scaling.Shrink, 7, settledAt("only", 10, 8)), map[string]scaling.Replicas{"only": 0}},
		{"one replica stays", input(scaling.Shrink, 0, settledAt("only", 10, 8)), map[string]scaling.Replicas{"only": 6}},
		{"or the minimum", input(scaling.Shrink, 0, func() variant {
			v := settledAt("only", 10, 8)
			v.bounds = scaling.Bounds{Min: 4, Max: 9}
			return v
		}()), map[string]scaling.Replicas{"only": 3}},
		{"of the variant that gives one up", input(scaling.Shrink, 2, settledAt("cheap", 10, 4), settledAt("dear", 40, 4)), map[string]scaling.Replicas{"cheap": 0, "dear": 2}},
		{"growth spares nothing", input(scaling.Grow, 9, settledAt("only", 10, 8)), map[string]scaling.Replicas{"only": 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]scaling.Replicas{}
			for _, d := range Decide(tt.in) {
				got[d.Variant.Name] = d.Spare
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("spare (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReductionThatOnlyWaitsForReadingsIsWithheld(t *testing.T) {
	fresh := func(v variant) variant { v.quiet = 0; return v }
	paused := func(v variant) variant { v.paused = true; return v }
	only := settledAt("only", 10, 4)
	tests := []struct {
		name string
		in   Input
		want bool
	}{
		{"the last change is too recent", input(scaling.Shrink, 1, fresh(only)), true},
		{"a removal is under way", input(scaling.Shrink, 1, variant{name: "only", cost: 10, current: 5, ready: -1, reporting: -1, desired: 4, quiet: 0}), true},
		{"the removed still report", input(scaling.Shrink, 1, variant{name: "only", cost: 10, current: 4, ready: 4, reporting: 5, desired: 4, quiet: 0}), true},
		{"nothing calls for one", input(scaling.Steady, 4, fresh(only)), false},
		{"growth waits", input(scaling.Grow, 9, variant{name: "only", cost: 10, current: 3, ready: -1, reporting: -1, desired: 4, quiet: 0}), false},
		{"the others could not carry the load", input(scaling.Shrink, 3.5, only), false},
		{"it is made", input(scaling.Shrink, 1, only), false},
		{"the variant is paused", input(scaling.Shrink, 1, paused(fresh(only))), false},
		{"nothing is known", input(scaling.Unknown, 0, fresh(only)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Decide(tt.in)[0]; got.Withheld != tt.want {
				t.Errorf("withheld is %t: %+v", got.Withheld, got)
			}
		})
	}
}

// TestACycleWithAReadingThatIsNotFreshWantsNothing: one analysis calls for a reduction. The other
// is steady, on fresh readings or on doubtful ones.
func TestACycleWithAReadingThatIsNotFreshWantsNothing(t *testing.T) {
	for _, doubtful := range []bool{true, false} {
		in := votes(1, scaling.Shrink, fleet{name: "v", cost: 1, carries: 1, replicas: 5})
		other := in.Analyses[0]
		other.Analyzer, other.Signal, other.Doubtful = "tokens", scaling.Steady, doubtful
		in.Analyses = append(in.Analyses, other)
		if got := Cover(in)[0]; got.Withheld != doubtful || got.Target() != 5 {
			t.Errorf("doubtful is %t: %+v", doubtful, got)
		}
	}
}
