package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestProgressIsToComeCloserThanEver(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen := func(current, ready scaling.Replicas) scaling.ReplicaCounts {
		return scaling.ReplicaCounts{Observed: true, Current: current, Ready: ready, Pending: current - ready}
	}
	tests := []struct {
		name  string
		looks []scaling.ReplicaCounts // a minute apart, after a decision for 4 with 2 running
		want  int                     // index of the look with the last progress, -1 for none
	}{
		{"nothing moves", []scaling.ReplicaCounts{seen(2, 2), seen(2, 2)}, -1},
		{"replicas are set", []scaling.ReplicaCounts{seen(4, 2)}, -1}, // Ready replicas are still to come
		{"one becomes Ready", []scaling.ReplicaCounts{seen(4, 2), seen(4, 3), seen(4, 3)}, 1},
		{"one comes and goes", []scaling.ReplicaCounts{seen(4, 2), seen(4, 3), seen(4, 2), seen(4, 3), seen(4, 2)}, 1},
		{"all arrive", []scaling.ReplicaCounts{seen(4, 3), seen(4, 4), seen(4, 4)}, 1},
		{"one is lost at once: the wait goes on", []scaling.ReplicaCounts{seen(4, 4), seen(4, 4), seen(4, 3), seen(4, 3)}, 0},
		{
			"one is lost later: the fleet is still the one decided on",
			[]scaling.ReplicaCounts{seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 3), seen(4, 3), seen(4, 4)},
			0,
		},
		{
			"a user changes the target later: a new wait begins",
			[]scaling.ReplicaCounts{seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 4), seen(4, 4), seen(5, 5), seen(5, 5)},
			6,
		},
		{"the target cannot be read", []scaling.ReplicaCounts{{}, {}}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Past{Counts: seen(2, 2)}.Decide(2, start.Add(-time.Hour)).Decide(4, start)
			for i, counts := range tt.looks {
				p = p.Observe(counts, start.Add(time.Duration(i+1)*time.Minute))
			}
			if want := start.Add(time.Duration(tt.want+1) * time.Minute); !p.ProgressAt.Equal(want) {
				t.Errorf("last progress at %s, want %s", p.ProgressAt.Sub(start), want.Sub(start))
			}
			if p.Change != 2 || !p.DecidedAt.Equal(start) {
				t.Errorf("change %d at %s, want 2 at the start", p.Change, p.DecidedAt.Sub(start))
			}
		})
	}
}

func TestAWaitBeginsWithTheFirstLookAfterARestart(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := Past{Desired: 3, DecidedAt: start.Add(-time.Hour)}.Observe(scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 2, Pending: 1}, start)
	if !p.ProgressAt.Equal(start) || p.Gap != 1 {
		t.Errorf("progress at %s, gap %d; want the first look, 1", p.ProgressAt, p.Gap)
	}
}

func TestWhatWasGivenUpBeforeItsStartUpWasKnownWasOnlyLate(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name          string
		before, after time.Duration // the usual start-up
		want          bool
	}{
		{"a first replica has started", 0, 8 * time.Minute, true},
		{"none has", 0, 0, false},
		{"it was known", 2 * time.Minute, 8 * time.Minute, false},
	} {
		v := scaling.Variant{StartUp: tt.before}
		p := Past{MoveCost: 10, Failures: Failures{}.Then(v, 2, now)}.Starts(tt.after)
		if got := p.Failures.Count == 0 && !p.MoveCancelled(); got != tt.want {
			t.Errorf("%s: forgotten: %t, want %t; failures %+v, the cost before the move %g", tt.name, got, tt.want, p.Failures, p.MoveCost)
		}
	}
}

// TestPatienceGrowsWithOrdersGivenUpEarly: while no start-up was measured, each order that failed may
// have been given up too early, so the next one has twice the time.
func TestPatienceGrowsWithOrdersGivenUpEarly(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	unknown, known := scaling.Variant{}, scaling.Variant{StartUp: 3 * time.Minute}
	var p Past
	for _, want := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, LongestStartUp, LongestStartUp} {
		if got := p.Patience(unknown, 2); got != want {
			t.Errorf("after %d failures: %s, want %s", p.Failures.Count, got, want)
		}
		if got := p.Patience(known, 2); got != known.Patience(2) {
			t.Errorf("with a known start-up, after %d failures: %s, want %s", p.Failures.Count, got, known.Patience(2))
		}
		p.Failures = p.Failures.Then(unknown, 2, now)
	}
	p.Failures = Failures{}.Then(known, 2, now)
	if got := p.Patience(unknown, 2); got != unknown.Patience(2) {
		t.Errorf("after a failure with a known start-up: %s, want %s", got, unknown.Patience(2))
	}
}

