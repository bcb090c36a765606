package cycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// plantKey is the variant of a plant.
var plantKey = scaling.VariantKey{Namespace: "ns", Name: "v"}

// approving is a user who approves some of the reductions of a plant, sometimes to another number,
// and sometimes a reduction that does not wait.
type approving struct {
	*plant
	r     *rand.Rand
	grant scaling.Grant
	shown map[scaling.CycleID]time.Duration // by reduction that waited, when it was first seen
	ran   scaling.Replicas                  // the most replicas Ready at one time, at most those of the target
}

func (a *approving) ask(t time.Duration, v scaling.Variant) scaling.Variant {
	waits := a.past[plantKey].Reductions.Reduction
	if _, known := a.shown[waits.Cycle]; !known && waits.Cycle != "" {
		a.shown[waits.Cycle] = t
	}
	switch a.r.IntN(20) {
	case 0:
		if waits.Cycle != "" {
			a.grant = scaling.Grant{Cycle: waits.Cycle, To: max(0, waits.To-1+scaling.Replicas(a.r.IntN(3)))}
		}
	case 1:
		a.grant = scaling.Grant{Cycle: "another", To: 0}
	case 2:
		a.grant = scaling.Grant{}
	}
	v.Approval = scaling.Approval{Required: true, Granted: a.grant}
	a.ran = min(v.Replicas.Current, max(a.ran, v.Replicas.Ready))
	return v
}

// TestNothingIsGivenUpWithoutItsApproval compares the published decision with the approved
// reductions, over random loads. It reads neither steps nor conditions.
func TestNothingIsGivenUpWithoutItsApproval(t *testing.T) {
	reductions, refused := 0, 0
	for seed := range uint64(race.Cases(60)) {
		p := restless(seed)
		p.sync = time.Duration(1+seed%3) * p.tick
		if seed%2 == 0 {
			p.policy = documented
		}
		a := &approving{plant: &p, r: rand.New(rand.NewPCG(seed, 9)), shown: map[scaling.CycleID]time.Duration{}, ran: 100}
		last, grewAt := scaling.Replicas(p.healthy), time.Duration(-1)
		p.ask = a.ask
		p.after = func(at time.Duration, h memory.History) memory.History {
			target := h[plantKey].Desired
			least := min(last, a.ran)
			if target < least {
				reductions++
				shown, known := a.shown[a.grant.Cycle]
				if !known || target < a.grant.To || shown <= grewAt {
					t.Errorf("seed %d, %s: %d replicas, and %d ran: approved are %+v, shown %v at %s, the decision grew at %s", seed, at, target, least, a.grant, known, shown, grewAt)
				}
			}
			if h[plantKey].Reductions.Reduction.Waits() {
				refused++
			}
			if target > last {
				grewAt = at
			}
			last = target
			return h
		}
		p.run(2 * time.Hour)
		if t.Failed() {
			return
		}
	}
	if reductions < race.Cases(20) || refused < race.Cases(1000) {
		t.Errorf("%d reductions and %d cycles that waited: too few to show anything", reductions, refused)
	}
}

// TestGrowthWaitsForNoApproval: a plant whose reductions are never approved grows to at least as
// many replicas, but for one, as a plant that needs no approval.
func TestGrowthWaitsForNoApproval(t *testing.T) {
	for seed := range uint64(race.Cases(20)) {
		free, asks := restless(seed), restless(seed)
		free.sync, asks.sync = free.tick, asks.tick
		asks.ask = func(_ time.Duration, v scaling.Variant) scaling.Variant {
			v.Approval.Required = true
			return v
		}
		grown := asks.run(2 * time.Hour)
		if !slices.IsSorted(grown) {
			t.Errorf("seed %d: something was given up: %v", seed, grown)
		}
		most := slices.Max(free.run(2 * time.Hour))
		if got := slices.Max(grown); got < most-1 { // at a peak, one of the two may order a replica more
			t.Errorf("seed %d: at most %d replicas, without approval %d", seed, got, most)
		}
	}
}

// falling returns a plant of five replicas, of which one would do.
func falling(policy constrain.Pacing) plant {
	return plant{
		demand: func(time.Duration) float64 { return 0.1 }, startUp: 30 * time.Second, window: time.Minute, scrape: 15 * time.Second,
		tick: 15 * time.Second, sync: 15 * time.Second, healthy: 5, policy: policy,
	}
}

