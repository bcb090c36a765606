package queueing

import (
	"math"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// saw returns the evidence of requests at utilization used; missed is the part of them that missed
// the objectives.
func saw(requests, used, missed float64) memory.Evidence {
	return memory.Evidence{Requests: requests, Used: requests * used, Cubed: requests * math.Pow(used, memory.Steepness), Missed: requests * missed}
}

// TestLearnedIsWhatFewMissesSay: the allowance of the error budget changes how many requests may
// miss. Without evidence, the allowance itself is the result.
func TestLearnedIsWhatFewMissesSay(t *testing.T) {
	o := scaling.Objective{TTFT: 1000, ITL: 50, Attainment: 0.95}
	for name, tt := range map[string]struct {
		seen                   memory.Evidence
		allowance, least, most float64
	}{
		"nothing seen":                        {memory.Evidence{}, 1, 1, 1},
		"none misses":                         {saw(1e6, 1, 0), 1, 1.24, 1.25},
		"as many miss as may":                 {saw(1e6, 1, 0.05), 1, 1, 1.01},
		"too many miss":                       {saw(1e6, 1, 0.3), 1, 1, 1},
		"none misses at half":                 {saw(1e6, 0.5, 0), 1, 1, 1},
		"more load was seen to do":            {saw(1e6, 2, 0.01), 1, 2.49, 2.5},
		"a few miss at more":                  {saw(1e6, 2, 0.04), 1, 2.1, 2.2},
		"ten requests say little":             {saw(10, 1, 0), 1, 1, 1.02},
		"a profile of another kind":           {saw(1e9, 50, 0), 1, learnedMost - 1e-5, learnedMost},
		"overdrawn, nothing seen":             {memory.Evidence{}, 0.6, 0.6, 0.6},
		"overdrawn, none misses":              {saw(1e9, 1, 0), 0.6, 1.249, 1.25},
		"overdrawn, as many miss as may":      {saw(1e9, 1, 0.05), 0.6, 0.6, 0.601},
		"overdrawn, as many miss at less":     {saw(1e9, 0.5, 0.05), 0.6, 0.6, 0.601},
		"overdrawn, a tenth misses at twice":  {saw(1e9, 2, 0.005), 0.6, 2.49, 2.501},
		"budget is left, none misses":         {saw(1e9, 1, 0), 1.2, 1.499, 1.501},
		"budget is left, and too many missed": {saw(1e9, 1, 0.2), 1.2, 1.2, 1.201},
	} {
		if got := learned(tt.seen, o, tt.allowance); got < tt.least || got > tt.most {
			t.Errorf("%s: learned %.4f, want %.3f to %.3f", name, got, tt.least, tt.most)
		}
	}
}

func TestLearnedFallsWithMissesAndIsBounded(t *testing.T) {
	o := scaling.Objective{TTFT: 1000, Attainment: 0.99}
	if err := quick.Check(func(n uint16, used, missed, more float64) bool {
		part := func(x float64) float64 { return math.Abs(math.Mod(x, 1)) }
		e := saw(float64(n), 3*part(used), part(missed))
		worse := e
		worse.Missed += float64(n) * part(more) * (1 - part(missed))
		a, b := learned(e, o, 1), learned(worse, o, 1)
		return a >= 1 && a <= learnedMost && b <= a
	}, nil); err != nil {
		t.Error(err)
	}
}

// TestAFleetThatKeepsItsObjectiveIsFilledFurther: an hour at the promised load without a miss
// raises what a replica is given. An hour of misses takes that back.
func TestAFleetThatKeepsItsObjectiveIsFilledFurther(t *testing.T) {
	o := objective
	o.TTFT, o.ITL = 1000, 60
	within := func(rate float64) scaling.Histogram {
		return scaling.Histogram{State: scaling.Fresh, Buckets: []scaling.Bucket{{Bound: 50, Rate: rate}, {Bound: 1000, Rate: rate}, {Bound: 5000, Rate: 20}}, Total: 20}
	}
	at := func(traffic memory.Traffic, late bool, minute int) (scaling.Analysis, memory.Traffic) {
		s := snapshot(20, variant("v", a100, 5))
		s.At = s.At.Add(time.Duration(minute) * time.Minute)
		s.Load.TTFTBuckets, s.Load.RequestITLBuckets = within(20), within(20)
		if late {
			s.Load.TTFTBuckets = within(0)
		}
		a := Analyze(s, o, Default(), Memory{Traffic: traffic})
		return a, Learn(traffic, s, o, a)
	}
	var traffic memory.Traffic
	first, traffic := at(traffic, false, 0)
	used := 20 / first.Promised
	if used < 0.4 || used > 1.2 {
		t.Fatalf("the fleet is used to %.2f: the test wants it busy", used)
	}
	last := first
	for minute := 1; minute < 60; minute++ { // an hour without a miss
		last, traffic = at(traffic, false, minute)
	}
	want := math.Max(1, math.Pow(min(used*1.25, learnedMost), 0.95))
	if got := last.Variants[0].PerReplica / first.Variants[0].PerReplica; got < want {
		t.Errorf("used to %.2f without a miss for an hour, a replica is given %.3f times what it was, want %.3f", used, got, want)
	}
	if used*1.25 > 1.01 && !strings.Contains(last.Detail, "times what the profiles promise, so a replica serves") {
		t.Errorf("it does not say why: %s", last.Detail)
	}
	overdrawn := func(missed float64) float64 {
		of := memory.Traffic{Evidence: saw(1e6, 2, 0)}
		of.Budget = memory.Budget{Ended: 1e6, Missed: 1e6 * missed, Hours: 1}
		a, _ := at(of, false, 60)
		return a.Variants[0].PerReplica / first.Variants[0].PerReplica
	}
	if few, many := overdrawn(2*(1-o.Share())), overdrawn(6*(1-o.Share())); few < 1 || many > 0.71 {
		t.Errorf("while twice as many miss as may, a replica is given %.3f times what it was, want 1 or more by the evidence; "+
			"while six times as many do, %.3f, want the least allowance, 0.7: they miss at times that the evidence does not show", few, many)
	}
	for minute := 60; minute < 120; minute++ {
		last, traffic = at(traffic, true, minute)
	}
	if times := learned(traffic.Evidence, o, 1); times != 1 {
		t.Errorf("after an hour in which all missed, %.3f is learned, want 1", times)
	}
}

// TestWhatDoesWellIsLearnedAtTheFirstLook: the first look counts if the replicas are not new or if
// few requests miss. The evidence stays while new replicas start.
func TestWhatDoesWellIsLearnedAtTheFirstLook(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := scaling.Objective{TTFT: 1000}
	look := func(e memory.Evidence, minute int, ready time.Duration, promised, late float64) memory.Evidence {
		s := scaling.Snapshot{At: now.Add(time.Duration(minute) * time.Minute), Window: time.Minute}
		s.Variants = []scaling.Variant{{Replicas: scaling.ReplicaCounts{Observed: true, Ready: 1, NewestReady: s.At.Add(-ready)}}}
		s.Load.ArrivalRate = scaling.Measured(10, scaling.Fresh)
		s.Load.TTFTBuckets = scaling.Histogram{State: scaling.Fresh, Buckets: []scaling.Bucket{{Bound: 1000, Rate: 10 * (1 - late)}, {Bound: 10000, Rate: 10}}, Total: 10}
		s.Load.ITLBuckets = s.Load.TTFTBuckets
		return e.Then(s, o, promised, 1, false, false)
	}
	for name, tt := range map[string]struct {
		ready time.Duration
		late  float64
		want  float64 // requests that count
	}{
		"old replicas":                      {time.Hour, 0.2, 600},
		"old replicas that do well":         {time.Hour, 0.01, 600},
		"a new replica, and too many miss":  {time.Second, 0.2, 0},
		"a new replica, and all is as well": {time.Second, 0.01, 600},
	} {
		if got := look(memory.Evidence{}, 0, tt.ready, 5, tt.late).Requests; math.Abs(got-tt.want) > 1 {
			t.Errorf("%s: %.0f requests count at the first look, want %.0f", name, got, tt.want)
		}
	}
	e := look(memory.Evidence{}, 0, time.Hour, 5, 0.01)
	for minute := 1; minute <= 120; minute++ { // the promise grows by a fifth each minute, so no look counts
		e = look(e, minute, time.Hour, 5*math.Pow(1.2, float64(minute)), 0.3)
	}
	if got := learned(e, o, 1); got < 1.5 {
		t.Errorf("after two hours in which nothing was seen, %.2f is learned, want 1.5 and more", got)
	}
}

// TestWhatAStartOrAnOverloadMissesIsNotLearned: such a window and the one after it do not count.
func TestWhatAStartOrAnOverloadMissesIsNotLearned(t *testing.T) {
	o := scaling.Objective{TTFT: 1000}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	look := func(e memory.Evidence, minute int, promised, met float64, queued, overdrawn bool) memory.Evidence {
		s := scaling.Snapshot{At: now.Add(time.Duration(minute) * time.Minute), Window: time.Minute}
		s.Variants = []scaling.Variant{{Replicas: scaling.ReplicaCounts{Observed: true, Ready: 1, NewestReady: now.Add(-time.Hour)}}}
		s.Load.ArrivalRate = scaling.Measured(10, scaling.Fresh)
		s.Load.TTFTBuckets = scaling.Histogram{State: scaling.Fresh, Buckets: []scaling.Bucket{{Bound: 1000, Rate: met}, {Bound: 10000, Rate: 10}}, Total: 10}
		s.Load.ITLBuckets = s.Load.TTFTBuckets
		return e.Then(s, o, promised, 1, queued, overdrawn)
	}
	for name, tt := range map[string]struct {
		before, promised, met float64 // requests/s
		queued, overdrawn     bool
		counts                bool
	}{
		"busy":                         {10, 10, 0, false, false, true},
		"busy, and requests wait":      {10, 10, 0, true, false, true},
		"replicas are new":             {5, 10, 0, false, false, false},
		"one of many is new":           {9.5, 10, 0, false, false, true},
		"overloaded":                   {5, 5, 0, true, false, false},
		"overloaded, by the profile":   {5, 5, 0, false, false, true},
		"almost idle, and all is met":  {100, 100, 10, false, false, false},
		"almost idle, and much misses": {100, 100, 8, false, false, false},
		"the same, overdrawn":          {100, 100, 8, false, true, true},
	} {
		e := look(memory.Evidence{Promised: tt.before}, 0, tt.before, tt.met, false, tt.overdrawn)
		first := e.Requests
		e = look(e, 1, tt.promised, tt.met, tt.queued, tt.overdrawn)
		if got := e.Requests > first; got != tt.counts {
			t.Errorf("%s: counted %t, want %t", name, got, tt.counts)
		}
		if tt.counts || tt.promised > 10 {
			continue
		}
		if e = look(e, 2, tt.promised, tt.met, false, tt.overdrawn); e.Requests > first {
			t.Errorf("%s: the window after it counts", name)
		}
		if e = look(e, 3, tt.promised, tt.met, false, tt.overdrawn); e.Requests <= first {
			t.Errorf("%s: the third window after it does not count", name)
		}
	}
}
