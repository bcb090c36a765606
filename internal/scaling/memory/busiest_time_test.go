package memory

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// sizes are the sizes of a variant at one look after another.
type sizes = []scaling.Replicas

// moment is what one cycle sees of the arrivals and what it decides.
type moment struct {
	after    time.Duration
	rate     float64 // requests/s, negative where unknown
	ready    scaling.Replicas
	replicas scaling.Replicas // decided on
}

func TestTheSizeBeforeALullIsThatOfItsBusiestLook(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const s, m = time.Second, time.Minute
	busy := []moment{{0, 40, 20, 20}, {m, 50, 20, 20}, {2 * m, 25, 20, 20}, {3 * m, 0, 20, 20}} // the window holds half of the last minute
	for name, tt := range map[string]struct {
		before []moment
		looks  []moment
		want   sizes // the size at each look
	}{
		"all is back":                 {busy, []moment{{16 * m, 50, 10, 10}}, sizes{20}},
		"half is back":                {busy, []moment{{16 * m, 25, 10, 10}}, sizes{10}},
		"more is back than there was": {busy, []moment{{16 * m, 500, 10, 10}}, sizes{20}},
		"one request":                 {busy, []moment{{16 * m, 0.02, 1, 1}}, sizes{1}},
		"the window fills while it comes back": {
			busy,
			[]moment{{16 * m, 10, 1, 1}, {16*m + 30*s, 30, 1, 4}, {17 * m, 50, 1, 12}, {18 * m, 50, 1, 20}, {18*m + s, 50, 20, 20}},
			sizes{4, 12, 20, 20, 0},
		},
		"nothing is back":         {busy, []moment{{16 * m, 0, 10, 10}}, sizes{0}},
		"it is not known":         {busy, []moment{{16 * m, -1, 10, 10}, {17 * m, 50, 10, 10}}, sizes{0, 20}},
		"no replica is Ready yet": {busy, []moment{{16 * m, 50, 0, 1}, {20 * m, 50, 0, 1}, {21 * m, 50, 1, 1}}, sizes{0, 0, 20}},
		"it comes and goes":       {busy, []moment{{16 * m, 50, 10, 20}, {17 * m, 0, 10, 20}, {50 * m, 50, 10, 10}}, sizes{20, 0, 20}},
		"after an hour":           {busy, []moment{{63 * m, 50, 10, 10}}, sizes{20}},
		"after more":              {busy, []moment{{63*m + s, 50, 10, 10}}, sizes{0}},
		"there was no lull":       {busy[:3], []moment{{3 * m, 50, 10, 10}}, sizes{0}},
		"only a gap":              {busy[:3], []moment{{3 * m, -1, 10, 10}, {9 * m, 50, 10, 10}}, sizes{0, 0}},
		"a load that declined in ten minutes is no outage": {
			[]moment{{0, 50, 20, 20}, {5 * m, 10, 18, 17}, {9 * m, 1, 15, 14}, {10 * m, 0, 14, 13}},
			[]moment{{30 * m, 1, 3, 3}},
			sizes{1},
		},
		"one that declined for longer had its fleet follow": {
			[]moment{{0, 50, 20, 20}, {11 * m, 10, 8, 7}, {22 * m, 1, 2, 2}, {23 * m, 0, 2, 2}},
			[]moment{{30 * m, 1, 1, 1}, {31 * m, 10, 1, 2}},
			sizes{2, 2},
		},
		"never seen": {nil, []moment{{0, 50, 1, 1}}, sizes{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var b Busy
			see := func(l moment) scaling.Snapshot {
				snap := scaling.Snapshot{At: start.Add(l.after), Window: time.Minute, Variants: []scaling.Variant{{Replicas: scaling.ReplicaCounts{Observed: true, Current: l.ready, Ready: l.ready}}}}
				if l.rate >= 0 {
					snap.Load.ArrivalRate = scaling.Measured(l.rate, scaling.Fresh)
				}
				return snap
			}
			for _, l := range tt.before {
				b = b.Then(see(l), l.replicas)
			}
			for i, l := range tt.looks {
				if got := b.Size(see(l)); got != tt.want[i] {
					t.Errorf("%s after the start: size %d, want %d (%+v)", l.after, got, tt.want[i], b)
				}
				b = b.Then(see(l), l.replicas)
			}
		})
	}
}

// TestTheSizeAfterALullIsNeverMoreThanBefore holds for any arrivals.
func TestTheSizeAfterALullIsNeverMoreThanBefore(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	returned := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 19))
		var b Busy
		most, at := scaling.Replicas(0), start
		for range 100 {
			at = at.Add(time.Duration(r.IntN(180)) * time.Second)
			replicas := scaling.Replicas(r.IntN(30))
			snap := scaling.Snapshot{At: at, Window: time.Minute, Variants: []scaling.Variant{{Replicas: scaling.ReplicaCounts{Observed: true, Ready: scaling.Replicas(r.IntN(3))}}}}
			if r.IntN(5) > 0 {
				snap.Load.ArrivalRate = scaling.Measured(float64(r.IntN(3))*r.Float64(), scaling.Fresh)
			}
			size := b.Size(snap)
			if size > most {
				t.Fatalf("seed %d: %d replicas, there were %d at most", seed, size, most)
			}
			if size > 0 {
				returned++
			}
			b, most = b.Then(snap, replicas), max(most, replicas)
		}
	}
	if returned < 100 {
		t.Errorf("the load came back %d times, which shows little", returned)
	}
}
