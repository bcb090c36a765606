package counterfactual

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

var (
	at = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	of = scaling.ModelKey{Namespace: "ns", ID: "m"}
)

func key(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }

func fresh(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }

// fleet is a model of the queueing engine without changes for an hour. A replica of variant a costs
// 10, one of the equally fast b 12.
type fleet struct {
	setup cycle.Setup
	from  cycle.Case
}

func newFleet(rate float64, replicas scaling.Replicas) fleet {
	s := scaling.Snapshot{Model: of, At: at, Window: time.Minute, Load: scaling.Load{
		ArrivalRate: fresh(rate), InputTokens: fresh(256), OutputTokens: fresh(128), // no latencies: the profile stays as stated
		GatewayQueue: scaling.Reading{State: scaling.NotApplicable},
	}}
	history := memory.History{}
	for i, name := range []string{"a", "b"} {
		v := scaling.Variant{
			Key: key(name), Model: of, Target: scaling.TargetRef{Kind: "Deployment", Name: name}, Cost: 10 + 2*float64(i), CostSource: scaling.CostVariant,
			Bounds: scaling.Unbounded(), GPUsPerReplica: 1, StartUp: time.Minute,
			Profile: scaling.Profile{Source: "test", Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.01, MaxBatchSize: 64},
		}
		n := replicas
		if i > 0 {
			n = 0
		}
		v.Replicas = scaling.ReplicaCounts{Observed: true, Current: n, Ready: n}
		s.Variants = append(s.Variants, v)
		history[v.Key] = rested(memory.Past{}, v, n, at.Add(-time.Hour))
		for r := range n {
			s.Replicas = append(s.Replicas, scaling.ReplicaSample{
				Pod: fmt.Sprint(name, r), Variant: v.Key, Ready: true, KVCapacity: fresh(100_000), Running: fresh(4),
				KVCacheUsage: fresh(0.1), KVCacheUsageNow: fresh(0.1), QueueLength: fresh(0), QueueLengthNow: fresh(0),
			})
		}
	}
	how := settings.Default()
	how.Engine, how.Objective = settings.Queueing, scaling.Objective{Class: "premium", TTFT: 1000, ITL: 30}
	return fleet{
		cycle.Setup{Models: map[scaling.ModelKey]settings.Model{of: how}, Interval: time.Minute},
		cycle.Case{Now: at, Snapshots: []scaling.Snapshot{s}, History: history},
	}
}

// variant returns f with one variant changed.
func (f fleet) variant(name string, change func(*scaling.Variant)) fleet {
	f.from = withVariants(f.from, of, func(v *scaling.Variant) {
		if v.Key == key(name) {
			change(v)
		}
	})
	return f
}

