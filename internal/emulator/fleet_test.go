package emulator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

var testModel = ModelKey{Namespace: "demo", ID: "meta/llama-3.1-8b"}

// slowProfile takes 100 ms for each step, one request at a time per slot.
func slowProfile() serving.Profile {
	return serving.Profile{
		Name: "slow", Accelerator: "L40S", AlphaMS: 100, GammaMS: 100,
		MaxBatchSize: 2, MaxBatchedTokens: 4096, KVCacheTokens: 4096, BlockSize: 16, MaxModelLen: 1024,
	}
}

func testProfiles(profiles ...serving.Profile) Profiles {
	p := Profiles{}
	for _, profile := range profiles {
		p[profile.Name] = profile
	}
	return p
}

func readyPod(name string) Pod {
	return Pod{Namespace: testModel.Namespace, Name: name, UID: name, Profile: "slow", Model: testModel.ID, Started: true, Ready: true}
}

// witness is a receiver that records.
type witness struct {
	tokens int
	done   bool
	err    error
}

func (w *witness) produced(tokens int)      { w.tokens = tokens }
func (w *witness) finished(serving.Request) { w.done = true }
func (w *witness) failed(err error)         { w.done, w.err = true, err }

// send submits a call of 10 tokens in.
func send(t *testing.T, f *fleet, now time.Duration, output int, streamed bool) (*call, *witness) {
	t.Helper()
	w := &witness{}
	c := &call{request: serving.Request{InputTokens: 10, OutputTokens: output}, streamed: streamed, receiver: w}
	if err := f.submit(now, testModel, "", c); err != nil {
		t.Fatal(err)
	}
	return c, w
}

func set(t *testing.T, f *fleet, now time.Duration, pods ...Pod) {
	t.Helper()
	for _, pod := range pods {
		if err := f.setPod(now, pod); err != nil {
			t.Fatal(err)
		}
	}
}

// settle advances the fleet step by step up to now.
func settle(f *fleet, now time.Duration) {
	for at, ok := f.next(); ok && at <= now; at, ok = f.next() {
		f.advance(at)
	}
	f.advance(now)
}

func TestRequestsAreHeldAtZeroAndReleasedInOrder(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	p := f.declare(testModel)
	var calls []*call
	var witnesses []*witness
	for i := range 3 {
		c, w := send(t, f, time.Duration(i)*time.Second, 2, true)
		calls, witnesses = append(calls, c), append(witnesses, w)
	}
	settle(f, 10*time.Second)
	if got := p.flowOf("").size; got != 3 || witnesses[0].tokens != 0 {
		t.Fatalf("got %d held and %d tokens, want 3 and 0", got, witnesses[0].tokens)
	}
	pod := readyPod("a")
	pod.Ready = false
	set(t, f, 10*time.Second, pod)
	if got := len(p.held); got != 3 {
		t.Fatalf("got %d held while the pod starts, want 3", got)
	}
	set(t, f, 11*time.Second, readyPod("a"))
	settle(f, 20*time.Second)
	if got := p.flowOf("").size; got != 0 || len(p.held) != 0 {
		t.Errorf("got queue size %d, %d held, want 0 and 0", got, len(p.held))
	}
	for i, w := range witnesses {
		if !w.done || w.err != nil || w.tokens != 2 {
			t.Errorf("call %d: got %+v, want 2 tokens and no error", i, *w)
		}
	}
	// Two at a time: the third is admitted when the first two have finished.
	if got, want := calls[2].first-calls[0].first, 200*time.Millisecond; got != want {
		t.Errorf("third after first: got %v, want %v", got, want)
	}
	h := p.flowOf("").durations[outcomeDispatched]
	if h.sum != 11+10+9 {
		t.Errorf("queue durations: got sum %g s, want 30", h.sum)
	}
}

func TestRequestsGoToTheLeastLoadedReplicaTiesByName(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("b"), readyPod("a"), readyPod("c"))
	var got []string
	for range 4 {
		c, _ := send(t, f, 0, 5, true)
		got = append(got, c.replica.pod.Name)
	}
	if d := cmp.Diff(got, []string{"a", "b", "c", "a"}); d != "" {
		t.Errorf("replicas (-got +want):\n%s", d)
	}
}

