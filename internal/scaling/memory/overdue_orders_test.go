package memory

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var waitsStart = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// counted is the number wanted and the number Ready at a minute.
type counted struct {
	minute        int
	wanted, ready scaling.Replicas
}

func TestEachMissingReplicaHasItsOwnWait(t *testing.T) {
	since := func(minute int) time.Time { return waitsStart.Add(time.Duration(minute) * time.Minute) }
	tests := []struct {
		name  string
		looks []counted
		want  []Missing
	}{
		{"all there", []counted{{0, 5, 5}, {6, 5, 5}}, nil},
		{"ordered", []counted{{0, 5, 5}, {6, 5, 5}, {7, 8, 5}, {8, 8, 5}}, []Missing{{3, since(7), false}}},
		{"two orders", []counted{{0, 5, 5}, {6, 7, 5}, {7, 8, 5}}, []Missing{{2, since(6), false}, {1, since(7), false}}},
		{"the first has arrived", []counted{{0, 5, 5}, {6, 7, 5}, {7, 8, 7}}, []Missing{{1, since(7), false}}},
		{"lost", []counted{{0, 5, 5}, {6, 5, 5}, {7, 5, 3}, {9, 5, 3}}, []Missing{{2, since(7), true}}},
		{"one of the lost is back", []counted{{0, 5, 5}, {6, 5, 5}, {7, 5, 3}, {9, 5, 4}}, []Missing{{1, since(7), true}}},
		{
			"one comes and goes: it is waited for since it was lost",
			[]counted{{0, 5, 5}, {6, 5, 5}, {7, 5, 4}, {8, 5, 5}, {9, 5, 4}, {10, 5, 5}, {11, 5, 4}},
			[]Missing{{1, since(7), true}},
		},
		{"one was back for long", []counted{{0, 5, 5}, {6, 5, 5}, {7, 5, 4}, {8, 5, 5}, {13, 5, 5}, {14, 5, 4}}, []Missing{{1, since(14), true}}},
		{"lost ones stay so while others are ordered", []counted{{0, 50, 50}, {6, 50, 50}, {7, 50, 48}, {30, 60, 48}}, []Missing{{2, since(7), true}, {10, since(30), false}}},
		{"and stay so once the ordered ones are Ready", []counted{{0, 50, 50}, {6, 50, 50}, {7, 50, 48}, {30, 60, 48}, {33, 60, 58}}, []Missing{{2, since(30), true}}},
		{
			"some of those ordered since a loss arrive",
			[]counted{{0, 9, 9}, {6, 9, 9}, {7, 9, 5}, {8, 13, 5}, {9, 13, 7}},
			[]Missing{{2, since(7), true}, {2, since(8), true}, {2, since(8), false}},
		},
		{"all of those ordered since a loss arrive", []counted{{0, 9, 9}, {6, 9, 9}, {7, 9, 5}, {8, 13, 5}, {9, 13, 9}, {20, 13, 9}}, []Missing{{4, since(8), true}}},
		{
			"what was ordered before a loss does not arrive when the lost ones return",
			[]counted{{0, 9, 9}, {6, 9, 9}, {7, 13, 9}, {8, 13, 5}, {9, 13, 9}},
			[]Missing{{4, since(7), false}},
		},
		{
			"what arrived and is gone was not lost",
			[]counted{{0, 9, 9}, {6, 9, 9}, {7, 9, 5}, {8, 13, 5}, {9, 13, 9}, {10, 13, 5}},
			[]Missing{{4, since(7), false}, {4, since(8), true}},
		},
		{"fewer are wanted", []counted{{0, 5, 5}, {6, 9, 5}, {7, 6, 5}}, []Missing{{1, since(6), false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w Waits
			var last counted
			for _, l := range tt.looks {
				at := since(l.minute)
				w, last = w.Then(l.wanted, l.ready, at, at), l
			}
			if diff := cmp.Diff(tt.want, w.Missing(last.ready, last.wanted, time.Time{})); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfWhatIsCancelledOnlyOrdersCount(t *testing.T) {
	at := waitsStart.Add(time.Hour)
	for _, tt := range []struct {
		name          string
		w             Waits
		beyond, total scaling.Replicas
		want          scaling.Replicas
	}{
		{"two of three that were ordered", Waits{There: 5, Runs: []Wait{{To: 8, Since: at}}}, 6, 8, 2},
		{"two that were lost", Waits{There: 5, Runs: []Wait{{To: 7, Since: at, WasReady: true}}}, 5, 7, 0},
		{"two that were lost and one that was ordered", Waits{There: 5, Runs: []Wait{{To: 7, Since: at, WasReady: true}, {To: 8, Since: at}}}, 5, 8, 1},
		{"one that was ordered since the last look", Waits{There: 5}, 5, 6, 1},
		{"replicas that are there", Waits{There: 5}, 3, 5, 0},
	} {
		if got := tt.w.Ordered(tt.beyond, tt.total); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestWhatIsMissingAtTheFirstLookWasNotOrdered: the first decision finds seven replicas, three of
// them Ready, and orders two more.
func TestWhatIsMissingAtTheFirstLookWasNotOrdered(t *testing.T) {
	p := Past{Counts: scaling.ReplicaCounts{Observed: true, Current: 7, Ready: 3}}.Decide(9, waitsStart)
	want := []Missing{{4, waitsStart, true}, {2, waitsStart, false}}
	if diff := cmp.Diff(want, p.Waits.Missing(3, 9, time.Time{})); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// TestWaitsCoverWhatIsWanted: over random histories the runs are in order and end at the wanted
// number, no wait begins in the future, and the missing replicas add up.
func TestWaitsCoverWhatIsWanted(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		var w Waits
		at := waitsStart
		wanted, ready := scaling.Replicas(r.IntN(20)), scaling.Replicas(0)
		for range 50 {
			at = at.Add(time.Duration(r.IntN(200)) * time.Second)
			if r.IntN(4) == 0 {
				wanted = scaling.Replicas(r.IntN(20))
			}
			ready = scaling.Replicas(r.IntN(int(wanted + 3)))
			before := w
			w = w.Then(wanted, ready, at, at)
			last := w.There
			for _, run := range w.Runs {
				if run.To <= last || run.Since.After(at) || (run.To <= ready) == run.Back.IsZero() {
					t.Fatalf("seed %d: after %d of %d Ready: %+v becomes %+v", seed, ready, wanted, before, w)
				}
				last = run.To
			}
			missing := scaling.Replicas(0)
			for _, m := range w.Missing(ready, wanted, at) {
				missing += m.Replicas
			}
			if last != wanted || missing != max(0, wanted-ready) {
				t.Fatalf("seed %d: %d of %d Ready, %d missing: %+v", seed, ready, wanted, missing, w)
			}
		}
	}
}
