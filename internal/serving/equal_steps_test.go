package serving

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLeapsComeToTheSameAsSteps: a replica with events for each token goes step by step,
// and one with milestones leaps.
func TestLeapsComeToTheSameAsSteps(t *testing.T) {
	preemptions, waited := uint64(0), 0
	for seed := range uint64(300) {
		p, inputs := workload(seed)
		walks := newReplica(t, p)
		leaps, err := New(p, Options{Milestones: true})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		same := func(now time.Duration) {
			t.Helper()
			got := leaps.Advance(now, nil)
			want := slices.DeleteFunc(walks.Advance(now, nil), func(e Event) bool { return e.Kind == Token || e.Kind == Step })
			if d := cmp.Diff(want, got); d != "" && len(got)+len(want) > 0 {
				t.Fatalf("seed %d, %v: events (-steps +leaps):\n%s", seed, now, d)
			}
			if d := cmp.Diff(walks.Stats(), leaps.Stats()); d != "" {
				t.Fatalf("seed %d, %v: stats (-steps +leaps):\n%s", seed, now, d)
			}
			checkInvariants(t, leaps)
			waited += leaps.Stats().Waiting
		}
		now := time.Duration(0)
		for _, in := range inputs {
			now = in.at
			if in.abort {
				walks.Abort(now, in.req.ID)
				leaps.Abort(now, in.req.ID)
			} else {
				walks.Submit(now, in.req)
				leaps.Submit(now, in.req)
			}
			if rng.IntN(3) == 0 {
				same(now)
			}
		}
		for walks.Load() > 0 {
			now += time.Duration(rng.Int64N(int64(3 * time.Second)))
			same(now)
		}
		s := leaps.Stats()
		preemptions += s.Preemptions
	}
	if preemptions == 0 || waited == 0 {
		t.Errorf("%d preemptions, and %d times a request waited: want some of both", preemptions, waited)
	}
}
