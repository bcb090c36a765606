package queueing

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestALargeBacklogBuysMoreThanOneReplica: the fleet serves what arrives, ten minutes of arrivals
// wait, and a replica takes two minutes to start.
func TestALargeBacklogBuysMoreThanOneReplica(t *testing.T) {
	v := variant("v", a100, 50)
	v.StartUp = 2 * time.Minute
	s := snapshot(0, v)
	per := Analyze(snapshot(1, v), objective, Default(), Memory{}).Variants[0].PerReplica
	rate := 48 * per
	s.Load.ArrivalRate, s.Load.GatewayQueue = fresh(rate), fresh(rate*600)
	a := Analyze(s, objective, Default(), Memory{Interval: time.Minute})
	if more := (a.Demand - a.Anticipated) / per; more < 10 || more > 50 {
		t.Errorf("%.3g replicas more, want 10 to 50 beside 50: the backlog is to be gone in about ten minutes", more)
	}
	s.Load.GatewayQueue = fresh(rate * 60)
	if a := Analyze(s, objective, Default(), Memory{Interval: time.Minute}); a.Demand > rate+per {
		t.Errorf("one minute of arrivals asks for %.3g requests/s beside the %.3g that arrive: the room of the batches clears it", a.Demand, rate)
	}
}

// TestAQueueThatStandsContradictsTheProfile: by the profiles the fleet serves all requests. Yet ten
// requests wait in each replica, and the queue does not become shorter.
func TestAQueueThatStandsContradictsTheProfile(t *testing.T) {
	analysis := func(change func(*scaling.Snapshot, *Memory)) scaling.Analysis {
		s := snapshot(10, variant("v", a100, 3))
		for i := range s.Replicas {
			s.Replicas[i].QueueLengthNow = fresh(10)
		}
		m := Memory{Interval: time.Minute, Backlog: memory.Backlog{Waiting: 30, At: at, StandsSince: at.Add(-3 * time.Minute)}}
		if change != nil {
			change(&s, &m)
		}
		return Analyze(s, objective, Default(), m)
	}
	if a := analysis(nil); a.Signal != scaling.Grow || !strings.Contains(a.Detail, "requests have waited since 11:57:00") {
		t.Errorf("%s: %s", a.Signal, a.Detail)
	}
	for name, change := range map[string]func(*scaling.Snapshot, *Memory){
		"for less than two windows": func(_ *scaling.Snapshot, m *Memory) { m.Backlog.StandsSince = at.Add(-time.Minute) },
		"and becomes shorter":       func(_ *scaling.Snapshot, m *Memory) { m.Backlog.StandsSince = time.Time{} },
		"and a replica is starting": func(s *scaling.Snapshot, _ *Memory) { s.Variants[0].Replicas.Current++ },
		"and a replica is new":      func(s *scaling.Snapshot, _ *Memory) { s.Variants[0].Replicas.NewestReady = at.Add(-time.Second) },
		"of less than one request for each replica": func(s *scaling.Snapshot, _ *Memory) {
			for i := range s.Replicas {
				s.Replicas[i].QueueLengthNow = fresh(1)
			}
		},
		"and three times as many replicas are there as are needed": func(s *scaling.Snapshot, _ *Memory) { s.Load.ArrivalRate = fresh(1) },
	} {
		if a := analysis(change); a.Signal == scaling.Grow {
			t.Errorf("a queue stands %s: grows: %s", name, a.Detail)
		}
	}
}

// uneven returns a fleet of two fast and two slow replicas. Every replica gets the same rate, 1.4
// times what a slow one completes.
func uneven(t *testing.T) scaling.Snapshot {
	t.Helper()
	fast := a100
	fast.Alpha, fast.Beta, fast.Gamma, fast.Delta = a100.Alpha/5, a100.Beta/5, a100.Gamma/5, a100.Delta/5
	completes := 1000 * 64 / (5.2 + 0.01*256*64 + 127*(20.58+0.41*64))
	s := snapshot(4*1.4*completes, variant("fast", fast, 2), variant("slow", a100, 2))
	for i := range s.Replicas {
		s.Replicas[i].Running = fresh(9.14) // Little's law: 14.7 requests/s that take 0.62 s
		if s.Replicas[i].Variant.Name == "slow" {
			s.Replicas[i].Running, s.Replicas[i].QueueLengthNow = fresh(64), fresh(200)
		}
	}
	s.Load.ITL, s.Load.TTFT = fresh(30), fresh(5000)
	return s
}

