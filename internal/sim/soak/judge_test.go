package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

func TestTextSaysAllOfACase(t *testing.T) {
	for seed := range uint64(500) {
		c := Draw(seed)
		if err := c.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := Parse("# a comment\n\n" + c.String())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestParseSaysWhereTheTextIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"Engine":                           "line 1: found \"Engine\", want field = value",
		"Engine = model\nMotor = model":    "line 2: Motor: no field",
		"Variants[1].Name = a":             "index \"1\"",
		"Length = long":                    "line 1: Length: time: invalid duration",
		"Variants = a":                     "a slice holds no value",
		"Engine = steam\nLength = 1h0m0s":  "engine \"steam\", want one of",
		Draw(1).String() + "Tick = 1s":     "cycles every 1s",
		Draw(1).String() + "Patience = 0s": "patience is 0s",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestReduceLeavesWhatIsNeeded(t *testing.T) {
	c := Draw(22) // two variants, three faults
	if len(c.Variants) < 2 || len(c.Faults) < 2 {
		t.Fatalf("the case is small already:\n%s", c)
	}
	small := Reduce(c, 1000, func(c Case) bool {
		return len(c.Variants) > 0 && c.Length > 3*time.Hour && slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.Kind == "silent" })
	})
	if len(small.Variants) != 1 || len(small.Faults) != 1 || len(small.Load) != 1 || small.Length > 4*time.Hour || small.MaxScaleDownStep != 0 {
		t.Errorf("left is\n%s", small)
	}
	if again := Reduce(c, 0, func(Case) bool { return true }); again.String() != c.String() {
		t.Error("without a question something was left out")
	}
}

