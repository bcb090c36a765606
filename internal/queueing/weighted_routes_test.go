package queueing

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// route returns a fleet of n fast and m slow replicas whose gateway sends the given part of the
// requests to slow. Requests wait in slow where its replicas complete less.
func route(t *testing.T, rate, part float64, n, m scaling.Replicas) scaling.Snapshot {
	t.Helper()
	fast := a100
	fast.Alpha, fast.Beta, fast.Gamma, fast.Delta = a100.Alpha/5, a100.Beta/5, a100.Gamma/5, a100.Delta/5
	s := snapshot(rate, variant("fast", fast, n), variant("slow", a100, m))
	s.Load.ITL = scaling.Reading{} // unknown: the profiles hold
	for i, r := range s.Replicas {
		p, gets := fast, rate*(1-part)/float64(n)
		if r.Variant.Name == "slow" {
			p, gets = a100, rate*part/float64(m)
		}
		runs, waits := runningAt(p, gets)
		s.Replicas[i].Running, s.Replicas[i].QueueLengthNow = fresh(runs), fresh(waits)
	}
	return s
}

// runningAt returns how many requests run, at most 64, and how many wait in a replica that gets a
// rate in requests/s.
func runningAt(p scaling.Profile, gets float64) (runs, waits float64) {
	for runs = 0; runs < 64; runs += 0.01 {
		if 1000*runs/(p.Gamma+p.Delta*256*runs+127*(p.Alpha+p.Beta*runs)) >= gets {
			return runs, 0
		}
	}
	return 64, 100
}

// looks returns the shares that are learned from one look at each fleet, two minutes apart.
func looks(t *testing.T, fleets ...scaling.Snapshot) (past memory.Shares) {
	t.Helper()
	backlog := memory.Backlog{Waiting: 100, At: at, StandsSince: at.Add(-time.Minute)}
	for i, s := range fleets {
		s.At = at.Add(time.Duration(i) * 2 * time.Minute)
		for k := range s.Replicas {
			s.Replicas[k].At = s.At
		}
		past = learn(past, s, backlog)
	}
	return past
}

func TestSharesByVariantAreSeenWhereAQueueStands(t *testing.T) {
	for _, tt := range []struct {
		name   string
		part   float64 // of one slow replica beside four fast ones
		change func(*scaling.Snapshot)
		by     bool
	}{
		{"half of all to one of five", 0.5, nil, true},
		{"a fifth, as much as any", 0.2, nil, false},
		{"half of all, and a fast one is silent", 0.5, func(s *scaling.Snapshot) {
			s.Replicas[0].Running, s.Replicas[0].QueueLengthNow = scaling.Reading{}, scaling.Reading{}
		}, true},
		{"a third, and the others' caches are as full", 0.34, func(s *scaling.Snapshot) {
			for i := range s.Replicas {
				s.Replicas[i].KVCacheUsageNow = fresh(0.9)
				s.Replicas[i].QueueLengthNow = fresh(s.Replicas[i].QueueLengthNow.Value / 10)
			}
		}, false},
	} {
		s := route(t, 60, tt.part, 4, 1)
		if tt.change != nil {
			tt.change(&s)
		}
		got := looks(t, s)
		if len(got.Of) != 2 || got.ByVariant != tt.by {
			t.Errorf("%s: by variant %t, want %t: %+v", tt.name, got.ByVariant, tt.by, got.Of)
		}
	}
}

// TestSharesNeedReadingsOfHalfTheReplicas: the silent replicas of a variant count as the others while
// at least half of them report.
func TestSharesNeedReadingsOfHalfTheReplicas(t *testing.T) {
	for silent, want := range []int{2, 2, 2, 0} {
		s := route(t, 60, 0.5, 4, 1)
		for i := range silent {
			s.Replicas[i].QueueLengthNow, s.Replicas[i].QueueLength = scaling.Reading{}, scaling.Reading{}
		}
		if got := looks(t, s); len(got.Of) != want {
			t.Errorf("%d of 4 are silent: got %+v, want %d shares", silent, got.Of, want)
		}
	}
}

// TestWhatIsThereByChanceIsNotTreatedUnlike: replicas count as treated unlike only where the
// difference is too large for chance.
func TestWhatIsThereByChanceIsNotTreatedUnlike(t *testing.T) {
	for _, tt := range []struct {
		running float64 // in each of the idle replicas
		ready   float64
		want    bool
	}{{0.5, 2, false}, {2, 1, false}, {0.1, 40, true}, {1, 40, true}, {3, 40, false}} {
		idle := flow{ready: tt.ready, running: tt.running, takes: 1000, completes: tt.running}
		full := flow{ready: 10, running: 4, takes: 1000, completes: 4, waits: 3, usage: 1}
		if got := treatedUnlike([]flow{idle, full}); got != tt.want {
			t.Errorf("%g run in each of %g: treated unlike %t, want %t", tt.running, tt.ready, got, tt.want)
		}
	}
}