func TestAFewOfManyAreNoFailedOrder(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ready, cancelled scaling.Replicas
		want             int
	}{{20, 0, 0}, {20, 1, 0}, {20, 2, 0}, {20, 3, 1}, {0, 1, 1}} {
		v := scaling.Variant{Replicas: scaling.ReplicaCounts{Observed: true, Ready: tt.ready}}
		if got := (Failures{}).Then(v, tt.cancelled, now).Count; got != tt.want {
			t.Errorf("%d cancelled beside %d Ready ones: %d failures, want %d", tt.cancelled, tt.ready, got, tt.want)
		}
	}
}

func TestAnOrderOfWhichAllBecameReadyEndsFailures(t *testing.T) {
	failed := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen := func(current, ready scaling.Replicas) scaling.ReplicaCounts {
		return scaling.ReplicaCounts{Observed: true, Current: current, Ready: ready, Pending: current - ready}
	}
	for _, tt := range []struct {
		name   string
		orders []scaling.Replicas // an hour apart, from the failure on
		then   scaling.ReplicaCounts
		left   int
	}{
		{"the replicas from before are Ready", []scaling.Replicas{2}, seen(2, 2), 3},
		{"all of a later order are Ready", []scaling.Replicas{2, 4}, seen(4, 4), 0},
		{"one of a later order is not", []scaling.Replicas{2, 4}, seen(4, 3), 3},
		{"fewer are asked for", []scaling.Replicas{2, 1}, seen(1, 1), 3},
	} {
		p := Past{Counts: seen(5, 2)}.Decide(5, failed.Add(-time.Hour))
		p.Failures = Failures{Count: 3, At: failed}
		for i, n := range tt.orders {
			p = p.Decide(n, failed.Add(time.Duration(i)*time.Hour))
		}
		if got := p.Observe(tt.then, failed.Add(3*time.Hour)).Failures.Count; got != tt.left {
			t.Errorf("%s: %d failures are left, want %d", tt.name, got, tt.left)
		}
	}
}

func TestLastDesiredIsTheLastDecision(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	runs := scaling.ReplicaCounts{Observed: true, Current: 3}
	tests := []struct {
		name    string
		history History
		counts  scaling.ReplicaCounts
		want    scaling.Replicas
	}{
		{"never decided on: what runs", History{}, runs, 3},
		{"the last decision", History{key: {Desired: 5}}, runs, 5},
		{"a decision for zero does not undo what runs", History{key: {Desired: 0}}, runs, 3},
		{"and stands where the target cannot be read", History{key: {Desired: 0}}, scaling.ReplicaCounts{Current: 3}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.history.LastDesired(scaling.Variant{Key: key, Replicas: tt.counts}); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAnotherModelIsAnotherWaitAndKeepsTheDecision(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := start.Add(time.Hour)
	old, other := scaling.ModelKey{Namespace: "ns", ID: "old"}, scaling.ModelKey{Namespace: "ns", ID: "other"}
	before := Past{
		Target: scaling.TargetRef{Kind: "Deployment", Name: "d"}, Model: old, Desired: 3, Change: 1, DecidedAt: start, ProgressAt: start,
		Counts: scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 2, Pending: 1}, Gap: 1,
		Unplaced: Unplaced{Replicas: 1, Since: start, Cycles: 4}, UnseenSince: start,
		Wants: Wants{}.Then(3, start, time.Minute), Called: start, Refused: start, Capacity: TokenCapacity{PerReplica: 1, At: start},
		ModelPast: ModelPast{
			Informed: []Informed{{"saturation", start}}, Backlog: Backlog{Waiting: 1, At: start},
			Activity: Activity{At: start, Seen: start}, Traffic: Traffic{Footprint: Footprint{At: start}},
		},
	}
	anew := Past{
		Target: before.Target, Model: other, Desired: 3, Change: 1, DecidedAt: start, ProgressAt: now,
		Counts: before.Counts, Gap: 1, Unplaced: before.Unplaced, UnseenSince: start,
		Waits: Waits{Runs: []Wait{{To: 2, Since: now, Back: now}, {To: 3, Since: now}}},
	}
	restored := before
	restored.Model = scaling.ModelKey{}
	for name, tt := range map[string]struct {
		past  Past
		model scaling.ModelKey
		want  Past
	}{
		"the same":              {before, old, before},
		"another":               {before, other, anew},
		"known after a restart": {restored, old, before},
	} {
		if diff := cmp.Diff(tt.want, tt.past.Serving(tt.model, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReplicasAreCountedInWords(t *testing.T) {
	for n, want := range map[scaling.Replicas]string{0: "0 replicas", 1: "1 replica", 2: "2 replicas"} {
		if got := n.Text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