func TestAFleetIsFullWhenTheReplicasOfOneVariantAre(t *testing.T) {
	s := uneven(t)
	m := Remember(memory.Traffic{}, s, memory.Backlog{Waiting: 400, At: at, StandsSince: at.Add(-time.Minute)}, time.Minute, objective)
	want := []memory.Share{{Variant: s.Variants[0].Key, Weight: 1, Replicas: 2}, {Variant: s.Variants[1].Key, Weight: 1, Replicas: 2}}
	if diff := cmp.Diff(want, m.Traffic.Shares.Of, cmpopts.EquateApprox(0.05, 0)); diff != "" {
		t.Fatalf("shares (-want +got):\n%s", diff)
	}
	alone := Analyze(s, objective, Default(), Memory{})
	a := Analyze(s, objective, Default(), m)
	if alone.Anticipated < s.Load.ArrivalRate.Value {
		t.Fatalf("by the sum of what they can do, replicas serve %g of %g: the case shows nothing", alone.Anticipated, s.Load.ArrivalRate.Value)
	}
	if fast, slow := a.Variants[0].PerReplica, a.Variants[1].PerReplica; math.Abs(fast/slow-1) > 0.05 || a.Signal != scaling.Grow {
		t.Errorf("a fast replica carries %g and a slow one %g while each gets as much; %s", fast, slow, a.Signal)
	}
}

// TestMoreOfWhatIsNotFullIsNoRemedy: slow is full with its share of the requests, and fast is not.
// Unlike shares suggest that the gateway divides requests by variant, so that only more of slow
// helps.
func TestMoreOfWhatIsNotFullIsNoRemedy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		weight float64 // weight of fast; that of slow is 1
		change func(slow *scaling.Variant)
		fixed  bool
	}{
		{"unlike shares", 0.2, func(*scaling.Variant) {}, true},
		{"like shares", 1, func(*scaling.Variant) {}, false},
		{"more of slow are not allowed", 0.6, func(v *scaling.Variant) { v.Bounds.Max = 1 }, false},
		{"no node takes more of slow", 0.6, func(v *scaling.Variant) { v.Replicas.Current, v.Replicas.Unschedulable = 2, 1 }, false},
		{"slow is paused", 0.6, func(v *scaling.Variant) { v.Paused = true }, false},
	} {
		key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
		one := func(name string, rate float64, n scaling.Replicas) sizing {
			return sizing{rate: rate, most: rate, usable: true, variant: scaling.Variant{
				Key: key(name), Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: n, Ready: n},
			}}
		}
		sized := []sizing{one("fast", 10, 5), one("slow", 2, 1)}
		tt.change(&sized[1].variant)
		shares := memory.Shares{Of: []memory.Share{{Variant: key("fast"), Weight: tt.weight}, {Variant: key("slow"), Weight: 1}}}
		got := asShared(sized, shares)
		if got[0].fixed != tt.fixed || got[1].fixed || got[0].rate != 2*tt.weight || got[1].rate != 2 {
			t.Errorf("%s: fast is fixed %t, want %t; slow %t; they carry %g and %g", tt.name, got[0].fixed, tt.fixed, got[1].fixed, got[0].rate, got[1].rate)
		}
	}
}

// TestTheVariantThatIsFullIsARemedyWhateverItsShare: by rounding, a share times its inverse may be
// less than one.
func TestTheVariantThatIsFullIsARemedyWhateverItsShare(t *testing.T) {
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
	for i := range 100 {
		weight := 1 + float64(i)/300
		var sized []sizing
		for name, rate := range map[string]float64{"fast": 10, "slow": 2} {
			sized = append(sized, sizing{rate: rate, most: rate, usable: true, variant: scaling.Variant{
				Key: key(name), Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1},
			}})
		}
		for _, s := range asShared(sized, memory.Shares{Of: []memory.Share{{Variant: key("fast"), Weight: 0.6}, {Variant: key("slow"), Weight: weight}}}) {
			if slow := s.variant.Key == key("slow"); slow && (s.fixed || s.rate != 2) {
				t.Fatalf("slow gets %g: no more of it are allowed, or it carries %g and not 2", weight, s.rate)
			}
		}
	}
}

