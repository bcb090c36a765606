package cycle

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// advisory returns c with the decisions on some models as advice.
func advisory(c Case, models func(scaling.ModelKey) bool) Case {
	c.Snapshots = slices.Clone(c.Snapshots)
	for i, s := range c.Snapshots {
		if !models(s.Model) {
			continue
		}
		s.Variants = slices.Clone(s.Variants)
		for j := range s.Variants {
			s.Variants[j].Advisory = true
		}
		c.Snapshots[i] = s
	}
	return c
}

// TestAdviceStartsFromWhatRuns for every engine: an advisory variant remembers the replicas of its
// target as its last decision, whatever was advised. So the first decision that is carried out
// neither adds nor removes a replica by itself.
func TestAdviceStartsFromWhatRuns(t *testing.T) {
	for seed := range uint64(race.Cases(300)) {
		r := rand.New(rand.NewPCG(seed, 71))
		e, c := randomSetup(r)
		c = advisory(c, func(scaling.ModelKey) bool { return true })
		verdict := e.Decide(c)
		for key, v := range variantsOf(c) {
			past := verdict.History[key]
			if v.Replicas.Observed && past.Desired != v.Replicas.Current {
				t.Fatalf("seed %d: %s runs %d and remembers %d", seed, key, v.Replicas.Current, past.Desired)
			}
			if !past.Called.IsZero() || past.MoveTo != 0 || past.Failures != (memory.Failures{}) {
				t.Fatalf("seed %d: %s remembers what was not carried out: %+v", seed, key, past)
			}
		}
	}
}

// TestAdviceTakesNothingFromDecisionsThatAreCarriedOut changes the load of an advisory model. The
// decisions on the other models stay, although they share its stock and quotas.
func TestAdviceTakesNothingFromDecisionsThatAreCarriedOut(t *testing.T) {
	compared := 0
	for seed := range uint64(race.Cases(400)) {
		r := rand.New(rand.NewPCG(seed, 72))
		e, c := randomSetup(r)
		if len(c.Snapshots) < 2 {
			continue
		}
		one := c.Snapshots[r.IntN(len(c.Snapshots))].Model
		is := func(m scaling.ModelKey) bool { return m == one }
		quiet, busy := advisory(c, is), advisory(c, is)
		for i, s := range busy.Snapshots {
			if !is(s.Model) {
				continue
			}
			s.Replicas = slices.Clone(s.Replicas)
			for j := range s.Replicas {
				s.Replicas[j].KVCacheUsage = scaling.Measured(1, scaling.Fresh)
				s.Replicas[j].QueueLength = scaling.Measured(50, scaling.Fresh)
			}
			s.Load.ArrivalRate, s.Load.GatewayQueue = scaling.Measured(500, scaling.Fresh), scaling.Measured(100, scaling.Fresh)
			busy.Snapshots[i] = s
		}
		carried := func(c Case) (out []scaling.Decision) {
			for _, d := range e.Decide(c).Plan.Decisions {
				if !is(d.Model) {
					out = append(out, d)
				}
			}
			return out
		}
		if diff := cmp.Diff(carried(quiet), carried(busy)); diff != "" {
			t.Fatalf("seed %d: the advice for %s changed decisions (-quiet +busy):\n%s", seed, one, diff)
		}
		compared++
	}
	if compared < race.Cases(200) {
		t.Errorf("%d cases compared, want most of them", compared)
	}
}

// TestAdviceFollowsWhatAnotherScalerRuns: another scaler holds a model at too many or too few
// replicas. The advice goes from there to what the load needs, and stays.
func TestAdviceFollowsWhatAnotherScalerRuns(t *testing.T) {
	const demand, need = 2.0, 3 // 2.0 / 0.7 replicas
	for name, runs := range map[string]scaling.Replicas{"too many run": 7, "too few run": 1, "what is needed runs": need} {
		t.Run(name, func(t *testing.T) {
			p := plant{demand: func(time.Duration) float64 { return demand }, window: time.Minute, scrape: 15 * time.Second}
			past := memory.History{}
			var advised scaling.Replicas
			for at := time.Duration(0); at < 30*time.Minute; at += 30 * time.Second {
				p.replicas = slices.Repeat([]time.Duration{-time.Hour}, int(runs))
				c := advisory(Case{Now: now.Add(at), Snapshots: []scaling.Snapshot{p.observe(at)}, History: past}, func(scaling.ModelKey) bool { return true })
				verdict := Setup{}.Decide(c)
				past, advised = verdict.History, verdict.Plan.Decisions[0].Target()
				if got := past[verdict.Plan.Decisions[0].Variant]; got.Desired != runs || !got.Turns.Reduced.IsZero() || !got.Turns.Grown.IsZero() {
					t.Fatalf("after %s: %d decided on and turns %+v, want the %d that run and no turn", at, got.Desired, got.Turns, runs)
				}
			}
			switch {
			case runs > need && (advised >= runs || advised < need):
				t.Errorf("%d run, %d are needed, %d are advised", runs, need, advised)
			case runs == need && advised != need, runs < need && advised <= runs:
				t.Errorf("%d run, %d are needed, %d are advised", runs, need, advised)
			}
		})
	}
}
