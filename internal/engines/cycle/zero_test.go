package cycle

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// restLate is how much later than its retention period a model may go to zero, beside the interval
// of the cycles. A source shows the last request for a window and two looks, and a scrape is up to
// a tick old.
const restLate = restWindow + 3*restTick

// TestZeroIsReachedByTheRetentionPeriodAndNeverBefore runs histories of requests, outages, pods
// that do not report, restarts and configuration changes, with and without a gateway, at cycles of
// 15 s to a minute.
func TestZeroIsReachedByTheRetentionPeriodAndNeverBefore(t *testing.T) {
	zeros, woken := 0, 0
	for seed := range uint64(race.Cases(60)) {
		r := rand.New(rand.NewPCG(seed, 88))
		s := newRest(constrain.Zero{}, 2, 1)
		s.configure(r)
		s.gateway, s.interval = seed%3 > 0, []time.Duration{restTick, 2 * restTick, 4 * restTick}[seed%4%3]
		s.remember = seed%5 > 0 || s.interval == 4*restTick // looks a minute apart do not overlap
		busy := false
		uncertain := s.now // when the last obstacle to knowing that the model is idle ended
		for tick := range 600 {
			if restarted := s.befall(r); restarted && !s.remember {
				uncertain = s.now
			}
			if r.IntN(25) == 0 {
				busy = !busy && r.IntN(2) == 0
			}
			if s.pass(); busy && r.IntN(4) == 0 {
				s.arrive(time.Duration(r.ExpFloat64() * float64(time.Minute)))
			}
			before, ready := s.replicas()
			blind := s.blind.After(s.now) || s.stopped.After(s.now)
			if blind || s.half.After(s.now) || before == 0 || ready < before {
				uncertain = s.now
			}
			if time.Duration(tick)*restTick%s.interval != 0 {
				continue
			}
			waiting, _ := s.held()
			s.decide()
			after, _ := s.replicas()
			idle, known, late := s.now.Sub(s.lastActive()), s.now.Sub(uncertain), s.interval+restLate
			fail := func(what string) {
				t.Fatalf("seed %d at %s: %s: %d of %d replicas stay, idle for %s, known for %s, %+v\n%+v", seed, s.now.Sub(now), what, after, before, idle, known, s.zero, s.last)
			}
			switch {
			case before > 0 && after == 0 && !s.zero.Enabled:
				fail("zero is off")
			case before > 0 && after == 0 && idle <= s.zero.Retention:
				fail("a request was there within the period")
			case before > 0 && after == 0 && blind && s.now.Sub(s.outage[0]) >= time.Minute:
				fail("zero on what is not known")
			case before > 0 && after == 0:
				zeros++
			case before == 0 && after == 0 && !s.zero.Enabled:
				fail("zero is off and none starts")
			case before == 0 && after == 0 && waiting > 0 && !blind:
				fail("a request waits and no replica starts")
			case before == 0 && after > 0:
				woken++
			case s.zero.Enabled && after > 0 && idle > s.zero.Retention+late && known > s.zero.Retention+late:
				fail("it is idle for longer")
			}
			if after > before {
				uncertain = s.now
			}
		}
	}
	if zeros < race.Cases(100) || woken < race.Cases(60) {
		t.Errorf("to zero %d times and back %d times, which shows little", zeros, woken)
	}
	t.Logf("to zero %d times, back %d times", zeros, woken)
}

