package constrain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var (
	start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	key   = scaling.VariantKey{Namespace: "ns", Name: "v"}
	model = scaling.ModelKey{Namespace: "ns", ID: "m"}
)

// run is one variant under a policy. has sets the replicas of its target; follow makes them follow
// a decision.
type run struct {
	policy  Pacing
	bounds  scaling.Bounds
	history memory.History
	counts  scaling.ReplicaCounts
	startUp time.Duration
	surplus float64 // part of the Ready replicas
}

func newRun(replicas scaling.Replicas, p Pacing) *run {
	r := &run{policy: p, bounds: scaling.Unbounded(), history: memory.History{}}
	r.has(replicas, replicas)
	return r
}

// has sets the replicas of the target.
func (r *run) has(current, ready scaling.Replicas) {
	r.counts = scaling.ReplicaCounts{Observed: true, Current: current, Ready: ready, Pending: current - ready}
}

// ask passes a decision for n replicas through the chain, at a time after the start.
func (r *run) ask(after time.Duration, n scaling.Replicas, change ...func(*scaling.Decision)) scaling.Decision {
	in := r.input(after)
	d := scaling.Decision{Variant: key, Model: model, Current: r.counts.Current}.Then(scaling.StageOptimize, n, "Asked", "it was asked for")
	for _, f := range change {
		f(&d)
	}
	d = Apply(in, scaling.Plan{Decisions: []scaling.Decision{d}}).Decisions[0]
	r.record(in, d)
	return d
}

// input returns the input of the chain at a time after the start.
func (r *run) input(after time.Duration) Input {
	v := scaling.Variant{Key: key, Model: model, Bounds: r.bounds, Replicas: r.counts, StartUp: r.startUp}
	return Input{
		Now: start.Add(after), Variants: map[scaling.VariantKey]scaling.Variant{key: v},
		Policies: map[scaling.ModelKey]Pacing{model: r.policy}, History: r.history,
		Surplus: map[scaling.Part]float64{{Model: model}: r.surplus},
	}
}

// record stores the wants and the decision in the history.
func (r *run) record(in Input, d scaling.Decision) {
	p := r.history[key]
	p.Wants = Wants(in, d)
	r.history[key] = p.Decide(d.Target(), in.Now)
}

// follow asks and sets the target to the decision.
func (r *run) follow(after time.Duration, n scaling.Replicas, change ...func(*scaling.Decision)) scaling.Replicas {
	to := r.ask(after, n, change...).Target()
	r.has(to, to)
	return to
}

func withheld(d *scaling.Decision) { d.Withheld = true }

func spare(n scaling.Replicas) func(*scaling.Decision) {
	return func(d *scaling.Decision) { d.Spare = n }
}

func fallback(d *scaling.Decision) { d.Fallback = true }

// moment is one decision of a run and its expected result.
type moment struct {
	after  time.Duration
	asked  scaling.Replicas
	want   scaling.Replicas
	change func(*scaling.Decision)
}