// TestSharesByVariantAreToldByReplicasThatCome: new replicas show whether slow gets a third as a
// variant or as much per replica as fast.
func TestSharesByVariantAreToldByReplicasThatCome(t *testing.T) {
	by := func(n, m scaling.Replicas) scaling.Snapshot { return route(t, 40, 0.34, n, m) }
	each := func(n, m scaling.Replicas) scaling.Snapshot { return route(t, 40, float64(m)/float64(n+m), n, m) }
	full := route(t, 60, 0.5, 4, 1)
	for _, tt := range []struct {
		name   string
		fleets []scaling.Snapshot
		want   bool
	}{
		{"one to four", []scaling.Snapshot{route(t, 60, 0.2, 4, 1), by(4, 1), by(4, 4), by(4, 4), by(4, 4), by(8, 1), by(8, 1), by(8, 1)}, true},
		{"nothing came", []scaling.Snapshot{route(t, 60, 0.2, 4, 1), by(4, 1), by(4, 1), by(4, 1)}, false},
		{"as much as any", []scaling.Snapshot{route(t, 60, 0.2, 4, 1), each(4, 1), each(4, 4), each(4, 4), each(8, 1), each(8, 1)}, false},
		{"seen, and then as much as any", []scaling.Snapshot{full, each(4, 1), each(4, 1), each(4, 4), each(4, 4), each(4, 4)}, false},
		{"seen, and then told", []scaling.Snapshot{full, by(4, 1), by(4, 4), by(4, 4), by(1, 4), by(1, 4)}, true},
	} {
		if got := looks(t, tt.fleets...); got.ByVariant != tt.want {
			t.Errorf("%s: by variant %t, want %t: %+v", tt.name, got.ByVariant, tt.want, got)
		}
	}
}

// TestSharesByVariantAreRefutedByWhatReplicasStart: while replicas came one after the other and a
// queue stood, shares seemed to be by variant. The rate at which each replica starts requests shows
// the truth, even for replicas with few requests.
func TestSharesByVariantAreRefutedByWhatReplicasStart(t *testing.T) {
	full := route(t, 60, 0.5, 4, 1)
	starting := func(n, m scaling.Replicas, fast, slow float64) scaling.Snapshot {
		s := route(t, 4, 0.1, n, m)
		for i, r := range s.Replicas {
			s.Replicas[i].Pace.Started = fast
			if r.Variant.Name == "slow" {
				s.Replicas[i].Pace.Started = slow
			}
		}
		return s
	}
	young := starting(12, 1, 0.3, 0.3)
	young.Variants[0].Replicas.NewestReady = at.Add(2*time.Minute - time.Second)
	for name, tt := range map[string]struct {
		then scaling.Snapshot
		want bool
	}{
		"all alike":                    {starting(12, 1, 0.3, 0.3), false},
		"about alike":                  {starting(12, 1, 0.3, 0.4), false},
		"as by variant":                {starting(12, 1, 0.17, 2), true},
		"alike as by variant, too":     {starting(1, 1, 2, 2), true},
		"too few to compare":           {starting(12, 1, 0.01, 0.01), true},
		"one has just become Ready":    {young, true},
		"what they start is not known": {starting(12, 1, 0, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := looks(t, full, tt.then); got.ByVariant != tt.want {
				t.Errorf("by variant %t, want %t: %+v", got.ByVariant, tt.want, got)
			}
		})
	}
}

// TestEachVariantCarriesItsPart: slow is full with half of the requests. Spare capacity of fast
// does not help, and slow alone has to serve the requests that wait in it.
func TestEachVariantCarriesItsPart(t *testing.T) {
	s := route(t, 60, 0.5, 4, 1)
	m := Remember(memory.Traffic{}, s, memory.Backlog{Waiting: 100, At: at, StandsSince: at.Add(-time.Minute)}, time.Minute, objective)
	a := Analyze(s, objective, Default(), m)
	if !a.Apart || len(a.Ceilings) != 2 || !strings.Contains(a.Detail, "50 % to fast, 50 % to slow") {
		t.Fatalf("apart %t, %d limits: %s", a.Apart, len(a.Ceilings), a.Detail)
	}
	for i, c := range a.Ceilings {
		others := 0.0
		for k, l := range c.Variants {
			if k != i {
				others += l.PerReplica
			}
		}
		rate, least := a.Variants[i].PerReplica, []float64{30, 31}[i]
		if others != 0 || math.Abs(c.Variants[i].PerReplica-rate) > 1e-9 || c.Demand < 0.95*least {
			t.Errorf("%s: %g of each of %s, %g of others, %g are asked for, want %g", c.Name, c.Variants[i].PerReplica, a.Variants[i].Variant, others, c.Demand, least)
		}
	}
	if a.Ceilings[0].Demand > 31.5 {
		t.Errorf("fast, in which nothing waits, is to carry %g of 30", a.Ceilings[0].Demand)
	}
}