func TestOneApprovalHoldsForTheWholeReductionThatIsMadeInSteps(t *testing.T) {
	for name, policy := range map[string]constrain.Pacing{"documented": documented, "none": {}} {
		t.Run(name, func(t *testing.T) {
			p := falling(policy)
			var grants []scaling.Grant
			p.ask = func(at time.Duration, v scaling.Variant) scaling.Variant {
				v.Approval.Required = true
				if r := p.past[plantKey].Reductions.Reduction; r.Waits() && at > 20*time.Minute && len(grants) == 0 {
					grants = append(grants, scaling.Grant{Cycle: r.Cycle, To: r.To})
				}
				if len(grants) > 0 {
					v.Approval.Granted = grants[0]
				}
				return v
			}
			targets := p.run(time.Hour)
			if got := targets[80]; got != 5 { // 20 minutes, in cycles of 15 s
				t.Errorf("%d replicas before the approval, want 5", got)
			}
			if got, want := targets[len(targets)-1], grants[0].To; got != want || want > 2 {
				t.Errorf("ends at %d replicas, approved are %d; want both alike, and 1 or 2:\n%v", got, want, targets)
			}
			if r := p.past[plantKey].Reductions.Reduction; r.Approved {
				t.Errorf("the approval outlives its reduction: %+v", r)
			}
		})
	}
}

func TestAReductionIsMadeWithoutApprovalAfterItsTime(t *testing.T) {
	p := falling(documented)
	p.ask = func(_ time.Duration, v scaling.Variant) scaling.Variant {
		v.Approval = scaling.Approval{Required: true, After: 30 * time.Minute}
		return v
	}
	targets := p.run(time.Hour)
	first := time.Duration(slices.IndexFunc(targets, func(n scaling.Replicas) bool { return n < 5 })) * p.tick
	// The wait begins after scaleDownStabilization, 2 minutes.
	if first < 32*time.Minute || first > 34*time.Minute {
		t.Errorf("first reduction after %s, want 2 minutes of stabilization and 30 of waiting: %v", first, targets)
	}
	if last := targets[len(targets)-1]; last > 2 {
		t.Errorf("%d replicas in the end, want 1 or 2", last)
	}
}

// TestADecisionThatChangesVoidsItsApproval: the load returns before the approval arrives, and then
// goes again.
func TestADecisionThatChangesVoidsItsApproval(t *testing.T) {
	p := falling(constrain.Pacing{})
	p.demand = func(at time.Duration) float64 {
		if at > 10*time.Minute && at < 20*time.Minute {
			return 4
		}
		return 0.1
	}
	var shown scaling.Reduction
	p.ask = func(at time.Duration, v scaling.Variant) scaling.Variant {
		v.Approval.Required = true
		if at == 9*time.Minute {
			shown = p.past[plantKey].Reductions.Reduction
		}
		if at > 15*time.Minute {
			v.Approval.Granted = scaling.Grant{Cycle: shown.Cycle, To: shown.To}
		}
		return v
	}
	targets := p.run(time.Hour)
	if !shown.Waits() {
		t.Fatalf("nothing waits after 9 minutes: %+v", shown)
	}
	if !slices.IsSorted(targets) {
		t.Errorf("an approval of an earlier decision gave replicas up: %v", targets)
	}
	if now := p.past[plantKey].Reductions.Reduction; !now.Waits() || now.Cycle == shown.Cycle {
		t.Errorf("what waits is %+v, want another reduction than %s", now, shown.Cycle)
	}
}

