package cycle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// documented is the policy that holds where nothing is configured.
var documented = constrain.Pacing{ScaleDownStabilization: 2 * time.Minute, MaxScaleDownStep: 1}

// restless is a plant whose load wanders between nothing and five replicas.
func restless(seed uint64) plant {
	r := rand.New(rand.NewPCG(seed, 5))
	level, until := 0.0, time.Duration(0)
	return plant{
		demand: func(t time.Duration) float64 {
			if t >= until {
				level, until = 3.5*r.Float64(), t+time.Duration(1+r.IntN(15))*time.Minute
			}
			return level
		},
		startUp: time.Duration(5+r.IntN(90)) * time.Second, window: time.Minute, scrape: 15 * time.Second,
		tick: time.Duration(1+r.IntN(4)) * 5 * time.Second, healthy: 1 + r.IntN(5),
	}
}

// changes calls f for every change of the targets, with the number before and after.
func changes(targets []scaling.Replicas, f func(i int, before, after scaling.Replicas)) {
	for i := 1; i < len(targets); i++ {
		if targets[i] != targets[i-1] {
			f(i, targets[i-1], targets[i])
		}
	}
}

// TestNothingShrinksThatWasNotWantedGoneForTheWholePeriod reads only the signals, not the history:
// before a reduction every cycle of a whole period must have signalled Shrink.
func TestNothingShrinksThatWasNotWantedGoneForTheWholePeriod(t *testing.T) {
	shrunk := 0
	for seed := range uint64(race.Cases(15)) {
		for _, period := range []time.Duration{45 * time.Second, 2 * time.Minute, 5 * time.Minute} {
			p := restless(seed)
			p.sync = 3 * p.tick
			p.policy = constrain.Pacing{ScaleDownStabilization: period, MaxScaleDownStep: 1}
			targets := p.run(time.Hour)
			changes(targets, func(i int, before, after scaling.Replicas) {
				if after > before {
					return
				}
				shrunk++
				if before-after > 1 {
					t.Errorf("seed %d, %s: from %d to %d replicas in one step", seed, period, before, after)
				}
				at := time.Duration(i) * p.tick
				if at < period {
					t.Errorf("seed %d: shrank %s after the start, within %s", seed, at, period)
				}
				for j := i; j >= 0 && at-time.Duration(j)*p.tick < period; j-- {
					if p.signals[j] != scaling.Shrink {
						t.Errorf("seed %d: shrank to %d at %s, and %s before that the signal was %s", seed, after, at, at-time.Duration(j)*p.tick, p.signals[j])
					}
				}
			})
		}
	}
	if shrunk < race.Cases(100) {
		t.Errorf("only %d reductions were looked at", shrunk)
	}
}

// TestGrowthIsNeverDelayedByDefault: from equal histories, growth under the documented
// policy equals growth without a policy.
func TestGrowthIsNeverDelayedByDefault(t *testing.T) {
	grew := 0
	forSeeds(t, 800, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		free := Setup{}.Decide(c).Plan.Decisions
		for _, s := range c.Snapshots {
			e.Models[s.Model] = withPace(documented)
		}
		for i, d := range e.Decide(c).Plan.Decisions {
			stood := c.History.LastDesired(variantsOf(c)[d.Variant])
			if free[i].Target() < stood {
				continue
			}
			if free[i].Target() > stood {
				grew++
			}
			if d.Target() != free[i].Target() {
				t.Errorf("%s: %d replicas with the documented policy, %d without any; %d stood", d.Variant, d.Target(), free[i].Target(), stood)
			}
		}
	})
	if grew < race.Cases(100) {
		t.Errorf("only %d decisions grew", grew)
	}
}

// TestAPolicyOnlyEverSlowsDown: a decision lies between the last desired replicas and the
// decision without a policy, unless a bound changes it.
func TestAPolicyOnlyEverSlowsDown(t *testing.T) {
	forSeeds(t, 800, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		limited := e.Decide(c).Plan.Decisions
		for i, d := range (Setup{}).Decide(c).Plan.Decisions {
			v := variantsOf(c)[d.Variant]
			stood := v.Bounds.Clamp(c.History.LastDesired(v))
			if got := limited[i].Target(); got < min(stood, d.Target()) || got > max(stood, d.Target(), v.Bounds.Clamp(v.Replicas.Current)) {
				t.Errorf("%s: %d replicas, between %d and %d were possible", d.Variant, got, stood, d.Target())
			}
		}
	})
}

func TestConstantDemandComesToRestUnderThePolicy(t *testing.T) {
	policies := []constrain.Pacing{
		documented,
		{ScaleUpStabilization: time.Minute, ScaleDownStabilization: 5 * time.Minute, MaxScaleUpStep: 1, MaxScaleDownStep: 2},
	}
	for _, policy := range policies {
		for i := range race.Cases(16) {
			demand := 0.1 + 0.31*float64(i)
			p := plant{
				demand: func(time.Duration) float64 { return demand }, startUp: 20 * time.Second, window: time.Minute, tick: 5 * time.Second,
				sync: 15 * time.Second, healthy: 3, policy: policy,
			}
			targets := p.run(2 * time.Hour)
			tail := targets[len(targets)/2:]
			if slices.Min(tail) != slices.Max(tail) {
				t.Errorf("demand %.2f, %+v: still between %d and %d replicas after an hour", demand, policy, slices.Min(tail), slices.Max(tail))
			}
			need := max(1, scaling.Replicas(math.Ceil(demand/growthPoint)))
			if last := targets[len(targets)-1]; last < need || last > need+1 {
				t.Errorf("demand %.2f, %+v: ended with %d replicas, the load needs %d", demand, policy, last, need)
			}
			up, down := 0, 0
			changes(targets, func(_ int, before, after scaling.Replicas) {
				if after > before {
					up++
				} else {
					down++
				}
			})
			if up > 0 && down > 1 {
				t.Errorf("demand %.2f, %+v: %d times up and %d times down under a constant load", demand, policy, up, down)
			}
		}
	}
}

