package memory

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// asked is one wanted number and its time, for the slow check.
type asked struct {
	at       time.Time
	replicas scaling.Replicas
}

// between returns the most and the least that was wanted at any time after since, the slow way.
func between(all []asked, since time.Time) (most, least scaling.Replicas) {
	most, least = all[len(all)-1].replicas, all[len(all)-1].replicas
	for i, a := range all[:len(all)-1] {
		if all[i+1].at.After(since) {
			most, least = max(most, a.replicas), min(least, a.replicas)
		}
	}
	return most, least
}

func TestWantsKnowTheMostAndTheLeastSinceAnyTime(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		keep := time.Duration(1+r.IntN(10)) * time.Minute
		var all []asked
		var w Wants
		now := start
		for range 60 {
			n := scaling.Replicas(r.IntN(8))
			all, w = append(all, asked{now, n}), w.Then(n, now, keep)
			for _, back := range []time.Duration{0, time.Second, keep / 2, keep} {
				most, least := between(all, now.Add(-back))
				if got := w.MostSince(now.Add(-back)).Replicas; got != most {
					t.Fatalf("seed %d: most of the last %s is %d, want %d of %v", seed, back, got, most, all)
				}
				if got := w.LeastSince(now.Add(-back)).Replicas; got != least {
					t.Fatalf("seed %d: least of the last %s is %d, want %d of %v", seed, back, got, least, all)
				}
			}
			if len(w.Most)+len(w.Least) > 9 {
				t.Fatalf("seed %d: %d wants are kept of 8 different numbers", seed, len(w.Most)+len(w.Least))
			}
			now = now.Add(time.Duration(r.IntN(90)) * time.Second)
		}
	}
}

func TestWantsAreValues(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	before := Wants{}.Then(5, start, time.Hour).Then(3, start.Add(time.Minute), time.Hour)
	copied := Wants{}.Then(5, start, time.Hour).Then(3, start.Add(time.Minute), time.Hour)
	before.Then(4, start.Add(2*time.Minute), time.Hour)
	if diff := cmp.Diff(copied, before); diff != "" {
		t.Errorf("changed by Then (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var read Wants
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
}

func TestNoWantsAreKnownAtFirst(t *testing.T) {
	if w := (Wants{}); w.Known() || w.MostSince(time.Time{}) != (Want{}) || w.LeastSince(time.Time{}) != (Want{}) {
		t.Error("the zero value knows something")
	}
	if w := (Wants{}).Then(0, time.Unix(0, 0), 0); !w.Known() {
		t.Error("zero replicas that were wanted are not known")
	}
}