func TestAModelGoesToZeroWhenItIsKnownToBeIdle(t *testing.T) {
	const retention = 10 * time.Minute
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for name, tt := range map[string]struct {
		change func(s *idlePlant)
		least  time.Duration // until zero; 0: never
	}{
		"after its period":                      {func(s *idlePlant) { s.arrive(0) }, retention},
		"without a gateway":                     {func(s *idlePlant) { s.gateway = false; s.arrive(0) }, retention},
		"at a cycle a minute":                   {func(s *idlePlant) { s.interval = time.Minute; s.arrive(0) }, retention},
		"no request ever, as the source knows":  {func(*idlePlant) {}, restTick},
		"a generation that outlasts the period": {func(s *idlePlant) { s.arrive(minutes(60)) }, 0},
		"and when it ends":                      {func(s *idlePlant) { s.arrive(minutes(15)) }, minutes(25)},
		"the source stopped for longer":         {func(s *idlePlant) { s.arrive(0); s.stop(minutes(40)) }, 0},
		"it does not answer for longer":         {func(s *idlePlant) { s.arrive(0); s.blind = s.now.Add(minutes(40)) }, 0},
		"half of the pods do not report":        {func(s *idlePlant) { s.arrive(0); s.half = s.now.Add(minutes(40)) }, 0},
		"zero is off":                           {func(s *idlePlant) { s.zero.Enabled = false }, 0},
		"a variant has a minimum":               {func(s *idlePlant) { s.variants[1].Bounds.Min = 1 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRest(constrain.Zero{Enabled: true, Retention: retention}, 2, 1)
			tt.change(s)
			got := s.live(minutes(40) - restTick)
			if got < tt.least || tt.least == 0 && got > 0 || tt.least > 0 && (got == 0 || got > tt.least+s.interval+restLate) {
				t.Errorf("at zero after %s, want %s (0 is never) and no more than %s later", got, tt.least, s.interval+restLate)
			}
			if current, _ := s.replicas(); tt.least == 0 && current == 0 {
				t.Error("nothing is left")
			}
		})
	}
}

// TestARequestRightAfterEachLookIsNotMissed: with a cycle a minute and a window of a minute, the
// rates of a look begin with the first scrape after the look before. A request that ends before
// that scrape is in none of them.
func TestARequestRightAfterEachLookIsNotMissed(t *testing.T) {
	for _, remember := range []bool{true, false} {
		s := newRest(constrain.Zero{Enabled: true, Retention: 5 * time.Minute}, 1)
		s.interval, s.remember = time.Minute, remember
		s.arrive(0)
		for minute := range 30 {
			if s.live(s.interval) > 0 {
				t.Fatalf("the source can be asked %t: at zero after %d minutes with a request each", remember, minute+1)
			}
			s.arrive(0)
		}
	}
}

// TestTheLastReplicaIsOnTheCheapestVariant where scale to zero is off.
func TestTheLastReplicaIsOnTheCheapestVariant(t *testing.T) {
	s := newRest(constrain.Zero{Retention: 5 * time.Minute}, 2, 1, 3)
	s.live(20 * time.Minute)
	for i, want := range []scaling.Replicas{0, 1, 0} {
		if got := s.variants[i].Replicas.Current; got != want {
			t.Errorf("%s has %d replicas, want %d", s.variants[i].Key.Name, got, want)
		}
	}
}

// dearServes returns a plant that may not go to zero, with one Ready replica of b, the
// dear variant, and none of a, the cheap one.
func dearServes() *idlePlant {
	s := newRest(constrain.Zero{Retention: 5 * time.Minute}, 1, 5)
	s.variants[0].Replicas = scaling.ReplicaCounts{Observed: true}
	return s
}

// TestTheLastReplicaMovesToTheCheapestVariant: the new replica is Ready before the old one is
// removed, so that there is always a replica. It also works where the source does not remember the
// time of the start.
func TestTheLastReplicaMovesToTheCheapestVariant(t *testing.T) {
	for _, remember := range []bool{true, false} {
		s := dearServes()
		s.remember = remember
		moved := time.Duration(0)
		for began := s.now; s.now.Sub(began) < 40*time.Minute; {
			s.live(restTick)
			if _, ready := s.replicas(); ready == 0 {
				t.Fatalf("the source remembers %t: no replica is Ready after %s", remember, s.now.Sub(began))
			}
			if a, b := s.variants[0].Replicas, s.variants[1].Replicas; moved == 0 && a.Ready == 1 && b.Current == 0 {
				moved = s.now.Sub(began)
			}
		}
		if moved == 0 {
			t.Errorf("the source remembers %t: a has %+v and b %+v, want one replica of a", remember, s.variants[0].Replicas, s.variants[1].Replicas)
		}
		t.Logf("the source remembers %t: moved after %s", remember, moved)
	}
}

