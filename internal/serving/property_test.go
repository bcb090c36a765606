package serving

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// input is one thing that a driver does, at an instant.
type input struct {
	at    time.Duration
	req   Request
	abort bool // abort req.ID instead of submitting it
}

// workload draws a tight profile and inputs that overload it.
func workload(seed uint64) (Profile, []input) {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := testProfile()
	p.MaxBatchSize = 1 + rng.IntN(16)
	p.MaxBatchedTokens = p.MaxBatchSize + rng.IntN(400)
	p.BlockSize = 1 + rng.IntN(32)
	p.KVCacheTokens = p.BlockSize + rng.IntN(900)
	p.MaxModelLen = 2 + rng.IntN(600)
	p.MaxQueue = rng.IntN(20)
	p.GammaMS = rng.Float64() * 40
	at := time.Duration(0)
	var inputs []input
	for id := uint64(1); id <= 120; id++ {
		if rng.IntN(4) > 0 {
			at += time.Duration(rng.IntN(300)) * time.Millisecond
		}
		in := 1 + rng.IntN(200)
		inputs = append(inputs, input{at: at, req: Request{
			ID: id, InputTokens: in, OutputTokens: 1 + rng.IntN(150), CachedTokens: rng.IntN(in),
		}})
		if rng.IntN(6) == 0 {
			inputs = append(inputs, input{at: at, abort: true, req: Request{ID: 1 + rng.Uint64N(id)}})
		}
	}
	return p, inputs
}

// play drives a new replica through inputs, advancing to every instant that
// ticks puts before the next input, and checks the invariants all the way.
func play(t *testing.T, p Profile, inputs []input, ticks func(from, to time.Duration) []time.Duration) ([]Event, Stats) {
	t.Helper()
	r := newReplica(t, p)
	var events []Event
	last := time.Duration(0)
	for i, in := range inputs {
		for _, tick := range ticks(last, in.at) {
			events = r.Advance(tick, events)
			checkInvariants(t, r)
		}
		if in.abort {
			r.Abort(in.at, in.req.ID)
		} else {
			r.Submit(in.at, in.req)
		}
		checkInvariants(t, r)
		if i+1 == len(inputs) || inputs[i+1].at > in.at {
			events = r.Advance(in.at, events)
		}
		last = in.at
	}
	steps := 0
	for at, ok := r.Next(); ok; at, ok = r.Next() {
		events = r.Advance(at, events)
		checkInvariants(t, r)
		if steps++; steps > 1e6 {
			t.Fatal("the replica does not come to rest")
		}
	}
	return events, r.Stats()
}

func checkInvariants(t *testing.T, r *Replica) {
	t.Helper()
	s := r.Stats()
	if got := uint64(s.Running+s.Waiting) + s.Finished + s.Refused + s.Aborted; got != s.Submitted {
		t.Fatalf("%d requests submitted, %d accounted for: %+v", s.Submitted, got, s)
	}
	held := 0
	for i := range r.running {
		q := &r.running[i]
		held += int(q.blocks)
		if q.computed+q.chunk > q.blocks*r.blockSize {
			t.Fatalf("request %d has %d tokens in %d blocks", q.id, q.computed+q.chunk, q.blocks)
		}
	}
	for i := range r.waiting.len() {
		if q := r.waiting.at(i); q.blocks != 0 {
			t.Fatalf("waiting request %d holds %d blocks", q.id, q.blocks)
		}
	}
	if held != s.UsedBlocks || s.UsedBlocks > s.Blocks || s.UsedBlocks < 0 {
		t.Fatalf("%d blocks held, %d used of %d", held, s.UsedBlocks, s.Blocks)
	}
	if s.Running > r.profile.MaxBatchSize {
		t.Fatalf("%d running, at most %d", s.Running, r.profile.MaxBatchSize)
	}
}

func noTicks(_, _ time.Duration) []time.Duration { return nil }

func TestRandomWorkloadsKeepTheInvariantsAndEnd(t *testing.T) {
	preemptions := uint64(0)
	for seed := range uint64(200) {
		p, inputs := workload(seed)
		events, s := play(t, p, inputs, noTicks)
		if s.Running+s.Waiting != 0 || s.UsedBlocks != 0 {
			t.Fatalf("seed %d: at rest with %+v", seed, s)
		}
		outputs := map[uint64]int{}
		asked := map[uint64]int{}
		for _, in := range inputs {
			if !in.abort {
				asked[in.req.ID] = in.req.OutputTokens
			}
		}
		last := time.Duration(0)
		for _, e := range events {
			if e.At < last {
				t.Fatalf("seed %d: event at %v after one at %v", seed, e.At, last)
			}
			last = e.At
			switch e.Kind {
			case FirstToken, Token:
				outputs[e.ID]++
			case Finished:
				if outputs[e.ID] != asked[e.ID] {
					t.Fatalf("seed %d: request %d finished with %d tokens, want %d", seed, e.ID, outputs[e.ID], asked[e.ID])
				}
			}
		}
		preemptions += s.Preemptions
	}
	if preemptions == 0 {
		t.Error("no workload provoked a preemption")
	}
}

func TestSameInputsGiveEqualEvents(t *testing.T) {
	for seed := range uint64(20) {
		p, inputs := workload(seed)
		first, _ := play(t, p, inputs, noTicks)
		second, _ := play(t, p, inputs, noTicks)
		if d := cmp.Diff(first, second); d != "" {
			t.Fatalf("seed %d (-first +second):\n%s", seed, d)
		}
	}
}

func TestCoarseAndFineAdvancesGiveTheSameEvents(t *testing.T) {
	for seed := range uint64(50) {
		p, inputs := workload(seed)
		coarse, coarseStats := play(t, p, inputs, noTicks)
		rng := rand.New(rand.NewPCG(seed, 2))
		fine, fineStats := play(t, p, inputs, func(from, to time.Duration) []time.Duration {
			var ticks []time.Duration
			for at := from; at < to; at += 1 + time.Duration(rng.Int64N(int64(9*time.Millisecond))) {
				ticks = append(ticks, at)
			}
			return ticks
		})
		if d := cmp.Diff(coarse, fine); d != "" {
			t.Fatalf("seed %d (-coarse +fine):\n%s", seed, d)
		}
		if d := cmp.Diff(coarseStats, fineStats); d != "" {
			t.Fatalf("seed %d stats (-coarse +fine):\n%s", seed, d)
		}
	}
}
