package constrain

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// asking is one variant that asks for approval, cycle by cycle.
type asking struct {
	*run
	approval scaling.Approval
	cycles   int
}

func newAsking(replicas scaling.Replicas, p Pacing) *asking {
	return &asking{run: newRun(replicas, p), approval: scaling.Approval{Required: true}}
}

// cycle decides on n replicas before approval, 15 s after the last cycle, and stores the decision.
func (a *asking) cycle(n scaling.Replicas, change ...func(*scaling.Decision)) scaling.Decision {
	a.cycles++
	in := a.input(time.Duration(a.cycles) * 15 * time.Second)
	in.Cycle = scaling.CycleID(string(rune('a' + a.cycles)))
	v := in.Variants[key]
	v.Approval = a.approval
	in.Variants[key] = v
	d := scaling.Decision{Variant: key, Model: model, Current: a.counts.Current}.Then(scaling.StageOptimize, n, "Asked", "it was asked for")
	for _, f := range change {
		f(&d)
	}
	d = Apply(in, scaling.Plan{Decisions: []scaling.Decision{d}}).Decisions[0]
	p := a.history[key].Observe(a.counts, in.Now)
	p.Wants, p.Reductions = Wants(in, d), p.Reductions.Then(v)
	p.Reductions.Reduction = d.Reduction
	a.history[key] = p.Decide(d.Target(), in.Now)
	return d
}

// approve approves the waiting reduction, down to n.
func (a *asking) approve(n scaling.Replicas) {
	a.approval.Granted = scaling.Grant{Cycle: a.history[key].Reductions.Reduction.Cycle, To: n}
}

// wants fails the test unless d is for n replicas and reduction is the cycle of the reduction that
// waits or is under way: "" for none, with a ! once it is approved.
func wants(t *testing.T, d scaling.Decision, n scaling.Replicas, reduction string) {
	t.Helper()
	got := string(d.Reduction.Cycle)
	if d.Reduction.Approved {
		got += "!"
	}
	if d.Target() != n || got != reduction {
		t.Errorf("%d replicas, reduction %q (%+v), want %d and %q: %+v", d.Target(), got, d.Reduction, n, reduction, d.Steps)
	}
}

func fallenBack(d *scaling.Decision) { d.Fallback = true }
func isWithheld(d *scaling.Decision) { d.Withheld = true }

func TestAnApprovedReductionIsMadeAndForgottenOnceTheTargetFollowed(t *testing.T) {
	a := newAsking(4, Pacing{})
	wants(t, a.cycle(4), 4, "")
	wants(t, a.cycle(2), 4, "c")
	wants(t, a.cycle(2), 4, "c")
	a.approve(2)
	wants(t, a.cycle(2), 2, "c!")
	wants(t, a.cycle(2), 2, "c!") // the target has yet to follow
	a.has(2, 2)
	wants(t, a.cycle(2), 2, "")
	wants(t, a.cycle(1), 2, "h") // the old approval is for another reduction
}

func TestAnApprovedReductionIsForgottenAlsoWithoutAnAnalysis(t *testing.T) {
	a := newAsking(4, Pacing{})
	a.cycle(2)
	a.approve(2)
	wants(t, a.cycle(2), 2, "b!")
	a.has(2, 2)
	wants(t, a.cycle(2, fallenBack), 2, "")
}

func TestAnApprovalHoldsDownToItsNumber(t *testing.T) {
	a := newAsking(5, Pacing{})
	a.cycle(2)
	a.approve(3)
	wants(t, a.cycle(2), 3, "b!")
	wants(t, a.cycle(1), 3, "b!")
	a.has(3, 3)
	wants(t, a.cycle(1), 3, "e")
	a.approve(1)
	wants(t, a.cycle(2), 2, "e!") // 2 is above the approved 1
}

func TestADecisionThatOnlyRepeatsTheLastOneEndsNoWait(t *testing.T) {
	a := newAsking(4, Pacing{})
	wants(t, a.cycle(2), 4, "b")
	wants(t, a.cycle(4, fallenBack), 4, "b")
	wants(t, a.cycle(4, isWithheld), 4, "b")
	if got := a.history[key].Reductions.Reduction.To; got != 2 {
		t.Errorf("what waits is down to %d, want 2", got)
	}
	wants(t, a.cycle(4), 4, "") // this decision reduces nothing
	wants(t, a.cycle(2), 4, "f")
}

func TestGrowthVoidsAnApprovalThatIsUnderWay(t *testing.T) {
	a := newAsking(4, Pacing{})
	a.cycle(2)
	a.approve(2)
	wants(t, a.cycle(3), 3, "b!")
	wants(t, a.cycle(5), 5, "")
	wants(t, a.cycle(2), 4, "e") // 4 run; the fifth was never Ready
}

func TestAnApprovalThatIsTakenBackStopsTheReduction(t *testing.T) {
	a := newAsking(6, Pacing{MaxScaleDownStep: 1})
	a.cycle(2)
	a.approve(2)
	wants(t, a.cycle(2), 5, "b!")
	a.approval.Granted = scaling.Grant{}
	a.has(5, 5)
	wants(t, a.cycle(2), 5, "b")
}

func TestScaleToZeroWaitsForApproval(t *testing.T) {
	a := newAsking(1, Pacing{})
	wants(t, a.cycle(0), 1, "b")
	a.approve(0)
	wants(t, a.cycle(0), 0, "b!")
	wants(t, a.cycle(0), 0, "b!") // the target still has one replica
	a.has(0, 0)
	wants(t, a.cycle(0), 0, "")
	a.has(1, 1) // a user starts one replica
	wants(t, a.cycle(0), 1, "f")
}

func TestAnOrderThatWasNeverReadyIsCancelledWithoutApproval(t *testing.T) {
	a := newAsking(2, Pacing{})
	a.cycle(4)
	a.has(4, 2)
	wants(t, a.cycle(2), 2, "")
	a.has(2, 2)
	a.cycle(3)
	a.has(3, 3)
	wants(t, a.cycle(3), 3, "")
	a.has(3, 1) // two replicas fail for a moment
	wants(t, a.cycle(1), 3, "f")
}