// TestFrozenVariantsKeepTheirReplicas draws freezes and approvals over every engine and stock.
func TestFrozenVariantsKeepTheirReplicas(t *testing.T) {
	held := map[scaling.Reason]int{}
	for seed := range uint64(race.Cases(3000)) {
		r := rand.New(rand.NewPCG(seed, 41))
		e, c := randomSetup(r)
		c.Cycle = "p-2"
		for i := range c.Snapshots {
			for j := range c.Snapshots[i].Variants {
				v := &c.Snapshots[i].Variants[j]
				v.Freeze.Allow = []scaling.Allow{"", scaling.AllowNone, scaling.AllowGrowth}[r.IntN(3)]
				v.Approval.Required = r.IntN(2) == 0
				if past, ok := c.History[v.Key]; ok && r.IntN(2) == 0 {
					past.Reductions = memory.Reductions{
						Known: true, Ran: scaling.Replicas(r.IntN(6)),
						Reduction: scaling.Reduction{Cycle: "p-1", Since: now.Add(-time.Minute), From: past.Desired, To: 1},
					}
					c.History[v.Key] = past
				}
			}
		}
		verdict := e.Decide(c)
		if got, want := encode(t, e.Decide(shuffled(c, r))), encode(t, verdict); got != want {
			t.Fatalf("seed %d: the case shuffled:\n%s\n%s", seed, want, got)
		}
		variants := variantsOf(c)
		for _, d := range verdict.Plan.Decisions {
			v := variants[d.Variant]
			last, target := c.History.LastDesired(v), d.Target()
			least := min(last, c.History[v.Key].Reductions.Then(v).Ran)
			if !v.Replicas.Observed {
				least = 0
			}
			switch {
			case v.Freeze.Allow == scaling.AllowNone && target != last:
				t.Errorf("seed %d: %s is frozen at %d and goes to %d: %+v", seed, d.Variant, last, target, d.Steps)
			case v.Freeze.Allow == scaling.AllowGrowth && target < last:
				t.Errorf("seed %d: %s may only grow and goes from %d to %d: %+v", seed, d.Variant, last, target, d.Steps)
			case v.Approval.Required && target < least:
				t.Errorf("seed %d: %s goes to %d without approval, %d run: %+v", seed, d.Variant, target, least, d.Steps)
			}
			held[d.Cause().Reason]++
		}
		if t.Failed() {
			return
		}
	}
	for _, reason := range []scaling.Reason{scaling.ReasonFrozen, scaling.ReasonGrowthOnly, scaling.ReasonAwaitingApproval} {
		if held[reason] < race.Cases(50) {
			t.Errorf("%d decisions are %s: too few to show anything", held[reason], reason)
		}
	}
}

// TestAFreezeHoldsWhateverTheLoad runs a closed loop with a freeze window of each kind in the
// middle.
func TestAFreezeHoldsWhateverTheLoad(t *testing.T) {
	for _, allow := range []scaling.Allow{scaling.AllowNone, scaling.AllowGrowth} {
		changed := 0
		for seed := range uint64(race.Cases(20)) {
			p := restless(seed)
			p.sync = p.tick
			in := func(at time.Duration) bool { return at >= 40*time.Minute && at < 80*time.Minute }
			p.ask = func(at time.Duration, v scaling.Variant) scaling.Variant {
				if in(at) {
					v.Freeze = scaling.Freeze{Allow: allow, Window: "release", Until: now.Add(80 * time.Minute)}
				}
				return v
			}
			targets := p.run(2 * time.Hour)
			changes(targets, func(i int, before, after scaling.Replicas) {
				if at := time.Duration(i) * p.tick; in(at) && (allow == scaling.AllowNone || after < before) {
					t.Errorf("%s, seed %d: from %d to %d at %s", allow, seed, before, after, at)
				} else if !in(at) {
					changed++
				}
			})
		}
		if changed == 0 {
			t.Errorf("%s: nothing changed outside of the window", allow)
		}
	}
}

func TestAFrozenModelAtZeroStartsOnlyWhereGrowthIsAllowed(t *testing.T) {
	for allow, want := range map[scaling.Allow]scaling.Replicas{"": 1, scaling.AllowGrowth: 1, scaling.AllowNone: 0} {
		t.Run(fmt.Sprintf("allow %q", allow), func(t *testing.T) {
			m := scaling.ModelKey{Namespace: "ns", ID: "m"}
			s := scaling.Snapshot{Model: m, At: now, Window: time.Minute, Variants: []scaling.Variant{{
				Key: plantKey, Model: m, Cost: 10, Bounds: scaling.Unbounded(), GPUsPerReplica: 1,
				Replicas: scaling.ReplicaCounts{Observed: true}, Freeze: scaling.Freeze{Allow: allow, Window: "release"},
			}}}
			s.Load.GatewayQueue = scaling.Measured(3, scaling.Fresh)
			c := Case{Now: now, Snapshots: []scaling.Snapshot{s}, History: memory.History{plantKey: {Desired: 0, DecidedAt: now.Add(-time.Hour)}}}
			zero := constrain.Zero{Enabled: true, Retention: 10 * time.Minute}
			d := Setup{Models: map[scaling.ModelKey]settings.Model{m: withPace(constrain.Pacing{Zero: zero})}}.Decide(c).Plan.Decisions[0]
			if d.Target() != want {
				t.Errorf("%d replicas, want %d: %+v", d.Target(), want, d.Steps)
			}
			if cause := d.Cause().Reason; allow == scaling.AllowNone && cause != scaling.ReasonFrozen {
				t.Errorf("the cause is %s, want %s", cause, scaling.ReasonFrozen)
			}
		})
	}
}
