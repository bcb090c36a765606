package emulator

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// prefillPod is a Ready pod that computes prompts.
func prefillPod(name string) Pod {
	p := readyPod(name)
	p.Prefill = true
	return p
}

// countersOf returns those of a pod's page.
func countersOf(t *testing.T, f *fleet, name string) *engineCounters {
	t.Helper()
	state := f.pods[podKey{testModel.Namespace, name}]
	if state == nil || state.replica == nil {
		t.Fatalf("pod %s has no replica", name)
	}
	return state.replica.counters
}

// count returns how many observations a histogram of a page has.
func count(page *engineCounters, id histogramID) (n uint64) {
	for _, in := range page.histograms[id].counts {
		n += in
	}
	return n
}

// TestARequestGoesThroughPrefillAndDecode: a step takes 100 ms, and a prompt 100 ms more. Both pages
// count the request, that of prefill with one token and no time between tokens.
func TestARequestGoesThroughPrefillAndDecode(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, prefillPod("p"), readyPod("d"))
	c, w := send(t, f, 0, 3, true)
	settle(f, 150*time.Millisecond)
	if w.tokens != 0 {
		t.Fatalf("the client got %d tokens of prefill, want none", w.tokens)
	}
	settle(f, 10*time.Second)
	if !w.done || w.err != nil || w.tokens != 3 || c.request.OutputTokens != 3 || c.request.CachedTokens != 0 {
		t.Fatalf("got %+v of %+v, want three tokens", *w, c.request)
	}
	for _, of := range []struct {
		pod           string
		itl           uint64
		tokens, cache float64
	}{{"p", 0, 1, 0}, {"d", 2, 3, 9}} {
		page := countersOf(t, f, of.pod)
		stats := f.pods[podKey{testModel.Namespace, of.pod}].replica.machine.Stats()
		if count(page, promptTokens) != 1 || page.histograms[generationTokens].sum != of.tokens ||
			count(page, timeToFirstToken) != 1 || count(page, interToken) != of.itl || float64(stats.CachedTokens) != of.cache {
			t.Errorf("pod %s: got %d prompts, %g tokens, %d TTFT, %d ITL, %d cached; want 1, %g, 1, %d, %g", of.pod, count(page, promptTokens),
				page.histograms[generationTokens].sum, count(page, timeToFirstToken), count(page, interToken), stats.CachedTokens, of.tokens, of.itl, of.cache)
		}
	}
	p := f.pools[testModel]
	if p.requests != 1 || p.running != 0 {
		t.Errorf("the gateway counts %d requests, %d of them running; want one that ended", p.requests, p.running)
	}
}

func TestPrefillAloneServesNothing(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, prefillPod("p"))
	_, w := send(t, f, 0, 2, true)
	settle(f, 10*time.Second)
	if p := f.pools[testModel]; w.done || len(p.held) != 1 || count(countersOf(t, f, "p"), timeToFirstToken) != 0 {
		t.Fatalf("got %+v, want the request held at the gateway", *w)
	}
	set(t, f, 10*time.Second, readyPod("d"))
	settle(f, 20*time.Second)
	if !w.done || w.tokens != 2 {
		t.Errorf("got %+v, want it served once decode is there", *w)
	}
}

func TestDecodeServesWholeRequestsWithoutPrefill(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, readyPod("d"))
	_, w := send(t, f, 0, 2, true)
	settle(f, 10*time.Second)
	if stats := f.pods[podKey{testModel.Namespace, "d"}].replica.machine.Stats(); !w.done || stats.CachedTokens != 0 {
		t.Errorf("got %+v with %d tokens from a cache, want a whole request", *w, stats.CachedTokens)
	}
}

// TestADecodePodThatGoesBeforeItsRequestHasItStartOver: its KV cache is gone.
func TestADecodePodThatGoesBeforeItsRequestHasItStartOver(t *testing.T) {
	f := newFleet(testProfiles(slowProfile()), 0)
	set(t, f, 0, prefillPod("p"), readyPod("d"))
	_, w := send(t, f, 0, 2, true)
	f.deletePod(onItsWay(t, f), testModel.Namespace, "d")
	settle(f, time.Second)
	if len(f.pools[testModel].held) != 1 || w.done {
		t.Fatalf("got %+v, want it held", *w)
	}
	set(t, f, time.Second, readyPod("e"))
	settle(f, 10*time.Second)
	if !w.done || w.err != nil || count(countersOf(t, f, "p"), timeToFirstToken) != 2 {
		t.Errorf("got %+v after %d prompts, want it computed again", *w, count(countersOf(t, f, "p"), timeToFirstToken))
	}
}