func TestSharesAreRememberedAndFollowed(t *testing.T) {
	s := uneven(t)
	backlog := memory.Backlog{Waiting: 400, At: at, StandsSince: at.Add(-time.Minute)}
	past := learn(memory.Shares{}, s, backlog)
	if len(past.Of) != 2 {
		t.Fatalf("learned %+v", past)
	}
	later := func(after time.Duration, change func(*scaling.Snapshot)) memory.Shares {
		next := uneven(t)
		next.At = at.Add(after)
		for i := range next.Replicas {
			next.Replicas[i].QueueLengthNow = fresh(0)
		}
		if change != nil {
			change(&next)
		}
		return learn(past, next, memory.Backlog{})
	}
	unknown := func(s *scaling.Snapshot) {
		for i := range s.Replicas {
			s.Replicas[i].Running = scaling.Reading{}
		}
	}
	if got := later(time.Hour, unknown); !got.At.Equal(at) || len(got.Of) != 2 {
		t.Errorf("an hour later, nothing is known: %+v", got)
	}
	if got := later(7*time.Hour, unknown); len(got.Of) != 0 {
		t.Errorf("seven hours later, nothing was seen again: %+v", got)
	}
	// Another routing: a slow replica computes a fifth of what a fast one does.
	by := func(s *scaling.Snapshot) {
		for i, r := range s.Replicas {
			s.Replicas[i].Running = fresh(20)
			if r.Variant.Name == "slow" {
				s.Replicas[i].Running = fresh(4)
			}
		}
	}
	got := later(time.Hour, by)
	fast, _ := got.Weight(s.Variants[0].Key)
	slow, _ := got.Weight(s.Variants[1].Key)
	if !got.At.Equal(at.Add(time.Hour)) || fast < 2*slow {
		t.Errorf("requests go where replicas are fast: weights of %g and %g at %s", fast, slow, got.At)
	}
	for name, change := range map[string]func(*scaling.Snapshot){
		"a replica is new":   func(s *scaling.Snapshot) { s.Variants[0].Replicas.NewestReady = at.Add(-time.Second) },
		"one has no profile": func(s *scaling.Snapshot) { s.Variants[0].Profile = scaling.Profile{} },
		"all have a queue": func(s *scaling.Snapshot) {
			s.Replicas[0].QueueLengthNow, s.Replicas[1].QueueLengthNow = fresh(9), fresh(9)
		},
		"the queue is too new":  nil,
		"they complete it all":  func(s *scaling.Snapshot) { s.Load.ArrivalRate = fresh(5) },
		"one variant, one only": func(s *scaling.Snapshot) { s.Replicas = s.Replicas[2:] },
	} {
		s, b := uneven(t), backlog
		if change == nil {
			b.StandsSince = at.Add(-time.Second)
		} else {
			change(&s)
		}
		if got := learn(memory.Shares{}, s, b); len(got.Of) != 0 {
			t.Errorf("%s: learned %+v", name, got)
		}
	}
}

// TestAnObjectiveMissedByALittleIsMetAsWellAsPossible: prompts grow a little, until even an idle
// replica misses the TTFT. The size of a replica does not jump.
func TestAnObjectiveMissedByALittleIsMetAsWellAsPossible(t *testing.T) {
	profile := scaling.Profile{Source: "x", Alpha: 20, Beta: 0.4, Gamma: 5, Delta: 0.05, MaxBatchSize: 64}
	o := scaling.Objective{TTFT: 1000, ITL: 60}
	sized := func(input float64) scaling.Analysis {
		s := snapshot(0.45, variant("v", profile, 20))
		s.Load.InputTokens, s.Load.OutputTokens = fresh(input), fresh(200)
		return Analyze(s, o, Default(), Memory{})
	}
	before, after := sized(19_000), sized(19_950) // 955 and 1002.5 ms without other load
	if before.Infeasible != nil || before.Reason == scaling.ReasonObjectiveInfeasible || len(after.Infeasible) != 1 || after.Reason != scaling.ReasonObjectiveInfeasible {
		t.Fatalf("before %+v, after %+v", before.Infeasible, after.Infeasible)
	}
	if ratio := after.Variants[0].PerReplica / before.Variants[0].PerReplica; after.Signal == scaling.Unknown || ratio < 0.2 || ratio > 5 {
		t.Errorf("a replica serves %g before and %g after; %s", before.Variants[0].PerReplica, after.Variants[0].PerReplica, after.Signal)
	}
	both := scaling.Objective{TTFT: 1000, ITL: 10}
	s := snapshot(0.45, variant("v", profile, 20))
	s.Load.InputTokens = fresh(19_950)
	if a := Analyze(s, both, Default(), Memory{}); a.Signal == scaling.Unknown || a.Variants[0].PerReplica <= 0 {
		t.Errorf("both objectives are out of reach: %s, %+v", a.Signal, a.Variants)
	}
}