// TestTheLastReplicaStaysWhereTheCheapestVariantDoesNotBecomeReady: the new replica is given up
// after twice its start-up and the stabilization period of reductions. It is tried again after an
// hour.
func TestTheLastReplicaStaysWhereTheCheapestVariantDoesNotBecomeReady(t *testing.T) {
	s := dearServes()
	s.failing = 1
	tried, running, said := 0, 0, ""
	for began := s.now; s.now.Sub(began) < 3*time.Hour; {
		before := s.variants[0].Replicas.Current
		s.live(restTick)
		if b := s.variants[1].Replicas; b.Ready != 1 || b.Current != 1 {
			t.Fatalf("b has %+v after %s", b, s.now.Sub(began))
		}
		if now := s.variants[0].Replicas.Current; now > before {
			tried++
		} else if now > 0 {
			running++
		}
		for _, d := range s.last.Decisions {
			if cause := d.Cause().Detail; d.Variant == s.variants[1].Key && strings.Contains(cause, "was given up") {
				said = cause
			}
		}
	}
	if tried < 2 || tried > 3 {
		t.Errorf("a was started %d times in 3 hours, want once an hour", tried)
	}
	if each := time.Duration(running) * restTick / time.Duration(max(1, tried)); each > 2*restStartUp+2*time.Minute+2*restTick {
		t.Errorf("it ran for %s each time", each)
	}
	if !strings.Contains(said, "the last replica stays on b: the cheapest variant, a, was given up") {
		t.Errorf("b says %q", said)
	}
}

// TestAnIdleFleetThatMayNotGoToZeroIsTakenDownStepByStep: the end of the retention period does not
// remove several replicas at once.
func TestAnIdleFleetThatMayNotGoToZeroIsTakenDownStepByStep(t *testing.T) {
	s := newRest(constrain.Zero{Retention: 5 * time.Minute}, 1)
	s.variants[0].Bounds.Max = 100
	s.variants[0].Replicas = scaling.ReplicaCounts{Observed: true, Current: 30, Ready: 30, NewestReady: now.Add(-time.Hour)}
	var last time.Time
	for began := s.now; s.now.Sub(began) < time.Hour; {
		before := s.variants[0].Replicas.Current
		s.live(restTick)
		switch after := s.variants[0].Replicas.Current; {
		case before-after > 1:
			t.Fatalf("from %d to %d replicas at once", before, after)
		case after < before && s.now.Sub(last) < restWindow:
			t.Fatalf("from %d to %d replicas %s after the step before", before, after, s.now.Sub(last))
		case after < before:
			last = s.now
		}
	}
	if got := s.variants[0].Replicas.Current; got != 1 {
		t.Errorf("%d replicas after an hour, want the last one", got)
	}
}

// TestARestartOneSecondBeforeThePeriodEnds: the period counts from the last request, not from the
// start of the process.
func TestARestartOneSecondBeforeThePeriodEnds(t *testing.T) {
	const retention = 10 * time.Minute
	s := newRest(constrain.Zero{Enabled: true, Retention: retention}, 1)
	s.arrive(0)
	if got := s.live(retention - restTick); got > 0 {
		t.Fatalf("at zero after %s already", got)
	}
	s.restart()
	if got := s.live(5 * time.Minute); got == 0 || got > restTick+s.interval+restLate {
		t.Errorf("at zero %s after a restart just before the end of the period", got)
	}
}

