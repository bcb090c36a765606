package sim

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// crowded is one replica with far more load than it carries, and what the policy sees.
func crowded(t *testing.T, p Patience, check bool) (Report, []Interval, []float64) {
	t.Helper()
	c := testConfig(simtest.Chat(t, "constant(20,10m)", 1))
	c.Models[0].Patience = p
	var intervals []Interval
	c.OnInterval = func(i Interval) { intervals = append(intervals, i) }
	if check {
		c.check = func(w *world) error { return w.conserved() }
	}
	watch := &onlooker{}
	r, err := Run(t.Context(), c, watch)
	if err != nil {
		t.Fatal(err)
	}
	return r, intervals, watch.waiting
}

// onlooker changes nothing and notes the waiting requests that it is shown.
type onlooker struct{ waiting []float64 }

func (w *onlooker) Name() string            { return "onlooker" }
func (w *onlooker) Interval() time.Duration { return time.Minute }
func (w *onlooker) Decide(v View) ([]Target, error) {
	sum := 0.0
	for _, r := range v.Snapshots[0].Replicas {
		sum += r.QueueLengthNow.Or(0)
	}
	w.waiting = append(w.waiting, sum)
	return nil, nil
}

// TestEndlessPatienceChangesNothing: what clients draw moves nothing else, and a client
// that never leaves is none that could.
func TestEndlessPatienceChangesNothing(t *testing.T) {
	text := func(p Patience) string {
		r, intervals, _ := crowded(t, p, false)
		b, err := json.Marshal([]any{r, intervals})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	none := text(Patience{})
	for _, p := range []Patience{{Retry: 0.5, After: time.Second}, {Mean: 10_000 * time.Hour, Retry: 0.5}} {
		if diff := cmp.Diff(none, text(p)); diff != "" {
			t.Errorf("%+v (-without +with):\n%s", p, diff)
		}
	}
}

// TestImpatientClientsLeaveTheQueue: the queue stops to grow at what arrives within their
// patience, and the policy sees that.
func TestImpatientClientsLeaveTheQueue(t *testing.T) {
	without, _, endless := crowded(t, Patience{}, false)
	with, _, seen := crowded(t, Patience{Mean: 30 * time.Second, Deviation: 10 * time.Second}, true)
	a, b := without.Models[0].Counts, with.Models[0].Counts
	if a.Arrived != b.Arrived || a.Abandoned != 0 || b.Abandoned < b.Arrived/4 || b.Retried != 0 {
		t.Errorf("of %d and %d requests %d and %d were abandoned, %d retried: want the same requests, none and many, none", a.Arrived, b.Arrived, a.Abandoned, b.Abandoned, b.Retried)
	}
	if last := 9; seen[last] > 20*45 || seen[last] < 20*5 || endless[last] < 2*seen[last] { // minutes
		t.Errorf("%g wait after nine minutes, %g with endless patience: want about what arrives in 30 s, 600 or less, and twice as many or more", seen[last], endless[last])
	}
	if share := with.Models[0].Attainment; share != float64(b.Met)/float64(b.Arrived) || b.Finished+b.Abandoned != b.Arrived-with.Models[0].Unfinished {
		t.Errorf("attainment %g of %+v: abandoned requests are misses", share, b)
	}
}

// TestClientsWhoComeBackAreOneRequest: retries are load and in no share.
func TestClientsWhoComeBackAreOneRequest(t *testing.T) {
	p := Patience{Mean: 20 * time.Second, Deviation: 20 * time.Second}
	once, _, _ := crowded(t, p, false)
	p.Retry, p.After = 0.5, 15*time.Second
	again, intervals, _ := crowded(t, p, true)
	a, b := once.Models[0].Counts, again.Models[0].Counts
	if a.Arrived != b.Arrived || b.Retried < b.Abandoned/3 || b.Retried > 2*b.Abandoned {
		t.Errorf("%d and %d requests arrived, %d were abandoned, and %d came back: want the same, and about half or more", a.Arrived, b.Arrived, b.Abandoned, b.Retried)
	}
	// Who comes back takes the place of others.
	if b.Met > a.Met || b.Met+b.Abandoned > b.Arrived {
		t.Errorf("%d met their objectives with retries and %d without, want no more", b.Met, a.Met)
	}
	sum := uint64(0)
	for _, i := range intervals {
		sum += i.Counts.Retried
	}
	if sum != b.Retried {
		t.Errorf("%d came back in the intervals, %d in all", sum, b.Retried)
	}
}

func TestImpatientClientsLeaveTheGateway(t *testing.T) {
	c := testConfig(simtest.Chat(t, "constant(2,2m)", 1))
	c.Models[0].Variants[0].Replicas, c.Models[0].Hold = 0, time.Hour
	c.Models[0].Patience = Patience{Mean: 10 * time.Second}
	c.check = func(w *world) error { return w.conserved() }
	r, err := Run(t.Context(), c, &onlooker{})
	if err != nil {
		t.Fatal(err)
	}
	if k := r.Models[0].Counts; k.Abandoned != k.Arrived || k.Arrived == 0 {
		t.Errorf("%d of %d were abandoned, want all: no replica is ever ready", k.Abandoned, k.Arrived)
	}
}

// TestColdReplicasFindLess: half of the prompts share half of themselves, so that warm
// replicas find a quarter of the tokens, and a new one next to none at first.
func TestColdReplicasFindLess(t *testing.T) {
	const minutes = 12
	run := func(x Prefix, targets ...[]Target) (Report, []float64) {
		c := testConfig(simtest.Chat(t, "constant(4,12m)", 1))
		c.Models[0].Prefix = x
		c.Models[0].SLO.TTFT = 1000 // so that histograms are asked for
		policy := &hits{scripted: scripted{every: time.Minute, targets: targets}}
		r, err := Run(t.Context(), c, policy)
		if err != nil {
			t.Fatal(err)
		}
		return r, policy.seen
	}
	x := Prefix{Share: 0.5, Part: 0.5, Warm: 2000}
	cold, _ := run(Prefix{})
	warm, steady := run(x)
	if a, b := warm.Models[0].TTFT.Mean, cold.Models[0].TTFT.Mean; a >= b {
		t.Errorf("a TTFT of %g ms with hits and %g without, want less", a, b)
	}
	if n := len(steady); n < minutes-1 || math.Abs(steady[n-2]-steady[3]) > 0.5*steady[3] || steady[3] == 0 {
		t.Errorf("warm replicas find %v of a prompt, want some and the same all the time", steady)
	}
	_, grown := run(x, want(1), want(1), want(1), want(8))
	if late, before := grown[len(grown)-2], grown[3]; late > 0.6*before {
		t.Errorf("%g is found after seven replicas were added and %g before, want less", late, before)
	}
}

// hits notes the prefix hits that it is shown.
type hits struct {
	scripted
	seen []float64
}

func (h *hits) Decide(v View) ([]Target, error) {
	h.seen = append(h.seen, v.Snapshots[0].Load.PrefixHits.Or(0))
	return h.scripted.Decide(v)
}