func TestStabilize(t *testing.T) {
	down, up := Pacing{ScaleDownStabilization: 2 * time.Minute}, Pacing{ScaleUpStabilization: time.Minute}
	const s = time.Second
	tests := []struct {
		name    string
		policy  Pacing
		from    scaling.Replicas
		moments []moment
	}{
		{"without a policy everything is at once", Pacing{}, 4, []moment{{0, 1, 1, nil}, {s, 9, 9, nil}, {2 * s, 2, 2, nil}}},
		{"growth does not wait for a reduction's period", down, 4, []moment{{0, 9, 9, nil}, {s, 11, 11, nil}}},
		{
			"a reduction is made when it was wanted for the whole period, and not a second before", down, 4,
			[]moment{{0, 4, 4, nil}, {10 * s, 3, 4, nil}, {70 * s, 3, 4, nil}, {129 * s, 3, 4, nil}, {130 * s, 3, 3, nil}},
		},
		{
			"a moment in which it was not wanted begins another period", down, 4,
			[]moment{{0, 3, 4, nil}, {110 * s, 4, 4, nil}, {115 * s, 3, 4, nil}, {130 * s, 3, 4, nil}, {235 * s, 3, 3, nil}},
		},
		{
			"it goes to the most that was wanted in the period", down, 8,
			[]moment{{0, 6, 8, nil}, {30 * s, 2, 8, nil}, {90 * s, 5, 8, nil}, {120 * s, 2, 6, nil}, {149 * s, 2, 6, nil}, {150 * s, 2, 5, nil}, {240 * s, 2, 2, nil}},
		},
		{
			"growth goes to the least that was wanted in its period", up, 2,
			[]moment{{0, 5, 2, nil}, {30 * s, 3, 2, nil}, {40 * s, 9, 2, nil}, {60 * s, 9, 3, nil}, {100 * s, 9, 9, nil}, {101 * s, 1, 1, nil}},
		},
		{
			"what could go too is wanted gone: the next reduction waits for no other period", down, 8,
			[]moment{{0, 7, 8, spare(3)}, {120 * s, 7, 7, spare(3)}, {135 * s, 6, 6, spare(2)}, {150 * s, 5, 5, spare(1)}, {165 * s, 4, 4, nil}, {180 * s, 3, 4, nil}},
		},
		{
			"what is withheld while the last change settles does not begin another period", down, 8,
			[]moment{{0, 7, 8, spare(1)}, {120 * s, 7, 7, spare(1)}, {135 * s, 7, 7, withheld}, {180 * s, 6, 6, nil}},
		},
		{
			"a decision without an analysis wants what it keeps", down, 4,
			[]moment{{0, 3, 4, nil}, {115 * s, 4, 4, fallback}, {125 * s, 3, 4, nil}, {244 * s, 3, 4, nil}, {245 * s, 3, 3, nil}},
		},
		{"a decision without an analysis is left alone", up, 0, []moment{{0, 1, 1, fallback}}},
		{
			"a step is no larger than allowed",
			Pacing{MaxScaleUpStep: 4, MaxScaleDownStep: 1},
			2,
			[]moment{{0, 9, 6, nil}, {s, 9, 9, nil}, {2 * s, 3, 8, nil}, {3 * s, 3, 7, nil}, {4 * s, 6, 6, nil}},
		},
		{
			"both limits together",
			Pacing{ScaleDownStabilization: time.Minute, MaxScaleDownStep: 2},
			9,
			[]moment{{0, 2, 9, nil}, {59 * s, 2, 9, nil}, {60 * s, 2, 7, nil}, {61 * s, 2, 5, nil}, {62 * s, 2, 3, nil}, {63 * s, 2, 2, nil}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(tt.from, tt.policy)
			for _, m := range tt.moments {
				if m.change == nil {
					m.change = func(*scaling.Decision) {}
				}
				if got := r.follow(m.after, m.asked, m.change); got != m.want {
					t.Errorf("after %s: %d replicas were asked for, got %d, want %d", m.after, m.asked, got, m.want)
				}
			}
		})
	}
}

// TestAReductionWaitsForAStartUp: a reduction waits for a start-up where that is longer than the
// configured period. A replica removed for less time would be missed while another one starts.
func TestAReductionWaitsForAStartUp(t *testing.T) {
	for _, tt := range []struct {
		name    string
		policy  Pacing
		startUp time.Duration
		waits   time.Duration
	}{
		{"a start that takes longer", Pacing{ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 1}, 9 * time.Minute, 9 * time.Minute},
		{"without a configured period", Pacing{ScaleDownStartUps: 1}, 9 * time.Minute, 9 * time.Minute},
		{"a start that is quicker", Pacing{ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 1}, time.Minute, 2 * time.Minute},
		{"several starts", Pacing{ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 2.5}, 2 * time.Minute, 5 * time.Minute},
		{"not asked for", Pacing{ScaleDownStabilization: 2 * time.Minute}, 9 * time.Minute, 2 * time.Minute},
		{"not known yet", Pacing{ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 1}, 0, 2 * time.Minute},
		{"an hour at most", Pacing{ScaleDownStartUps: 3}, 40 * time.Minute, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(4, tt.policy)
			r.startUp = tt.startUp
			if got := r.follow(0, 4); got != 4 {
				t.Fatalf("at the start: %d replicas", got)
			}
			r.follow(time.Minute, 3)
			if got := r.follow(time.Minute+tt.waits-time.Second, 3); got != 4 {
				t.Errorf("a second before %s: %d replicas, want 4", tt.waits, got)
			}
			if got := r.follow(time.Minute+tt.waits, 3); got != 3 {
				t.Errorf("after %s: %d replicas, want 3", tt.waits, got)
			}
		})
	}
}