func TestTheCheapestMixIsFound(t *testing.T) {
	a, b := offer{rate: 1, cost: 3, most: 100}, offer{rate: 4, cost: 10, most: 2}
	for _, tt := range []struct {
		name   string
		offers []offer
		rate   float64
		want   float64
		ok     bool
	}{
		{"nothing", []offer{a, b}, 0, 0, true},
		{"one small", []offer{a, b}, 1, 3, true},
		{"one large", []offer{a, b}, 4, 10, true},
		{"both", []offer{a, b}, 9, 23, true},
		{"no more large ones", []offer{a, b}, 12, 32, true},
		{"the least", []offer{{rate: 1, cost: 3, least: 5, most: 9}}, 2, 15, true},
		{"too much", []offer{b}, 9, 0, false},
		{"of no use", []offer{{cost: 1, most: 5}}, 1, 0, false},
	} {
		got, ok := cheapest(tt.offers, tt.rate)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: got %g, %t, want %g, %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestEveryEngineMakesUseOfItsReplicas(t *testing.T) {
	var needs Needs
	for _, engine := range Engines() {
		c := read(t, "testdata/one-of-fifty-silent.txt")
		c.Engine = engine
		p := c.Plant()
		best := p.Best(p.Variants[0])
		if got := needs.PerReplica(c, c.Variants[0]); got < 0.5*best || got > best {
			t.Errorf("%s leaves %.3g requests/s to a replica that completes %.3g at best", engine, got, best)
		}
	}
}

// steered judges a case by ticks that are made up: by steer of those of a fleet that
// the core runs well.
func steered(t *testing.T, length time.Duration, steer func(*plant.Tick)) []Rule {
	t.Helper()
	c := read(t, "testdata/one-of-fifty-silent.txt")
	c.Faults, c.Length, c.Load = nil, length, []Segment{{For: length, From: 300, To: 300}}
	c.Variants[0].Replicas = 32
	var needs Needs
	j := newJudging(c, &needs)
	plant.Run(j.plant, c.Length, func(t plant.Tick) bool {
		t.Variants = slices.Clone(t.Variants)
		steer(&t)
		j.see(t)
		return true
	})
	var rules []Rule
	for _, v := range j.violations {
		rules = append(rules, v.Rule)
	}
	return rules
}

// TestEveryRuleCanBeViolated: made up ticks violate each rule, and no other.
func TestEveryRuleCanBeViolated(t *testing.T) {
	const day = 13 * time.Hour
	for _, tt := range race.Some([]struct {
		name  string
		steer func(*plant.Tick)
		want  []Rule
	}{
		{"a fleet that the core runs", func(*plant.Tick) {}, nil},
		{"overload, and nothing is ordered", func(t *plant.Tick) { t.Capacity, t.Waiting = 250, 1000 }, []Rule{Starves}},
		{"overload of what cannot grow", func(t *plant.Tick) { t.Capacity, t.Waiting, t.Variants[0].Grows = 250, 1000, false }, nil},
		{"overload of a few minutes", func(t *plant.Tick) {
			if t.At%time.Hour < 9*time.Minute {
				t.Capacity, t.Waiting = 250, 1000
			}
		}, nil},
		{"overload, and five are ordered an hour", func(t *plant.Tick) {
			t.Capacity, t.Waiting, t.Variants[0].Wanted = 250, 1000, 30+scaling.Replicas(t.At/(12*time.Minute))
		}, []Rule{Slow}},
		{"twice as many as are needed", func(t *plant.Tick) { t.Variants[0].Placed = 70 }, []Rule{Waste}},
		{"as many of which half crash", func(t *plant.Tick) { t.Variants[0].Placed, t.Variants[0].Bad = 70, 35 }, nil},
		{"as many for two hours in three", func(t *plant.Tick) {
			if t.At%(3*time.Hour) < 2*time.Hour {
				t.Variants[0].Placed = 70
			}
		}, nil},
		{"an order of a hundred", func(t *plant.Tick) {
			if t.At > 12*time.Hour {
				t.Variants[0].Wanted = 180
			}
		}, []Rule{Hoards}},
		{"a replica that comes and goes", func(t *plant.Tick) { t.Variants[0].Wanted = 32 + scaling.Replicas(t.At/time.Hour)%2 }, []Rule{Turns}},
		{"a fleet that grows and grows", func(t *plant.Tick) { t.Variants[0].Wanted = 32 + scaling.Replicas(t.At/time.Hour) }, nil},
		{"one fewer, most being silent", func(t *plant.Tick) {
			t.Blind, t.Variants[0].Stands, t.Variants[0].Wanted = true, 32, 31
		}, []Rule{Blind}},
		{"as many, most being silent", func(t *plant.Tick) { t.Blind, t.Variants[0].Stands, t.Variants[0].Wanted = true, 32, 32 }, nil},
		{"fewer than none", func(t *plant.Tick) { t.Variants[0].Wanted = -1 }, []Rule{Bounds}},
		{"an infinity in what is remembered", func(t *plant.Tick) {
			h := memory.History{}
			for k, p := range t.Verdict.History {
				p.Backlog.Waiting = 1 / zero
				h[k] = p
			}
			t.Verdict.History = h
		}, []Rule{Numbers}},
		{"another plan for the same", func(t *plant.Tick) {
			t.Verdict.Plan.Decisions = slices.Clone(t.Verdict.Plan.Decisions)
			t.Verdict.Plan.Decisions[0].Current++
		}, []Rule{Order}},
	}) {
		if got := steered(t, day, tt.steer); !slices.Equal(got, tt.want) {
			t.Errorf("%s: violates %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestWhatUndoesATryIsOneTurn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		counts []scaling.Replicas // decided on, one after the other
		want   int
	}{
		{"one goes and comes back", []scaling.Replicas{3, 2, 3}, 1},
		{"it comes back with another, which goes", []scaling.Replicas{3, 2, 4, 3}, 1},
		{"in steps", []scaling.Replicas{5, 4, 3, 6, 8, 7, 6, 5}, 1},
		{"and one more goes", []scaling.Replicas{3, 2, 4, 3, 2}, 2},
		{"one comes and goes", []scaling.Replicas{3, 4, 3}, 1},
		{"again", []scaling.Replicas{3, 4, 3, 4, 3}, 3},
		{"and again with another", []scaling.Replicas{3, 2, 4, 3, 2, 4, 3}, 3},
		{"it is brought and taken again and again", []scaling.Replicas{3, 2, 4, 3, 4, 3}, 3},
		{"only growth", []scaling.Replicas{3, 4, 9}, 0},
	} {
		var changes []change
		for i, to := range tt.counts[1:] {
			changes = append(changes, change{by: to - tt.counts[i], to: to})
		}
		if got := turns(changes); got != tt.want {
			t.Errorf("%s: %d turns, want %d", tt.name, got, tt.want)
		}
	}
}

// zero is not a constant, by which nothing is divided.
var zero = 0.0