func TestDrainingReplicaFinishesWithinTheGrace(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), time.Second)
	set(t, f, 0, readyPod("a"))
	_, short := send(t, f, 0, 5, true)
	_, long := send(t, f, 0, 50, true)
	settle(f, 250*time.Millisecond)
	f.deletePod(250*time.Millisecond, "demo", "a")
	_, held := send(t, f, 300*time.Millisecond, 1, true)
	settle(f, 10*time.Second)
	if !short.done || short.err != nil {
		t.Errorf("short: got %+v, want it finished", *short)
	}
	if !errors.Is(long.err, errGone) || long.tokens != 12 { // steps of 100 ms until 1.25 s
		t.Errorf("long: got %+v, want %v after 12 tokens", *long, errGone)
	}
	if held.done || len(f.replicas) != 0 {
		t.Errorf("got %+v and %d replicas, want it held and none", *held, len(f.replicas))
	}
}

func TestEvictedRequestsStartOverUnlessTheyStreamed(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("a"))
	_, streaming := send(t, f, 0, 50, true)
	_, whole := send(t, f, 0, 50, false)
	_, waiting := send(t, f, 0, 50, true) // the batch holds two
	settle(f, time.Second)
	terminating := readyPod("a")
	terminating.Terminating = true
	set(t, f, time.Second, terminating)
	p := f.pools[testModel]
	if !errors.Is(streaming.err, errGone) {
		t.Errorf("streaming: got %+v, want %v", *streaming, errGone)
	}
	if whole.done || whole.tokens != 0 || waiting.done || len(p.held) != 2 || p.held[0].receiver != receiver(whole) {
		t.Fatalf("got %+v, %+v and %d held, want both held in order", *whole, *waiting, len(p.held))
	}
	set(t, f, 2*time.Second, readyPod("b"))
	settle(f, 60*time.Second)
	if whole.tokens != 50 || waiting.tokens != 50 || !whole.done || !waiting.done {
		t.Errorf("got %+v, %+v, want both finished with 50 tokens", *whole, *waiting)
	}
	if p.running != 0 || p.flowOf("").size != 0 {
		t.Errorf("got %d running and %d queued, want 0 and 0", p.running, p.flowOf("").size)
	}
}

func TestUnreadyReplicaKeepsItsRequestsAndTakesNoMore(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("a"))
	_, first := send(t, f, 0, 5, true)
	unready := readyPod("a")
	unready.Ready = false
	set(t, f, 10*time.Millisecond, unready)
	_, second := send(t, f, 10*time.Millisecond, 5, true)
	settle(f, 5*time.Second)
	if !first.done || second.tokens != 0 {
		t.Fatalf("got %+v and %+v, want the first done and the second held", *first, *second)
	}
	set(t, f, 5*time.Second, readyPod("a"))
	settle(f, 6*time.Second)
	if !second.done {
		t.Errorf("got %+v, want it done", *second)
	}
}

func TestPodOfTheSameNameIsAnotherReplica(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), time.Minute)
	set(t, f, 0, readyPod("a"))
	c, _ := send(t, f, 0, 5, true)
	old := c.replica
	again := readyPod("a")
	again.UID = "other"
	set(t, f, time.Millisecond, again)
	c, _ = send(t, f, time.Millisecond, 5, true)
	if c.replica == old || !old.draining {
		t.Errorf("got the old replica: %v, draining %v, want a new one and true", c.replica == old, old.draining)
	}
}