// asleep returns a plant at zero.
func asleep(t *testing.T, costs ...float64) *idlePlant {
	t.Helper()
	s := newRest(constrain.Zero{Enabled: true, Retention: 2 * time.Minute}, costs...)
	if s.live(20*time.Minute) == 0 {
		t.Fatal("it does not go to zero")
	}
	return s
}

// wakes runs cycles with a waiting request. It returns the variants with replicas after each cycle,
// and the reasons of the last decisions.
func (s *idlePlant) wakes(cycles int) (up []string, reasons []string) {
	for range cycles {
		s.pass()
		s.decide()
		var names []string
		for _, v := range s.variants {
			if v.Replicas.Current > 0 {
				names = append(names, v.Key.Name)
			}
		}
		up = append(up, strings.Join(names, "+"))
	}
	for _, d := range s.last.Decisions {
		reasons = append(reasons, d.Variant.Name+" "+string(d.Cause().Reason))
	}
	return up, reasons
}

func TestARequestWakesTheCheapestVariantAlone(t *testing.T) {
	s := asleep(t, 5, 1, 3)
	s.arrive(time.Minute)
	up, _ := s.wakes(8)
	for i, names := range up {
		if names != "b" {
			t.Errorf("cycle %d: %q have replicas, want b alone (%q)", i, names, up)
		}
	}
	if waiting, _ := s.held(); waiting > 0 {
		t.Errorf("%g requests still wait", waiting)
	}
}

// TestAVariantThatNoNodeTakesGivesWayToTheNext: the nodes of the first variant are cordoned.
func TestAVariantThatNoNodeTakesGivesWayToTheNext(t *testing.T) {
	s := asleep(t, 1, 5)
	s.unschedulable = 1
	s.arrive(time.Minute)
	up, reasons := s.wakes(6) // 15 s apart; the first cycle knows no pods yet
	if up[4] != "a" || up[5] != "a+b" {
		t.Errorf("%q have replicas, want the cheapest for a minute and then the other too", up)
	}
	if got := strings.Join(reasons, ", "); !strings.Contains(got, "b "+string(scaling.ReasonNotReadyInTime)) {
		t.Errorf("reasons %q, want that of b to say why", got)
	}
	if up, _ = s.wakes(8); s.variants[1].Replicas.Ready == 0 {
		t.Errorf("the other one does not serve: %q", up)
	}
}

// TestAVariantThatIsLateGivesWayToTheNext: the pods of the first variant have nodes, and are not
// Ready after 1.5 times the start-up of 45 s. The cycle has to remember when it called them.
func TestAVariantThatIsLateGivesWayToTheNext(t *testing.T) {
	s := asleep(t, 1, 5)
	s.failing = 1
	s.arrive(time.Minute)
	up, reasons := s.wakes(6)
	if up[4] != "a" || up[5] != "a+b" {
		t.Errorf("%q have replicas, want the cheapest for 60 s, and the other too after 75 s", up)
	}
	if got := strings.Join(reasons, ", "); !strings.Contains(got, "b "+string(scaling.ReasonNotReadyInTime)) {
		t.Errorf("reasons %q, want that of b to say why", got)
	}
}

