package cycle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// randomCase draws a fleet with faults of all kinds: unreadable targets, pods that do not start or
// do not report, old readings, orders that did not arrive, bounds that contradict the replicas. The
// setup limits the pace of some models.
func randomCase(r *rand.Rand) (Setup, Case) {
	e, c := Setup{Models: map[scaling.ModelKey]settings.Model{}}, Case{Now: now, History: memory.History{}}
	for m := range 1 + r.IntN(4) {
		// Two models may share an ID in different namespaces.
		model := scaling.ModelKey{Namespace: fmt.Sprintf("ns%d", m%2), ID: fmt.Sprintf("model-%d", m/2)}
		s := scaling.Snapshot{Model: model, At: now, Window: time.Minute}
		for v := range 1 + r.IntN(4) {
			key := scaling.VariantKey{Namespace: model.Namespace, Name: fmt.Sprintf("m%d-v%d", m, v)}
			variant := scaling.Variant{
				Key: key, Model: model, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: key.Name},
				Cost: float64(r.IntN(3) * 10), Bounds: scaling.Unbounded(), GPUsPerReplica: 1,
				StartUp: time.Duration(r.IntN(3)) * time.Minute, Paused: r.IntN(8) == 0,
			}
			if r.IntN(2) == 0 {
				variant.Bounds = scaling.Bounds{Min: scaling.Replicas(r.IntN(3)), Max: scaling.Replicas(1 + r.IntN(6))}
			}
			current := scaling.Replicas(r.IntN(6))
			ready := current
			if r.IntN(4) == 0 {
				ready = scaling.Replicas(r.IntN(int(current + 1)))
			}
			if r.IntN(10) > 0 {
				variant.Replicas = scaling.ReplicaCounts{Observed: true, Current: current, Ready: ready, Pending: current - ready}
			} else {
				variant.Missing = "not found"
			}
			if r.IntN(3) > 0 {
				at := now.Add(-time.Duration(r.IntN(600)) * time.Second)
				desired := current
				if r.IntN(3) == 0 {
					desired = scaling.Replicas(r.IntN(7))
				}
				c.History[key] = memory.Past{Desired: desired, DecidedAt: at, ProgressAt: at, Counts: variant.Replicas, Wants: randomWants(r, desired)}
			}
			for p := range ready {
				s.Replicas = append(s.Replicas, randomSample(r, key, p))
			}
			s.Variants = append(s.Variants, variant)
		}
		c.Snapshots = append(c.Snapshots, s)
		if r.IntN(2) == 0 {
			e.Models[model] = withPace(constrain.Pacing{
				ScaleUpStabilization: time.Duration(r.IntN(2)) * time.Minute, ScaleDownStabilization: time.Duration(r.IntN(4)) * time.Minute,
				MaxScaleUpStep: scaling.Replicas(r.IntN(3)), MaxScaleDownStep: scaling.Replicas(r.IntN(3)),
			})
		}
	}
	return e, c
}

// withPace returns the documented settings with a pace.
func withPace(p constrain.Pacing) settings.Model {
	how := settings.Default()
	how.Pacing = p
	return how
}

// randomWants draws the wants of the last minutes, around a decision; sometimes there are none.
func randomWants(r *rand.Rand, desired scaling.Replicas) memory.Wants {
	var w memory.Wants
	for at := now.Add(-5 * time.Minute); r.IntN(6) > 0 && at.Before(now); at = at.Add(time.Duration(r.IntN(90)) * time.Second) {
		w = w.Then(max(0, desired-1+scaling.Replicas(r.IntN(3))), at, time.Hour)
	}
	return w
}

func randomSample(r *rand.Rand, key scaling.VariantKey, n scaling.Replicas) scaling.ReplicaSample {
	state := func() scaling.Freshness {
		if r.IntN(12) == 0 {
			return scaling.Freshness(r.IntN(5))
		}
		return scaling.Fresh
	}
	kv, queue := r.Float64(), float64(r.IntN(4))
	return scaling.ReplicaSample{
		Pod: fmt.Sprintf("%s-%d", key.Name, n), Variant: key, Ready: true, At: now,
		KVCacheUsage: scaling.Measured(kv, state()), QueueLength: scaling.Measured(queue, state()),
		KVCacheUsageNow: scaling.Measured(kv*r.Float64(), state()), QueueLengthNow: scaling.Measured(0, state()),
		KVCapacity: scaling.Measured(float64(1000*(1+r.IntN(2))), state()),
	}
}