// TestLoadThatGoesIsFollowedAtThePaceOfTheReadings: the period delays the first reduction only, not
// each replica.
func TestLoadThatGoesIsFollowedAtThePaceOfTheReadings(t *testing.T) {
	p := plant{
		demand: func(time.Duration) float64 { return 0.5 }, healthy: 8, scrape: 15 * time.Second, tick: 15 * time.Second, startUp: 90 * time.Second,
		window: time.Minute, sync: 15 * time.Second, policy: documented,
	}
	targets := p.run(30 * time.Minute)
	var at []time.Duration
	changes(targets, func(i int, _, _ scaling.Replicas) { at = append(at, time.Duration(i)*p.tick) })
	var want []time.Duration
	for i := range 7 { // down to one replica, each a window after the one before
		want = append(want, 2*time.Minute+time.Duration(i)*p.window)
	}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("reductions (-want +got):\n%s", diff)
	}
}

// TestARestartChangesNoDecision: a new process knows only the status of a variant. Its
// decisions differ from those of the old process only in that reductions wait for a period.
func TestARestartChangesNoDecision(t *testing.T) {
	for seed := range uint64(8) {
		for _, restart := range []time.Duration{10 * time.Minute, 25 * time.Minute, 40 * time.Minute} {
			p := restless(seed)
			p.sync, p.policy = 3*p.tick, documented
			restart = restart.Truncate(p.tick)
			p.after = func(t time.Duration, h memory.History) memory.History {
				if t != restart {
					return h
				}
				out := memory.History{}
				for k, past := range h {
					out[k] = memory.Past{Desired: past.Desired, Change: past.Change, DecidedAt: past.DecidedAt}
				}
				return out
			}
			targets := p.run(50 * time.Minute)
			i := int(restart / p.tick)
			for j := i + 1; j < len(targets) && time.Duration(j-i-1)*p.tick < documented.ScaleDownStabilization; j++ {
				if targets[j] < targets[j-1] {
					t.Errorf("seed %d: from %d to %d replicas %s after the restart", seed, targets[j-1], targets[j], time.Duration(j-i)*p.tick)
				}
			}
			if targets[i+1] != targets[i] && p.signals[i+1] != scaling.Grow {
				t.Errorf("seed %d: the restart at %s turned %d replicas into %d, signal %s", seed, restart, targets[i], targets[i+1], p.signals[i+1])
			}
		}
	}
}

// TestAHistoryThatWasWrittenDownDecidesAlike: a replay gets its history from the record of the
// cycle.
func TestAHistoryThatWasWrittenDownDecidesAlike(t *testing.T) {
	forSeeds(t, 800, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		want := encode(t, e.Decide(c))
		read := memory.History{}
		for key, past := range c.History {
			text, err := json.Marshal(past)
			if err != nil {
				t.Fatal(err)
			}
			var p memory.Past
			if err := json.Unmarshal(text, &p); err != nil {
				t.Fatal(err)
			}
			read[key] = p
		}
		c.History = read
		if got := encode(t, e.Decide(c)); got != want {
			t.Errorf("from memory:\n%s\nfrom what was written:\n%s", want, got)
		}
	})
}

func TestPausedVariantsKeepTheirDecision(t *testing.T) {
	frozen := 0
	forSeeds(t, 800, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		variants := variantsOf(c)
		for _, d := range e.Decide(c).Plan.Decisions {
			v := variants[d.Variant]
			if !v.Paused || !v.Replicas.Observed {
				continue
			}
			frozen++
			if want := v.Bounds.Clamp(c.History.LastDesired(v)); d.Target() != want || d.Steps[0].Reason != scaling.ReasonPaused {
				t.Errorf("%s is paused at %d and decided for %d: %+v", d.Variant, want, d.Target(), d.Steps)
			}
		}
	})
	if frozen < race.Cases(100) {
		t.Errorf("only %d decisions were frozen", frozen)
	}
}

// TestPausingOneVariantDoesNotStopTheModel: while one variant is paused, another one that
// can grow still grows.
func TestPausingOneVariantDoesNotStopTheModel(t *testing.T) {
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	snap := scaling.Snapshot{Model: model, At: now, Window: time.Minute}
	for i, name := range []string{"cheap", "dear"} {
		key := scaling.VariantKey{Namespace: "ns", Name: name}
		snap.Variants = append(snap.Variants, scaling.Variant{
			Key: key, Model: model, Cost: float64(10 * (i + 1)), Bounds: scaling.Unbounded(), Paused: name == "cheap",
			Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1},
		})
		snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
			Pod: name, Variant: key, Ready: true, At: now, KVCacheUsage: scaling.Measured(0.79, scaling.Fresh), QueueLength: scaling.Measured(0, scaling.Fresh),
			KVCacheUsageNow: scaling.Measured(0.79, scaling.Fresh), QueueLengthNow: scaling.Measured(0, scaling.Fresh),
		})
	}
	var got []string
	for _, d := range (Setup{}).Decide(Case{Now: now, Snapshots: []scaling.Snapshot{snap}}).Plan.Decisions {
		got = append(got, fmt.Sprintf("%s: %d %s", d.Variant.Name, d.Target(), d.Cause().Reason))
	}
	if diff := cmp.Diff([]string{"cheap: 1 Paused", "dear: 2 Saturated"}, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