// TestAVariantThatAQuotaRefusesGivesWayAtOnce: the next variant is called by the next cycle and
// stays called while it starts. Where no variant gets any, they are tried in turn.
func TestAVariantThatAQuotaRefusesGivesWayAtOnce(t *testing.T) {
	limited := func(quota map[string]scaling.Accelerators) *idlePlant {
		s := asleep(t, 1, 5)
		s.setup.Models = map[scaling.ModelKey]settings.Model{restModel: {Limited: true}}
		s.setup.Inventory.Known = true
		for i := range s.variants {
			name := s.variants[i].Key.Name
			s.variants[i].Accelerator = name
			s.setup.Inventory.Groups = append(s.setup.Inventory.Groups, scaling.NodeGroup{Accelerator: name, Total: 8, Free: []scaling.FreeNodes{{GPUs: 8, Nodes: 1}}})
			s.setup.Quotas = append(s.setup.Quotas, scaling.Quota{Namespace: "ns", Accelerator: name, GPUs: quota[name]})
		}
		s.arrive(time.Hour)
		return s
	}
	s := limited(map[string]scaling.Accelerators{"b": 8})
	up, _ := s.wakes(4)
	if diff := cmp.Diff([]string{"", "b", "b", "b"}, up); diff != "" {
		t.Errorf("replicas of (-want +got):\n%s", diff)
	}
	for _, freed := range []string{"a", "b"} {
		s := limited(nil)
		if up, _ := s.wakes(6); strings.Join(up, "") != "" {
			t.Fatalf("%q have replicas without a quota for any", up)
		}
		for i := range s.setup.Quotas {
			if s.setup.Quotas[i].Accelerator == freed {
				s.setup.Quotas[i].GPUs = 8
			}
		}
		if up, reasons := s.wakes(3); up[1] != freed || up[2] != freed {
			t.Errorf("%q have replicas after the quota for %s was raised, want that within two cycles (%q)", up, freed, reasons)
		}
	}
}

// TestADeletedTargetDoesNotKeepTheModelAtZero: the variant of the target stays, with a decision for
// one replica.
func TestADeletedTargetDoesNotKeepTheModelAtZero(t *testing.T) {
	for name, tt := range map[string]struct {
		gone    bool
		enabled bool
		want    int // the first cycle, from 0, after which b has a replica
	}{
		"deleted":                       {true, true, 0},
		"deleted, and zero is off":      {true, false, 0},
		"cannot be read":                {false, true, 20}, // of 15 s each
		"cannot be read and it is kept": {false, false, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRest(constrain.Zero{Enabled: false, Retention: 2 * time.Minute}, 1, 5)
			s.live(20 * time.Minute)
			if current, _ := s.replicas(); current != 1 || s.variants[0].Replicas.Current != 1 {
				t.Fatalf("%d replicas stay, want one, of the first", current)
			}
			s.zero.Enabled = tt.enabled
			s.variants[0].Replicas, s.variants[0].Gone = scaling.ReplicaCounts{}, tt.gone
			s.unread = true
			s.arrive(time.Hour)
			up, _ := s.wakes(30)
			if got := slices.IndexFunc(up, func(names string) bool { return strings.Contains(names, "b") }); got != tt.want {
				t.Errorf("b has a replica after cycle %d, want %d: %q", got, tt.want, up)
			}
		})
	}
}

// TestAnUnreadTargetThatServesIsNotReplaced: a pod of the target is Ready for hours, with or
// without requests.
func TestAnUnreadTargetThatServesIsNotReplaced(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		s := newRest(constrain.Zero{Enabled: enabled, Retention: 2 * time.Minute}, 1, 5)
		s.variants[1].Replicas = scaling.ReplicaCounts{Observed: true}
		for i, desired := range []scaling.Replicas{1, 0} {
			s.past[s.variants[i].Key] = memory.Past{Target: s.variants[i].Target, Desired: desired, DecidedAt: s.now.Add(-time.Hour)}
		}
		s.arrive(time.Hour)
		for range 2 * int(time.Hour/restTick) {
			s.pass()
			snap := s.snapshot()
			snap.Variants[0].Replicas, snap.Variants[0].Missing = scaling.ReplicaCounts{}, "no answer"
			verdict := s.under(constrain.Pacing{Zero: s.zero}).Decide(Case{Now: s.now, Snapshots: []scaling.Snapshot{snap}, History: s.past})
			for _, d := range verdict.Plan.Decisions {
				if d.Variant == s.variants[1].Key && d.Target() > 0 {
					t.Fatalf("zero enabled %t: %s is called %s after the other could last be read: %+v", enabled, d.Variant, s.now.Sub(now), d.Steps)
				}
			}
			s.past = verdict.History
		}
	}
}