func TestCancelTakesACallOutWhereverItIs(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	p := f.declare(testModel)
	held, _ := send(t, f, 0, 5, true)
	f.cancel(time.Second, held)
	set(t, f, time.Second, readyPod("a"))
	var calls []*call
	for range 3 {
		c, _ := send(t, f, time.Second, 5, true)
		calls = append(calls, c)
	}
	settle(f, 1150*time.Millisecond)
	machine := calls[0].replica.machine
	f.cancel(1150*time.Millisecond, calls[0]) // runs
	f.cancel(1150*time.Millisecond, calls[2]) // waits
	f.cancel(1150*time.Millisecond, calls[2])
	settle(f, 5*time.Second)
	if s := machine.Stats(); s.Aborted != 2 || s.Finished != 1 || p.running != 0 || p.flowOf("").size != 0 {
		t.Errorf("got %d aborted, %d finished, %d running, %d queued, want 2, 1, 0, 0", s.Aborted, s.Finished, p.running, p.flowOf("").size)
	}
}

func TestFullQueuesAreTriedInTurnAndThenRefused(t *testing.T) {
	profile := slowProfile()
	profile.MaxQueue = 1
	f := newFleet(testProfiles(profile), 0)
	set(t, f, 0, readyPod("a"), readyPod("b"))
	for range 6 { // two in the batch and one waiting, twice
		if _, w := send(t, f, 0, 5, true); w.err != nil {
			t.Fatal(w.err)
		}
	}
	if _, w := send(t, f, 0, 5, true); !errors.Is(w.err, errBusy) {
		t.Errorf("got %v, want %v", w.err, errBusy)
	}
}

func TestOutputIsCutToWhatTheReplicaAllows(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("a"))
	c, _ := send(t, f, 0, 5000, true)
	if got, want := c.request.OutputTokens, 1024-10; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	w := &witness{}
	long := &call{request: serving.Request{InputTokens: 1024, OutputTokens: 1}, receiver: w}
	if err := f.submit(0, testModel, "", long); err != nil || !errors.Is(w.err, errTooLong) {
		t.Errorf("got %v and %v, want %v", err, w.err, errTooLong)
	}
}

func TestUnknownProfileIsAnError(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	pod := readyPod("a")
	pod.Profile = "fast"
	want := `pod demo/a: unknown profile "fast", want one of ["slow"]`
	if err := f.setPod(0, pod); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Whatever pods come and go, every call ends exactly once or is still held, and
// the gateway's gauges come back to what is there.
func TestRandomFleetsLoseNoCall(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7))
		f := newFleet(testProfiles(slowProfile()), time.Duration(rng.IntN(3))*time.Second)
		p := f.declare(testModel)
		var witnesses []*witness
		var calls []*call
		cancelled := 0
		now := time.Duration(0)
		for range 400 {
			now += time.Duration(rng.IntN(200)) * time.Millisecond
			settle(f, now)
			switch n := rng.IntN(10); {
			case n < 6:
				c, w := send(t, f, now, 1+rng.IntN(30), rng.IntN(2) == 0)
				calls, witnesses = append(calls, c), append(witnesses, w)
			case n == 6 && len(calls) > 0:
				i := rng.IntN(len(calls))
				if !witnesses[i].done && (calls[i].replica != nil || len(p.held) > 0) {
					f.cancel(now, calls[i])
					if !witnesses[i].done {
						witnesses[i].done = true
						cancelled++
					}
				}
			default:
				pod := readyPod(fmt.Sprint("pod-", rng.IntN(4)))
				pod.Ready, pod.Terminating = rng.IntN(2) == 0, rng.IntN(5) == 0
				if rng.IntN(4) == 0 {
					f.deletePod(now, pod.Namespace, pod.Name)
				} else {
					set(t, f, now, pod)
				}
			}
		}
		done := 0
		for _, w := range witnesses {
			if w.done {
				done++
			}
		}
		if got := done + p.running + len(p.held); got != len(witnesses) || p.flowOf("").size != len(p.held) {
			t.Fatalf("seed %d: %d calls, %d done, %d running, %d held, queue size %d", seed, len(witnesses), done, p.running, len(p.held), p.flowOf("").size)
		}
		set(t, f, now, func() Pod { p := readyPod("last"); return p }())
		settle(f, now+time.Hour)
		for i, w := range witnesses {
			if !w.done {
				t.Fatalf("seed %d: call %d never ended", seed, i)
			}
		}
		if p.running != 0 {
			t.Fatalf("seed %d: %d running at rest", seed, p.running)
		}
	}
}
