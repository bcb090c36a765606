package serving

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testProfile has gamma below alpha and a budget that takes 64 prompts at once.
func testProfile() Profile {
	return Profile{
		Name: "test", Accelerator: "L40S",
		AlphaMS: 20, BetaMS: 0.5, GammaMS: 10, DeltaMS: 0.05,
		MaxBatchSize: 64, MaxBatchedTokens: 1 << 20, KVCacheTokens: 1 << 20, BlockSize: 16, MaxModelLen: 1 << 17,
	}
}

func newReplica(t testing.TB, p Profile) *Replica {
	t.Helper()
	r, err := New(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drain steps r until it is idle and returns all events.
func drain(r *Replica) []Event {
	var events []Event
	for at, ok := r.Next(); ok; at, ok = r.Next() {
		events = r.Advance(at, events)
	}
	return events
}

func submit(t testing.TB, r *Replica, now time.Duration, reqs ...Request) {
	t.Helper()
	for _, req := range reqs {
		if got := r.Submit(now, req); got != Accepted {
			t.Fatalf("request %d: got %v, want %v", req.ID, got, Accepted)
		}
	}
}

func batch(n, input, output int) []Request {
	reqs := make([]Request, n)
	for i := range reqs {
		reqs[i] = Request{ID: uint64(i + 1), InputTokens: input, OutputTokens: output}
	}
	return reqs
}

func count(events []Event, k Kind) int {
	n := 0
	for _, e := range events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: got %.4f, want %.4f within %.1f %%", what, got, want, 100*tolerance)
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func TestPureDecodeFollowsAlphaAndBeta(t *testing.T) {
	for _, n := range []int{1, 64} {
		p := testProfile()
		r := newReplica(t, p)
		submit(t, r, 0, batch(n, 100, 200)...)
		drain(r)
		s := r.Stats()
		within(t, "ITL", ms(s.ITL)/float64(s.InterTokens), p.AlphaMS+p.BetaMS*float64(n), 0.02)
	}
}

func TestPrefillFollowsGammaAndDelta(t *testing.T) {
	const length = 512
	for _, n := range []int{1, 64} {
		p := testProfile()
		r := newReplica(t, p)
		submit(t, r, 0, batch(n, length, 1)...)
		drain(r)
		s := r.Stats()
		within(t, "prefill", ms(s.TTFT)/float64(s.FirstTokens), p.GammaMS+p.DeltaMS*length*float64(n), 0.02)
	}
}

func TestChunkingDoesNotChangeWhatALonePromptCosts(t *testing.T) {
	p := testProfile()
	p.MaxBatchedTokens = 256
	r := newReplica(t, p)
	submit(t, r, 0, Request{ID: 1, InputTokens: 5000, OutputTokens: 1})
	drain(r)
	within(t, "prefill", ms(r.Stats().TTFT), p.GammaMS+p.DeltaMS*5000, 0.001)
	if got, want := r.Stats().Steps, uint64(20); got != want { // ceil(5000/256)
		t.Errorf("steps: got %d, want %d", got, want)
	}
}

// A closed loop that always holds n requests finishes them at the rate of the
// queueing model, n / (gamma + delta*L*n + (O-1)*(alpha + beta*n)).
func TestClosedLoopFinishesAtTheRateOfTheQueueingModel(t *testing.T) {
	const input, output = 200, 200
	for _, n := range []int{1, 8, 64} {
		p := testProfile()
		r := newReplica(t, p)
		next := uint64(0)
		for i := range n { // staggered, so that prefill and decode mix
			next++
			submit(t, r, time.Duration(i)*97*time.Millisecond, Request{ID: next, InputTokens: input, OutputTokens: output})
		}
		var events []Event
		start, startAt := Stats{}, time.Duration(0)
		for range 60 * output {
			at, _ := r.Next()
			events = r.Advance(at, events[:0])
			for range count(events, Finished) {
				next++
				submit(t, r, at, Request{ID: next, InputTokens: input, OutputTokens: output})
			}
			if at > 20*time.Second && startAt == 0 {
				start, startAt = r.Stats(), at
			}
		}
		end, _ := r.Next()
		got := float64(r.Stats().GenerationTokens-start.GenerationTokens) / output / ms(end-startAt)
		want := float64(n) / (p.GammaMS + p.DeltaMS*input*float64(n) + (output-1)*(p.AlphaMS+p.BetaMS*float64(n)))
		within(t, "requests per ms", got, want, 0.02)
	}
}

func TestAPromptBesideDecodersIsChunkedWithinTheBudget(t *testing.T) {
	p := testProfile()
	p.MaxBatchedTokens = 64
	r := newReplica(t, p)
	submit(t, r, 0, Request{ID: 1, InputTokens: 10, OutputTokens: 50})
	r.Advance(15*time.Millisecond, nil)
	submit(t, r, 15*time.Millisecond, Request{ID: 2, InputTokens: 126, OutputTokens: 2})
	for _, e := range drain(r) {
		if e.Kind == Step && int(e.Tokens) > p.MaxBatchedTokens {
			t.Fatalf("step at %v computed %d tokens, want at most %d", e.At, e.Tokens, p.MaxBatchedTokens)
		}
		// Prefill of 1, the decode under way, then two of one decode and 63 tokens of 2.
		if want := duration(10.5) + duration(20.5) + 2*duration(20.5+63*p.DeltaMS); e.ID == 2 && e.Kind == FirstToken && e.At != want {
			t.Errorf("first token of 2: got %v, want %v", e.At, want)
		}
	}
}

func TestAStepWithPromptTakesTheFloorAtLeast(t *testing.T) {
	p := testProfile()
	p.AlphaMS, p.BetaMS, p.GammaMS, p.DeltaMS, p.PrefillFloorMS = 10, 1, 0, 0.1, 30
	for _, c := range []struct {
		name string
		load load
		want float64 // ms
	}{
		{"a short prompt", load{prefill: 100, begins: true}, 30},
		{"a long prompt", load{prefill: 500, begins: true}, 50},
		{"the rest of one", load{prefill: 20}, 30},
		{"a short prompt among four that decode", load{decoding: 4, prefill: 100, begins: true}, 34},
		{"a long prompt among four that decode", load{decoding: 4, prefill: 500, begins: true}, 64},
		{"decoding alone", load{decoding: 4}, 14},
	} {
		if got := p.stepTime(c.load); got != duration(c.want) {
			t.Errorf("%s: got %s, want %v ms", c.name, got, c.want)
		}
	}
	if short, long := p.Prefill(100), p.Prefill(500); short != 30 || long != 50 {
		t.Errorf("a prompt alone takes %v and %v ms, want 30 and 50", short, long)
	}
}

func TestRequestsOfOneInstantShareAStep(t *testing.T) {
	r := newReplica(t, testProfile())
	submit(t, r, time.Second, batch(3, 100, 1)...)
	at, ok := r.Next()
	if !ok || at != time.Second {
		t.Fatalf("got next %v %v, want 1s true", at, ok)
	}
	got := r.Advance(at, nil)
	want := []Event{
		{At: at, ID: 1, Kind: Admitted}, {At: at, ID: 2, Kind: Admitted}, {At: at, ID: 3, Kind: Admitted},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("events (-got +want):\n%s", d)
	}
	if end, _ := r.Next(); end != at+duration(10+300*0.05) {
		t.Errorf("got end %v, want %v", end, at+duration(25))
	}
}

func TestPreemptedRequestStillFinishesWithAllItsTokens(t *testing.T) {
	p := testProfile()
	p.KVCacheTokens = 320 // two requests of 100 + 150 tokens cannot both grow
	r := newReplica(t, p)
	submit(t, r, 0, batch(2, 100, 150)...)
	events := drain(r)
	if n := count(events, Preempted); n == 0 {
		t.Fatal("no preemption was provoked")
	}
	if e := events[0]; e.ID != 1 {
		t.Fatalf("first event is of %d, want 1", e.ID)
	}
	tokens := map[uint64]int{}
	var finished []uint64
	for _, e := range events {
		switch e.Kind {
		case FirstToken, Token:
			tokens[e.ID]++
			if int(e.Tokens) != tokens[e.ID] {
				t.Fatalf("request %d: token %d reported as %d", e.ID, tokens[e.ID], e.Tokens)
			}
		case Preempted:
			if e.ID != 2 {
				t.Errorf("preempted %d, want the youngest, 2", e.ID)
			}
		case Finished:
			finished = append(finished, e.ID)
		}
	}
	if d := cmp.Diff(tokens, map[uint64]int{1: 150, 2: 150}); d != "" {
		t.Errorf("tokens (-got +want):\n%s", d)
	}
	if d := cmp.Diff(finished, []uint64{1, 2}); d != "" {
		t.Errorf("finished (-got +want):\n%s", d)
	}
	s := r.Stats()
	if s.UsedBlocks != 0 || s.PromptTokens != 200 || s.GenerationTokens != 300 {
		t.Errorf("got %d blocks used, %d prompt and %d generation tokens, want 0, 200, 300", s.UsedBlocks, s.PromptTokens, s.GenerationTokens)
	}
}

func TestRefusals(t *testing.T) {
	p := testProfile()
	p.MaxBatchSize, p.MaxModelLen, p.KVCacheTokens, p.MaxQueue = 1, 1000, 320, 2
	for _, c := range []struct {
		name string
		req  Request
		want Refusal
	}{
		{"fits exactly, the last token needs no place", Request{InputTokens: 300, OutputTokens: 21}, Accepted},
		{"one more than the KV cache", Request{InputTokens: 300, OutputTokens: 22}, TooLarge},
		{"longer than the model", Request{InputTokens: 900, OutputTokens: 101}, TooLong},
		{"overflow", Request{InputTokens: 1, OutputTokens: math.MaxInt}, TooLong},
		{"no input", Request{OutputTokens: 1}, InvalidRequest},
		{"no output", Request{InputTokens: 1}, InvalidRequest},
		{"all cached", Request{InputTokens: 5, OutputTokens: 1, CachedTokens: 5}, InvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReplica(t, p)
			if got := r.Submit(0, c.req); got != c.want {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			drain(r)
			if s := r.Stats(); s.Finished+s.Refused != 1 {
				t.Errorf("got %d finished and %d refused, want one of them", s.Finished, s.Refused)
			}
		})
	}
	t.Run("queue full", func(t *testing.T) {
		r := newReplica(t, p)
		submit(t, r, 0, batch(3, 10, 10)...) // one to run, two to wait
		if got := r.Submit(0, Request{ID: 4, InputTokens: 10, OutputTokens: 10}); got != QueueFull {
			t.Errorf("got %v, want %v", got, QueueFull)
		}
	})
}

func TestAbortFreesAtOnceWhatWasHeld(t *testing.T) {
	p := testProfile()
	p.MaxBatchSize = 2
	r := newReplica(t, p)
	submit(t, r, 0, batch(4, 100, 100)...)
	r.Advance(100*time.Millisecond, nil)
	for _, c := range []struct {
		id   uint64
		want bool
	}{{1, true}, {3, true}, {3, false}, {9, false}} {
		if got := r.Abort(100*time.Millisecond, c.id); got != c.want {
			t.Errorf("abort %d: got %v, want %v", c.id, got, c.want)
		}
	}
	if s := r.Stats(); s.Running != 1 || s.Waiting != 1 || s.UsedBlocks != 7 { // 100 to 112 tokens in blocks of 16
		t.Errorf("got %d running, %d waiting, %d blocks, want 1, 1, 7", s.Running, s.Waiting, s.UsedBlocks)
	}
	drain(r)
	if s := r.Stats(); s.Finished != 2 || s.Aborted != 2 || s.UsedBlocks != 0 {
		t.Errorf("got %d finished, %d aborted, %d blocks, want 2, 2, 0", s.Finished, s.Aborted, s.UsedBlocks)
	}
}

func TestCachedPrefixIsNotComputed(t *testing.T) {
	p := testProfile()
	r := newReplica(t, p)
	submit(t, r, 0, Request{ID: 1, InputTokens: 1000, OutputTokens: 1, CachedTokens: 600})
	drain(r)
	s := r.Stats()
	within(t, "prefill", ms(s.TTFT), p.GammaMS+p.DeltaMS*400, 0.001)
	if s.PrefixQueries != 1000 || s.PrefixHits != 600 || s.PromptTokens != 1000 {
		t.Errorf("got %d queries, %d hits, %d prompt tokens, want 1000, 600, 1000", s.PrefixQueries, s.PrefixHits, s.PromptTokens)
	}
}

func TestMilestonesLeaveOutTokensAndSteps(t *testing.T) {
	r, err := New(testProfile(), Options{Milestones: true})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, r, 0, Request{ID: 1, InputTokens: 10, OutputTokens: 50})
	var got []Kind
	for _, e := range drain(r) {
		got = append(got, e.Kind)
	}
	if d := cmp.Diff(got, []Kind{Admitted, FirstToken, Finished}); d != "" {
		t.Errorf("events (-got +want):\n%s", d)
	}
	if got := r.Stats().InterTokens; got != 49 {
		t.Errorf("got %d tokens after the first, want 49", got)
	}
}