// onItsWay advances the fleet until a call is between prefill and decode, for 5.1 ms, and returns when
// that is.
func onItsWay(t *testing.T, f *fleet) time.Duration {
	t.Helper()
	for now := time.Duration(0); now < time.Second; now += time.Millisecond {
		if settle(f, now); len(f.moving) == 1 {
			return now
		}
	}
	t.Fatal("no call is handed over within a second")
	return 0
}

// TestACallIsCancelledWhereverItIs: in prefill, on its way, and in decode. No replica holds it.
func TestACallIsCancelledWhereverItIs(t *testing.T) {
	for name, until := range map[string]func(t *testing.T, f *fleet) time.Duration{
		"in prefill": func(_ *testing.T, f *fleet) time.Duration {
			settle(f, 50*time.Millisecond)
			return 50 * time.Millisecond
		},
		"on its way": onItsWay,
		"in decode": func(t *testing.T, f *fleet) time.Duration {
			t.Helper()
			at := onItsWay(t, f) + 20*time.Millisecond
			settle(f, at)
			return at
		},
	} {
		f := newFleet(testProfiles(slowProfile()), 0)
		set(t, f, 0, prefillPod("p"), readyPod("d"))
		c, w := send(t, f, 0, 20, true)
		at := until(t, f)
		if c.passed != (name != "in prefill") || (c.replica == nil) != (name == "on its way") {
			t.Fatalf("%s: the call is passed %t, on a replica %t", name, c.passed, c.replica != nil)
		}
		f.cancel(at, c)
		settle(f, 10*time.Second)
		if w.done || len(f.moving) != 0 || f.pools[testModel].running != 0 {
			t.Errorf("%s: got %+v, %d on their way and %d running; want nothing left", name, *w, len(f.moving), f.pools[testModel].running)
		}
		for _, r := range f.replicas {
			if len(r.calls) != 0 || r.machine.Load() != 0 {
				t.Errorf("%s: pod %s still has %d calls", name, r.pod.Name, len(r.calls))
			}
		}
	}
}

// TestEveryRequestOfRolesEnds has pods of both roles come and go under load.
func TestEveryRequestOfRolesEnds(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		f := newFleet(testProfiles(slowProfile()), time.Second)
		f.declare(testModel)
		var all []*witness
		now := time.Duration(0)
		for range 60 {
			now += time.Duration(random.IntN(300)) * time.Millisecond
			f.advance(now)
			switch name := string(rune('a' + random.IntN(6))); random.IntN(3) {
			case 0:
				_, w := send(t, f, now, 1+random.IntN(5), random.IntN(2) == 0)
				all = append(all, w)
			case 1:
				p := readyPod(name)
				p.Prefill = name < "d"
				set(t, f, now, p)
			default:
				f.deletePod(now, testModel.Namespace, name)
			}
		}
		set(t, f, now, readyPod("last"), prefillPod("first"))
		settle(f, now+time.Hour)
		for i, w := range all {
			if !w.done {
				t.Fatalf("seed %d: request %d never ends", seed, i)
			}
		}
		if p := f.pools[testModel]; p.running != 0 || len(f.moving) != 0 || len(p.held) != 0 {
			t.Errorf("seed %d: %d run, %d are on their way, %d held", seed, p.running, len(f.moving), len(p.held))
		}
	}
}

func TestTheLabelOfAPodSaysItsRole(t *testing.T) {
	for role, prefill := range map[string]bool{"prefill": true, "decode": false, "": false, "both": false} {
		p := &corev1.Pod{}
		p.Annotations, p.Labels = map[string]string{ProfileAnnotation: "slow", ModelAnnotation: "m"}, map[string]string{RoleLabel: role}
		if got, ok := podOf(p); !ok || got.Prefill != prefill {
			t.Errorf("role %q: got %+v, want prefill %t", role, got, prefill)
		}
	}
}