func (f fleet) ask(t *testing.T) Answers {
	t.Helper()
	a, err := Ask(f.setup, f.from, key("a"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serves returns what a replica of the fleet serves within its objectives, in requests/s.
func serves(t *testing.T) float64 {
	t.Helper()
	f := newFleet(1, 1)
	e := f.setup.Expect(f.from, of)
	if len(e) != 1 || e[0].Serves < 1 {
		t.Fatalf("expected of a replica: %+v", e)
	}
	return e[0].Serves
}

func TestOneFewerMissesTheObjectiveByWhatTheProfileExpects(t *testing.T) {
	one := serves(t)
	a := newFleet(2.5*one, 3).ask(t)
	f := a.Fewer
	if a.Decided != 3 || f.Why != WhyLoad || f.Replicas != 2 || len(f.Orders) != 1 || f.Orders[0] != (Change{Variant: key("a"), From: 2, Wanted: 3, To: 3}) {
		t.Fatalf("decided %d, %+v", a.Decided, f)
	}
	e := f.Expected[0]
	if math.Abs(e.Rate-1.25*one) > 1e-6*one || !e.Overloaded && e.TTFTTooLong+e.ITLTooLong <= 0 {
		t.Errorf("with %g requests/s, which is 1.25 of what a replica serves, both objectives are met: %+v", e.Rate, e)
	}
	if e.ITLTooLong > 0 && math.Abs(e.ITL-30-e.ITLTooLong) > 1e-9 {
		t.Errorf("ITL %g ms misses 30 ms by %g ms", e.ITL, e.ITLTooLong)
	}
}

func TestARuleThatHoldsTheNumberIsNamed(t *testing.T) {
	one := serves(t)
	idle := newFleet(0.5*one, 3)
	for _, tc := range []struct {
		name    string
		fleet   fleet
		reasons []scaling.Reason
		without scaling.Replicas
	}{
		{"minReplicas", idle.variant("a", func(v *scaling.Variant) { v.Bounds.Min = 3 }), []scaling.Reason{scaling.ReasonBelowMin}, 1},
		{
			"scaleDownStabilization",
			fleet{withSettings(idle.setup, of, func(s *settings.Model) { s.Pacing.ScaleDownStabilization = time.Hour }), idle.from},
			[]scaling.Reason{scaling.ReasonStabilizing},
			1,
		},
		{"maxScaleDownStep", fleet{withSettings(idle.setup, of, func(s *settings.Model) { s.Pacing.MaxScaleDownStep = 1 }), idle.from}, []scaling.Reason{scaling.ReasonStepLimited}, 1},
		{
			"minReplicas and scaleDownStabilization",
			fleet{withSettings(idle.setup, of, func(s *settings.Model) { s.Pacing.ScaleDownStabilization = time.Hour }), idle.from}.
				variant("a", func(v *scaling.Variant) { v.Bounds.Min = 3 }),
			[]scaling.Reason{scaling.ReasonBelowMin, scaling.ReasonStabilizing},
			1,
		},
		{"approval", idle.variant("a", func(v *scaling.Variant) { v.Approval.Required = true }), []scaling.Reason{scaling.ReasonAwaitingApproval}, 1},
		{
			"a freeze window", idle.variant("a", func(v *scaling.Variant) { v.Freeze = scaling.Freeze{Allow: scaling.AllowGrowth, Window: "w"} }),
			[]scaling.Reason{scaling.ReasonGrowthOnly},
			1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := tc.fleet.ask(t)
			var got []scaling.Reason
			for _, s := range a.Fewer.Rules {
				got = append(got, s.Reason)
			}
			if a.Fewer.Why != WhyRule || fmt.Sprint(got) != fmt.Sprint(tc.reasons) || a.Fewer.Without != tc.without {
				t.Errorf("decided %d; %s by %v, without them %d; want %v, %d", a.Decided, a.Fewer.Why, got, a.Fewer.Without, tc.reasons, tc.without)
			}
		})
	}
}

func TestAPausedVariantWaits(t *testing.T) {
	for reason, change := range map[scaling.Reason]func(*scaling.Variant){
		scaling.ReasonPaused: func(v *scaling.Variant) { v.Paused = true },
		scaling.ReasonFrozen: func(v *scaling.Variant) { v.Freeze.Allow = scaling.AllowNone },
	} {
		a := newFleet(1, 3).variant("a", change).ask(t)
		if a.Fewer.Why != WhyWaits || a.Fewer.Rules[0].Reason != reason {
			t.Errorf("%s: got %+v", reason, a.Fewer)
		}
	}
}

func TestTheOtherVariantCostsMoreOrCannot(t *testing.T) {
	full := newFleet(2.5*serves(t), 3)
	for _, tc := range []struct {
		name   string
		fleet  fleet
		beside Beside
		cost   float64
	}{
		{"it is dearer", full, BesideDearer, 2},
		{"it costs the same", full.variant("b", func(v *scaling.Variant) { v.Cost = 10 }), BesideSame, 0},
		{"it is at its most", full.variant("b", func(v *scaling.Variant) { v.Bounds.Max = 0 }), BesideCannot, 2},
		{"it misses the objective", full.variant("b", func(v *scaling.Variant) { v.Profile.Alpha = 50 }), BesideCannot, 0},
		{"nothing is missing", newFleet(0.5, 3).variant("a", func(v *scaling.Variant) { v.Bounds.Min = 3 }), BesideUnneeded, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := tc.fleet.ask(t).Others[0]
			if o.Variant != key("b") || o.Beside != tc.beside || o.Cost != tc.cost {
				t.Errorf("got %+v, want %s at %g", o, tc.beside, tc.cost)
			}
		})
	}
}

func TestItGrowsWhereTheLoadExceedsWhatTheReplicasServe(t *testing.T) {
	one := serves(t)
	a := newFleet(2.5*one, 3).ask(t)
	if g := a.Grows; g.Kind != TurnFound || math.Abs(g.Rate-3*one) > 3*one*2*Precision {
		t.Errorf("grows at %g requests/s, want %g: %+v", g.Rate, 3*one, g)
	}
	// Without earlier growth, a reduction leaves two replicas filled to at most 95 %.
	if s := a.Shrinks; s.Kind != TurnFound || math.Abs(s.Rate-0.95*2*one) > 2*one*2*Precision {
		t.Errorf("shrinks at %g requests/s, want %g: %+v", s.Rate, 0.95*2*one, s)
	}
}

// TestItGrowsOnceTheReadingsShowTheFleet: the second replica became Ready 20 s ago, so that readings
// of a minute do not show what both carry. The saturation analyzer calls for a third by them.
func TestItGrowsOnceTheReadingsShowTheFleet(t *testing.T) {
	f := newFleet(serves(t), 2)
	how := f.setup.Models[of]
	how.Engine = settings.Saturation
	f.setup.Models[of] = how
	f.from = withSnapshot(f.from, of, func(s scaling.Snapshot) scaling.Snapshot {
		s.Replicas = slices.Clone(s.Replicas)
		for i := range s.Replicas {
			s.Replicas[i].KVCacheUsage, s.Replicas[i].KVCacheUsageNow = fresh(0.79), fresh(0.79)
			s.Replicas[i].QueueLength, s.Replicas[i].QueueLengthNow = fresh(9), fresh(9)
		}
		return s
	})
	p := f.from.History[key("a")]
	p.Change, p.ProgressAt = 1, at.Add(-20*time.Second)
	f.from.History[key("a")] = p
	a := f.ask(t)
	if want := at.Add(40 * time.Second); a.Grows.Kind != TurnLater || a.Grows.At.Sub(want).Abs() > time.Second {
		t.Fatalf("grows %q at %s, want %s: %+v", a.Grows.Kind, a.Grows.At, want, a.Grows)
	}
	if text := Report(a, at); !strings.Contains(text, "more than 2: at the load of now, in 40s, wanted 3, decided 3; until then: InTransition, not grown: ") {
		t.Errorf("the report does not say so:\n%s", text)
	}
}

func TestWithoutArrivalsNoRateIsAnnounced(t *testing.T) {
	f := newFleet(0, 1)
	if a := f.ask(t); a.Grows.Kind != TurnUnknown || a.Grows.Detail == "" {
		t.Errorf("got %+v", a.Grows)
	}
}

func TestAMaximumIsLifted(t *testing.T) {
	f := newFleet(2.5*serves(t), 1).variant("a", func(v *scaling.Variant) { v.Bounds.Max = 1 }).variant("b", func(v *scaling.Variant) { v.Bounds.Max = 0 })
	if a := f.ask(t); a.Decided != 1 || a.WithoutMax != 3 {
		t.Errorf("decided %d, without maxReplicas %d, want 3", a.Decided, a.WithoutMax)
	}
}

// TestAnOrderIsLateAfterTwoStartUps: a replica was ordered 30 s ago and a node has taken its pod.
// It is late after twice the usual start-up of a minute.
func TestAnOrderIsLateAfterTwoStartUps(t *testing.T) {
	f := newFleet(2.5*serves(t), 3).variant("a", func(v *scaling.Variant) { v.Replicas.Ready, v.Replicas.Pending = 2, 1 })
	f.from = withSnapshot(f.from, of, func(s scaling.Snapshot) scaling.Snapshot {
		s.Replicas = s.Replicas[:2]
		return s
	})
	p := f.from.History[key("a")]
	p.Desired, p.DecidedAt, p.ProgressAt, p.WholeAt, p.Gap = 3, at.Add(-30*time.Second), at.Add(-30*time.Second), time.Time{}, 1
	p.Change, p.Before = 1, 2
	p.Counts = scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 2, Pending: 1}
	p.Waits = memory.Waits{There: 2, Runs: []memory.Wait{{To: 3, Since: at.Add(-30 * time.Second)}}}
	f.from.History[key("a")] = p
	l := f.ask(t).Late
	if want := at.Add(90 * time.Second); l.Kind != LateAt || l.Missing != 1 || l.At.Sub(want).Abs() > time.Second {
		t.Errorf("late %s at %s, want %s: %+v", l.Kind, l.At, want, l)
	}
}