// TestAVariantWithoutAProfileIsNoCandidate: such a variant carries its measured load and no more,
// and the other variants size the model.
func TestAVariantWithoutAProfileIsNoCandidate(t *testing.T) {
	s := snapshot(12, variant("v", a100, 3), variant("w", scaling.Profile{}, 1), variant("x", scaling.Profile{}, 0))
	for i := range s.Replicas {
		s.Replicas[i].Running = fresh(9)
	}
	a := Analyze(s, objective, Default(), Memory{})
	if a.Signal == scaling.Unknown || a.Supply <= 3 {
		t.Fatalf("%s: %s", a.Signal, a.Detail)
	}
	if v, w, x := a.Variants[0], a.Variants[1], a.Variants[2]; v.Fixed || !w.Fixed || !x.Fixed || w.PerReplica != 3 || x.PerReplica != 0 {
		t.Errorf("v %+v\nw %+v\nx %+v: want w to carry 12/4 and no more, and x nothing", v, w, x)
	}
	slow := scaling.Profile{Source: "x", Alpha: 50, Gamma: 5, MaxBatchSize: 8}
	a = Analyze(snapshot(3, variant("v", slow, 1), variant("w", a100, 0)), objective, Default(), Memory{})
	if !a.Variants[0].Fixed || a.Variants[1].Fixed {
		t.Errorf("one misses the objectives and another keeps them: %+v", a.Variants)
	}
}

// TestAnObjectiveHardlyInReachTakesNoFleetWithoutNumber: an idle replica has an ITL of 20.99 ms. As
// the objective approaches that, the rate of a replica falls to a floor, not to zero.
func TestAnObjectiveHardlyInReachTakesNoFleetWithoutNumber(t *testing.T) {
	last := math.Inf(1)
	for _, itl := range []float64{26, 23, 21.5, 21.1, 21, 20.991} {
		a := Analyze(snapshot(200, variant("v", a100, 5)), scaling.Objective{ITL: itl}, Default(), Memory{})
		per := a.Variants[0].PerReplica
		if per > last || per < 1 {
			t.Errorf("an ITL of %g ms: a replica serves %.3g requests/s, at the objective before %.3g", itl, per, last)
		}
		last = per
	}
}

// TestAReplicaIsNeverFilledToTheBrim: an ITL alone does not bound the wait.
func TestAReplicaIsNeverFilledToTheBrim(t *testing.T) {
	s := snapshot(5, variant("v", a100, 1))
	a := Analyze(s, scaling.Objective{ITL: 46}, Default(), Memory{}) // a full batch has 46.8 ms
	most := 1000 * 64 / (5.2 + 0.01*256*64 + 127*(20.58+0.41*64))
	if got := a.Variants[0].PerReplica / most; got > 0.95 {
		t.Errorf("a replica is filled to %.3f of what it completes", got)
	}
}

// TestNewReplicasFindLessInTheirPrefixCaches: new replicas are sized with half of the prefix hits,
// running ones with all.
func TestNewReplicasFindLessInTheirPrefixCaches(t *testing.T) {
	look := func(rate, hits float64) scaling.Analysis {
		s := snapshot(rate, variant("v", a100, 2))
		s.Load.InputTokens, s.Load.PrefixHits = fresh(15_000), fresh(hits)
		return Analyze(s, scaling.Objective{TTFT: 2000, ITL: 60}, Default(), Memory{})
	}
	warm, half := look(1, 0.7).Variants[0].PerReplica, look(1, 0.35).Variants[0].PerReplica
	if warm < 1.5*half {
		t.Fatalf("%g with all hits and %g with half of them: the case shows nothing", warm, half)
	}
	rate := 6 * warm
	a := look(rate, 0.7)
	if got, want := (a.Demand-a.Anticipated)/warm, 4*warm/half; math.Abs(got-want) > 1e-6*want {
		t.Errorf("%.3g replicas more, want %.3g: 4 at full hits, each of which serves %.3g of that", got, want, half/warm)
	}
	if a := look(1.9*warm, 0.7); a.Demand != 1.9*warm || a.Signal == scaling.Grow {
		t.Errorf("what runs has its caches: a demand of %g, want %g", a.Demand, 1.9*warm)
	}
	if a := look(3*warm, 0); a.Demand != 3*warm {
		t.Errorf("without hits there is nothing to lose: a demand of %g, want %g", a.Demand, 3*warm)
	}
}