// shuffled returns the same case with every slice in another order.
func shuffled(c Case, r *rand.Rand) Case {
	shuffle := func(n int, swap func(i, j int)) { r.Shuffle(n, swap) }
	out := Case{Cycle: c.Cycle, Now: c.Now, History: c.History, Snapshots: slices.Clone(c.Snapshots)}
	for i, s := range out.Snapshots {
		s.Variants, s.Replicas, s.Roles = slices.Clone(s.Variants), slices.Clone(s.Replicas), slices.Clone(s.Roles)
		shuffle(len(s.Roles), func(a, b int) { s.Roles[a], s.Roles[b] = s.Roles[b], s.Roles[a] })
		shuffle(len(s.Variants), func(a, b int) { s.Variants[a], s.Variants[b] = s.Variants[b], s.Variants[a] })
		shuffle(len(s.Replicas), func(a, b int) { s.Replicas[a], s.Replicas[b] = s.Replicas[b], s.Replicas[a] })
		out.Snapshots[i] = s
	}
	shuffle(len(out.Snapshots), func(a, b int) {
		out.Snapshots[a], out.Snapshots[b] = out.Snapshots[b], out.Snapshots[a]
	})
	return out
}

// forRandomCases runs check on many cases, each from its own seed. A failure names the seed.
func forRandomCases(t *testing.T, check func(t *testing.T, e Setup, c Case, r *rand.Rand)) {
	t.Helper()
	forSeeds(t, 3000, check)
}

// forSeeds is forRandomCases with so many cases.
func forSeeds(t *testing.T, cases int, check func(t *testing.T, e Setup, c Case, r *rand.Rand)) {
	t.Helper()
	for seed := range uint64(race.Cases(cases)) {
		r := rand.New(rand.NewPCG(seed, 1))
		e, c := randomCase(r)
		check(t, e, c, r)
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

func TestShuffledInputGivesByteEqualVerdicts(t *testing.T) {
	forRandomCases(t, func(t *testing.T, e Setup, c Case, r *rand.Rand) {
		want := encode(t, e.Decide(c))
		if got := encode(t, e.Decide(c)); got != want {
			t.Errorf("the same case twice:\n%s\n%s", want, got)
		}
		if got := encode(t, e.Decide(shuffled(c, r))); got != want {
			t.Errorf("the case shuffled:\n%s\n%s", want, got)
		}
	})
}

func TestDecideLeavesItsInputAlone(t *testing.T) {
	forSeeds(t, 800, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		before, remembered := encode(t, c.Snapshots), historyLines(c.History)
		e.Decide(c)
		if after := encode(t, c.Snapshots); after != before {
			t.Errorf("snapshots before:\n%s\nafter:\n%s", before, after)
		}
		if diff := cmp.Diff(remembered, historyLines(c.History)); diff != "" {
			t.Errorf("history (-before +after):\n%s", diff)
		}
	})
}

func TestTargetsAreWithinBounds(t *testing.T) {
	forRandomCases(t, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		variants := variantsOf(c)
		for _, d := range e.Decide(c).Plan.Decisions {
			if v := variants[d.Variant]; v.Bounds.Clamp(d.Target()) != d.Target() {
				t.Errorf("%s: target %d outside %+v", d.Variant, d.Target(), v.Bounds)
			}
		}
	})
}

func TestStepsAreAChain(t *testing.T) {
	forRandomCases(t, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		for _, d := range e.Decide(c).Plan.Decisions {
			at := d.Current
			for _, s := range d.Steps {
				if s.From != at || s.Reason == "" || s.Detail == "" {
					t.Errorf("%s: step %+v does not follow %d or says nothing", d.Variant, s, at)
				}
				at = s.To
			}
		}
	})
}