func TestAdviceOrdersNothingThatIsLate(t *testing.T) {
	f := newFleet(serves(t)*3, 2).variant("a", func(v *scaling.Variant) { v.Advisory = true })
	if l := f.ask(t).Late; l.Kind != LateNone || l.Missing != 0 {
		t.Errorf("got %+v, want that no order is under way", l)
	}
}

func TestWhatNoLongerFitsTheCacheWaits(t *testing.T) {
	f := newFleet(1, 1)
	s := Loaded(f.setup, f.from, of, 20).Snapshots[0]
	r := s.Replicas[0]
	// The cache holds 40 of 80 requests.
	if r.KVCacheUsageNow.Value != 1 || r.Running.Value != 40 || r.QueueLengthNow.Value != 40 || s.Load.ArrivalRate.Value != 20 {
		t.Errorf("20 times: usage %s, running %s, queue %s, arrivals %s", r.KVCacheUsageNow, r.Running, r.QueueLengthNow, s.Load.ArrivalRate)
	}
	if f.from.Snapshots[0].Replicas[0].Running.Value != 4 {
		t.Error("the input was modified")
	}
}

func TestAFleetAtRestHoldsWhatTheReadingsSay(t *testing.T) {
	f := newFleet(1, 3)
	rest, known := AtRest(f.from, of, map[scaling.VariantKey]scaling.Replicas{key("a"): 5})
	sum := 0.0
	for _, r := range rest.Snapshots[0].Replicas {
		sum += r.Running.Value
	}
	if n := len(rest.Snapshots[0].Replicas); !known || n != 5 || math.Abs(sum-12) > 1e-9 {
		t.Errorf("%d replicas that hold %g requests, want 5 with 12", n, sum)
	}
	if _, known := AtRest(f.from, of, map[scaling.VariantKey]scaling.Replicas{key("b"): 1}); known {
		t.Error("the load of a replica of b is said to be known, and none reports")
	}
}

func TestTheReportHasNoEmptyAnswer(t *testing.T) {
	one := serves(t)
	for _, f := range []fleet{newFleet(2.5*one, 3), newFleet(0.5, 3), newFleet(0, 1), newFleet(100*one, 0), newFleet(1, 1).variant("a", func(v *scaling.Variant) { v.Bounds.Min = 1 })} {
		text := Report(f.ask(t), at)
		for _, want := range []string{"  Why not fewer\n    ", "  What would change it\n    more than "} {
			if !strings.Contains(text, want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasSuffix(strings.TrimSpace(line), ":") && !strings.Contains(line, "decided now:") && !strings.Contains(line, "waits:") || strings.Contains(line, "%!") {
				t.Errorf("ends with a colon or holds a wrong verb: %q", line)
			}
		}
	}
}

func TestAVariantThatTheCycleDoesNotHaveIsRefused(t *testing.T) {
	f := newFleet(1, 1)
	if _, err := Ask(f.setup, f.from, key("other")); err == nil || !strings.Contains(err.Error(), "ns/other") {
		t.Errorf("got %v", err)
	}
}