func TestStepsSayWhatTheyDidWithNumbers(t *testing.T) {
	tests := []struct {
		name   string
		policy Pacing
		asked  []scaling.Replicas // one every 45 s
		want   string
	}{
		{
			"too early to shrink",
			Pacing{ScaleDownStabilization: 2 * time.Minute},
			[]scaling.Replicas{3, 3},
			"stabilize 3 -> 4 Stabilizing: fewer than 4 replicas have been wanted for 45s, scaleDownStabilization is 2m0s",
		},
		{
			"too early to grow",
			Pacing{ScaleUpStabilization: time.Minute},
			[]scaling.Replicas{9},
			"stabilize 9 -> 4 Stabilizing: more than 4 replicas have been wanted for 0s, scaleUpStabilization is 1m0s",
		},
		{
			"too many to remove",
			Pacing{MaxScaleDownStep: 1},
			[]scaling.Replicas{1},
			"stabilize 1 -> 3 StepLimited: 3 replicas fewer than 4 are wanted, maxScaleDownStep is 1",
		},
		{
			"too many to add",
			Pacing{MaxScaleUpStep: 2},
			[]scaling.Replicas{9},
			"stabilize 9 -> 6 StepLimited: 5 replicas more than 4 are wanted, maxScaleUpStep is 2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(4, tt.policy)
			var d scaling.Decision
			for i, n := range tt.asked {
				d = r.ask(time.Duration(i)*45*time.Second, n)
			}
			last := d.Steps[len(d.Steps)-1]
			got := fmt.Sprintf("%s %d -> %d %s: %s", last.Stage, last.From, last.To, last.Reason, last.Detail)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// TestASurplusGoesAtOnce: the largest step of a reduction is one replica, and a third of the fleet is
// surplus.
func TestASurplusGoesAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		policy               Pacing
		ready, wanted, least scaling.Replicas
		want                 scaling.Replicas
		says                 string
	}{
		"a large fleet": {
			Pacing{MaxScaleDownStep: 1, SurplusAtOnce: true},
			58, 20, 0, 39,
			"38 replicas fewer than 58 are wanted, and 19 go at once: twice the largest demand of the last hour does not need them",
		},
		"the setting does not allow it": {
			Pacing{MaxScaleDownStep: 1}, 58, 20, 0, 57, "38 replicas fewer than 58 are wanted, maxScaleDownStep is 1",
		},
		"a step is larger than a third": {
			Pacing{MaxScaleDownStep: 30, SurplusAtOnce: true},
			58, 20, 0, 28,
			"38 replicas fewer than 58 are wanted, maxScaleDownStep is auto: 30 at a time, and more of a surplus",
		},
		"no step limits it":              {Pacing{SurplusAtOnce: true}, 58, 20, 0, 20, "it was asked for"},
		"fewer are wanted than a third":  {Pacing{MaxScaleDownStep: 1, SurplusAtOnce: true}, 58, 50, 0, 50, "it was asked for"},
		"a third of two is none":         {Pacing{MaxScaleDownStep: 1, SurplusAtOnce: true}, 2, 1, 0, 1, "it was asked for"},
		"minReplicas bounds it, too":     {Pacing{MaxScaleDownStep: 1, SurplusAtOnce: true}, 58, 20, 50, 50, ""},
		"it waits for the stabilization": {Pacing{MaxScaleDownStep: 1, SurplusAtOnce: true, ScaleDownStabilization: time.Minute}, 58, 20, 0, 58, ""},
	} {
		r := newRun(tt.ready, tt.policy)
		r.bounds.Min, r.surplus = tt.least, 1.0/3
		d := r.ask(0, tt.wanted)
		if said := d.Steps[len(d.Steps)-1].Detail; d.Target() != tt.want || tt.says != "" && said != tt.says {
			t.Errorf("%s: %d replicas, %q; want %d, %q", name, d.Target(), said, tt.want, tt.says)
		}
	}
}

// TestBoundsDoNotWait: bounds are hard and take effect at once, however slow the policy is.
func TestBoundsDoNotWait(t *testing.T) {
	slow := Pacing{ScaleUpStabilization: time.Hour, ScaleDownStabilization: time.Hour, MaxScaleUpStep: 1, MaxScaleDownStep: 1}
	r := newRun(2, slow)
	r.bounds = scaling.Bounds{Min: 6, Max: math.MaxInt}
	if got := r.ask(0, 2).Target(); got != 6 {
		t.Errorf("minReplicas 6 gives %d replicas", got)
	}
	r = newRun(9, slow)
	r.bounds = scaling.Bounds{Min: 0, Max: 3}
	if got := r.ask(0, 9).Target(); got != 3 {
		t.Errorf("maxReplicas 3 gives %d replicas", got)
	}
	if got := r.ask(time.Second, 1).Target(); got != 3 {
		t.Errorf("within the bounds the policy holds: got %d replicas, want 3", got)
	}
}

func TestARemovalTakenBackDoesNotWait(t *testing.T) {
	r := newRun(5, Pacing{ScaleUpStabilization: time.Hour, MaxScaleUpStep: 1})
	if got := r.ask(0, 2).Target(); got != 2 {
		t.Fatalf("shrank to %d, want 2", got)
	}
	if got := r.ask(time.Second, 5).Target(); got != 5 {
		t.Errorf("the target still has 5 replicas and %d are decided on", got)
	}
}

func TestAnOrderThatNeverArrivedIsCancelledInOneStep(t *testing.T) {
	r := newRun(3, Pacing{ScaleDownStabilization: time.Minute, MaxScaleDownStep: 1})
	if got := r.ask(0, 8).Target(); got != 8 {
		t.Fatalf("grew to %d, want 8", got)
	}
	r.has(8, 3)
	r.ask(10*time.Second, 3)
	if got := r.ask(70*time.Second, 3).Target(); got != 3 {
		t.Errorf("3 replicas serve, and the order for 8 became one for %d", got)
	}
}

// TestNothingShrinksWithinAPeriodOfTheStart: a new process remembers the last decision and none of
// the wants.
func TestNothingShrinksWithinAPeriodOfTheStart(t *testing.T) {
	r := newRun(4, Pacing{ScaleDownStabilization: 2 * time.Minute})
	r.follow(0, 3)
	past := r.history[key]
	past.Wants = memory.Wants{}
	r.history[key] = past
	for after := time.Minute; after < 3*time.Minute; after += time.Second {
		if got := r.follow(after, 3); got != 4 {
			t.Fatalf("%s after the start: %d replicas", after-time.Minute, got)
		}
	}
	if got := r.follow(3*time.Minute, 3); got != 3 {
		t.Errorf("a period after the start: %d replicas, want 3", got)
	}
}

func TestALongerPeriodCountsFromThen(t *testing.T) {
	r := newRun(4, Pacing{ScaleDownStabilization: time.Minute})
	r.ask(0, 4)
	for after := time.Second; after < time.Minute; after += time.Second {
		r.ask(after, 3)
	}
	r.policy.ScaleDownStabilization = 30 * time.Minute
	if got := r.ask(29*time.Minute, 3).Target(); got != 4 {
		t.Errorf("shrank to %d after 29 of 30 minutes", got)
	}
	if got := r.ask(30*time.Minute+time.Second, 3).Target(); got != 3 {
		t.Errorf("%d replicas after 30 minutes, want 3", got)
	}
}

// TestDecisionsStayWithinWhatWasWanted: for random wants, the decision is between the last desired
// replicas and the request. It never shrinks below the most, and never grows beyond the least, that
// was wanted in the period.
func TestDecisionsStayWithinWhatWasWanted(t *testing.T) {
	for seed := range uint64(race.Cases(500)) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		p := Pacing{
			ScaleUpStabilization: time.Duration(rnd.IntN(3)) * time.Minute, ScaleDownStabilization: time.Duration(rnd.IntN(4)) * time.Minute,
			MaxScaleUpStep: scaling.Replicas(rnd.IntN(3)), MaxScaleDownStep: scaling.Replicas(rnd.IntN(3)),
		}
		stood := scaling.Replicas(1 + rnd.IntN(6))
		r := newRun(stood, p)
		type ask struct {
			at time.Duration
			n  scaling.Replicas
		}
		all := []ask{{0, stood}}
		now := time.Duration(0)
		for range 40 {
			n := scaling.Replicas(1 + rnd.IntN(8))
			all = append(all, ask{now, n})
			most, least := n, n
			for i, a := range all[:len(all)-1] {
				if all[i+1].at > now-p.ScaleDownStabilization {
					most = max(most, a.n)
				}
				if all[i+1].at > now-p.ScaleUpStabilization {
					least = min(least, a.n)
				}
			}
			want := stood
			switch {
			case n < stood:
				want = min(stood, most)
				if p.MaxScaleDownStep > 0 {
					want = max(want, stood-p.MaxScaleDownStep)
				}
			case n > stood:
				want = max(stood, least)
				if p.MaxScaleUpStep > 0 {
					want = min(want, stood+p.MaxScaleUpStep)
				}
			}
			if got := r.follow(now, n); got != want {
				t.Fatalf("seed %d, %+v: from %d, %d asked for after %s gives %d, want %d", seed, p, stood, n, now, got, want)
			}
			stood = want
			now += time.Duration(rnd.IntN(60)) * time.Second
		}
	}
}

// TestALaterStageDoesNotChangeWhatWasWanted: a later stage that cancels growth does not
// restart the period, and growth follows as soon as that stage allows it.
func TestALaterStageDoesNotChangeWhatWasWanted(t *testing.T) {
	r := newRun(2, Pacing{ScaleUpStabilization: time.Minute})
	r.ask(0, 9)
	for _, after := range []time.Duration{time.Minute, 2 * time.Minute} {
		d := r.ask(after, 9)
		if d.Target() != 9 {
			t.Fatalf("9 have been wanted for %s, got %d: %v", after, d.Target(), d.Steps)
		}
		r.record(r.input(after), d.Then("later", 2, "TakenBack", "there is another limit"))
	}
}

func TestAVariantThatIsNotInTheInputPasses(t *testing.T) {
	plan := scaling.Plan{At: start, Decisions: []scaling.Decision{{Variant: key, Model: model, Current: 3}}}
	if diff := cmp.Diff(plan, Apply(Input{Now: start}, plan)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