// TestDoubtfulReplicasAreKept is rule 1: a replica without fresh readings counts as full.
// So a model keeps at least as many replicas as have no fresh readings, or the decided or
// running number where that is smaller, except by a bound.
func TestDoubtfulReplicasAreKept(t *testing.T) {
	for name, setup := range map[string]func(Setup, Case) Setup{"measured": func(e Setup, _ Case) Setup { return e }, "published": published} {
		t.Run(name, func(t *testing.T) {
			forSeeds(t, 1500, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
				verdict := setup(e, c).Decide(c)
				for _, s := range c.Snapshots {
					doubtful, least, kept := scaling.Replicas(0), scaling.Replicas(0), scaling.Replicas(0)
					for _, r := range s.Replicas {
						if r.KVCacheUsage.State != scaling.Fresh || r.QueueLength.State != scaling.Fresh {
							doubtful++
						}
					}
					for _, d := range verdict.Plan.Decisions {
						if d.Model != s.Model {
							continue
						}
						before := d.Current
						if past, ok := c.History[d.Variant]; ok && past.Desired > 0 {
							before = min(before, past.Desired) // a removal decided earlier may go on
						}
						least += before
						kept += d.Steps[0].To
					}
					if kept < min(doubtful, least) {
						t.Errorf("%s: %d replicas, %d of %d are without fresh readings", s.Model, kept, doubtful, least)
					}
				}
			})
		})
	}
}

// published returns e with every model of c decided by the published rule.
func published(e Setup, c Case) Setup {
	out := Setup{Models: map[scaling.ModelKey]settings.Model{}}
	for _, s := range c.Snapshots {
		how := e.settings(s.Model)
		how.Engine = settings.Published
		out.Models[s.Model] = how
	}
	return out
}

// TestPublishedEngineChangesOneReplicaOfAModel: apart from bounds and cancelled removals, a
// cycle adds or removes at most one replica of a model.
func TestPublishedEngineChangesOneReplicaOfAModel(t *testing.T) {
	forRandomCases(t, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		changed := map[scaling.ModelKey]int{}
		for _, d := range published(e, c).Decide(c).Plan.Decisions {
			switch first := d.Steps[0]; first.Reason {
			case scaling.ReasonSaturated, scaling.ReasonSpareCapacity:
				changed[d.Model]++
				base := d.Current
				if past, ok := c.History[d.Variant]; ok && past.Desired > 0 {
					base = past.Desired
				}
				if diff := first.To - base; diff != 1 && diff != -1 {
					t.Errorf("%s: %d -> %d", d.Variant, base, first.To)
				}
			}
		}
		for m, n := range changed {
			if n > 1 {
				t.Errorf("%s: %d variants change", m, n)
			}
		}
	})
}

// TestModelsAreIndependent is rule 11 and more: other models do not change the decision
// about a model.
func TestModelsAreIndependent(t *testing.T) {
	forRandomCases(t, func(t *testing.T, e Setup, c Case, _ *rand.Rand) {
		apart := []scaling.Decision{}
		for _, s := range c.Snapshots {
			apart = append(apart, e.Decide(Case{Now: c.Now, Snapshots: []scaling.Snapshot{s}, History: c.History}).Plan.Decisions...)
		}
		slices.SortFunc(apart, func(a, b scaling.Decision) int { return a.Variant.Compare(b.Variant) })
		together := append([]scaling.Decision{}, e.Decide(c).Plan.Decisions...)
		if a, b := encode(t, apart), encode(t, together); a != b {
			t.Errorf("apart:\n%s\ntogether:\n%s", a, b)
		}
	})
}

func variantsOf(c Case) map[scaling.VariantKey]scaling.Variant {
	out := map[scaling.VariantKey]scaling.Variant{}
	for _, s := range c.Snapshots {
		for _, v := range s.Variants {
			out[v.Key] = v
		}
	}
	return out
}

func encode(t *testing.T, v any) string {
	t.Helper()
	if verdict, ok := v.(Verdict); ok {
		v = struct {
			Plan     scaling.Plan
			Analyses []scaling.Analysis
			History  []string
		}{verdict.Plan, verdict.Analyses, historyLines(verdict.History)}
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func historyLines(h memory.History) []string {
	lines := make([]string, 0, len(h))
	for k, p := range h {
		lines = append(lines, fmt.Sprintf("%s %+v", k, p))
	}
	slices.Sort(lines)
	return lines
}
