package memory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// idleSnapshot returns two replicas of one variant that had no request. With a scrape every 20
// seconds, its window of 80 s covers a minute.
func idleSnapshot(at time.Time) scaling.Snapshot {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	none := scaling.Measured(0, scaling.Fresh)
	sample := func(pod string) scaling.ReplicaSample {
		return scaling.ReplicaSample{Pod: pod, Variant: key, Ready: true, At: at, Running: none, QueueLength: none, QueueLengthNow: none}
	}
	return scaling.Snapshot{
		At: at, Window: 80 * time.Second,
		Variants: []scaling.Variant{{Key: key, Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2, NewestReady: noon.Add(-time.Hour)}}},
		Replicas: []scaling.ReplicaSample{sample("a"), sample("b")},
		Load:     scaling.Load{ArrivalRate: none, GatewayQueue: scaling.Reading{State: scaling.NotApplicable}, ITL: scaling.Reading{State: scaling.NotApplicable}},
	}
}

func TestIdleIsKnownOfEverythingThatShowsARequest(t *testing.T) {
	one := func(state scaling.Freshness) scaling.Reading { return scaling.Measured(1, state) }
	tests := []struct {
		name   string
		change func(*scaling.Snapshot)
		want   scaling.Life
	}{
		{"nothing to do", func(*scaling.Snapshot) {}, scaling.LifeIdle},
		{"a request runs", func(s *scaling.Snapshot) { s.Replicas[1].Running = one(scaling.Fresh) }, scaling.LifeActive},
		{"one ran lately", func(s *scaling.Snapshot) { s.Replicas[1].Running = one(scaling.Aging) }, scaling.LifeActive},
		{"one waits", func(s *scaling.Snapshot) { s.Replicas[1].QueueLengthNow = one(scaling.Fresh) }, scaling.LifeActive},
		{"one waited within the window", func(s *scaling.Snapshot) { s.Replicas[0].QueueLength = one(scaling.Fresh) }, scaling.LifeActive},
		{"one waits at the gateway", func(s *scaling.Snapshot) { s.Load.GatewayQueue = one(scaling.Fresh) }, scaling.LifeActive},
		{"requests arrive", func(s *scaling.Snapshot) { s.Load.ArrivalRate = one(scaling.Fresh) }, scaling.LifeActive},
		{"tokens are produced and nothing is completed", func(s *scaling.Snapshot) { s.Load.ITL = one(scaling.Fresh) }, scaling.LifeActive},
		{"a prompt was answered", func(s *scaling.Snapshot) { s.Load.TTFT = one(scaling.Fresh) }, scaling.LifeActive},
		{"a gauge of waiting requests that does not move", func(s *scaling.Snapshot) {
			s.Replicas[0] = scaling.ReplicaSample{Pod: "a", Variant: s.Replicas[0].Variant, Ready: true, Stuck: scaling.Sick, Held: 3}
		}, scaling.LifeUnknown},
		{"a frozen gauge", func(s *scaling.Snapshot) {
			s.Replicas[0] = scaling.ReplicaSample{Pod: "a", Variant: s.Replicas[0].Variant, Ready: true, Stuck: scaling.Frozen, Held: 1}
		}, scaling.LifeUnknown},
		{"what ran is stale", func(s *scaling.Snapshot) { s.Replicas[0].Running = one(scaling.Stale) }, scaling.LifeUnknown},
		{"nothing ran, seen a while ago", func(s *scaling.Snapshot) { s.Replicas[0].Running = scaling.Measured(0, scaling.Aging) }, scaling.LifeUnknown},
		{"half of the pods say nothing", func(s *scaling.Snapshot) {
			s.Replicas[0].Running, s.Replicas[0].QueueLengthNow = scaling.Reading{}, scaling.Reading{}
		}, scaling.LifeUnknown},
		{"half of the pods are not there", func(s *scaling.Snapshot) { s.Replicas = s.Replicas[:1] }, scaling.LifeUnknown},
		{"a replica that no node takes", func(s *scaling.Snapshot) {
			s.Replicas = s.Replicas[:1]
			s.Variants[0].Replicas.Ready, s.Variants[0].Replicas.Pending, s.Variants[0].Replicas.Unschedulable = 1, 1, 1
		}, scaling.LifeIdle},
		{"the arrival rate is missing", func(s *scaling.Snapshot) { s.Load.ArrivalRate = scaling.Reading{} }, scaling.LifeUnknown},
		{"a gateway that was there and says nothing", func(s *scaling.Snapshot) { s.Load.GatewayQueue = scaling.Reading{} }, scaling.LifeUnknown},
		{"an empty gateway queue", func(s *scaling.Snapshot) { s.Load.GatewayQueue = scaling.Measured(0, scaling.Fresh) }, scaling.LifeIdle},
		{"the target cannot be read", func(s *scaling.Snapshot) { s.Variants[0].Replicas = scaling.ReplicaCounts{} }, scaling.LifeUnknown},
		{"the source fails", func(s *scaling.Snapshot) { s.Fault = "connection refused" }, scaling.LifeUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := idleSnapshot(noon)
			tt.change(&s)
			if got := (Activity{}).Then(s); got.Life != tt.want || got.Detail == "" {
				t.Errorf("got %q (%s), want %q", got.Life, got.Detail, tt.want)
			}
		})
	}
}

func TestASignOfLifeIsReadable(t *testing.T) {
	for seen, want := range map[float64]string{0.25: "0.25", 42.4: "42.4", 1834.6: "1835"} {
		s := idleSnapshot(noon)
		s.Load.TTFT = scaling.Measured(seen, scaling.Fresh)
		if got := (Activity{}).Then(s).Detail; got != want+" ms TTFT: prompts were answered" {
			t.Errorf("%g ms: got %q", seen, got)
		}
	}
}

func TestQuietIsKnownWithoutAGap(t *testing.T) {
	type look struct {
		after  time.Duration
		change func(*scaling.Snapshot)
	}
	idle := func(*scaling.Snapshot) {}
	out := func(s *scaling.Snapshot) { s.Replicas, s.Load, s.Fault = nil, scaling.Load{}, "no answer" }
	busy := func(s *scaling.Snapshot) { s.Replicas[0].Running = scaling.Measured(1, scaling.Fresh) }
	recent := func(requests float64, since time.Duration) func(*scaling.Snapshot) {
		return func(s *scaling.Snapshot) {
			s.Load.Recent = scaling.Recent{Requests: scaling.Measured(requests, scaling.Fresh), Since: noon.Add(since)}
		}
	}
	until := func(since, until time.Duration) func(*scaling.Snapshot) {
		return func(s *scaling.Snapshot) {
			s.Load.Recent = scaling.Recent{Requests: scaling.Measured(0, scaling.Fresh), Since: noon.Add(since), Until: noon.Add(until)}
		}
	}
	counts := func(current, ready scaling.Replicas, newest time.Duration) func(*scaling.Snapshot) {
		return func(s *scaling.Snapshot) {
			s.Variants[0].Replicas = scaling.ReplicaCounts{Observed: true, Current: current, Ready: ready, NewestReady: noon.Add(newest)}
			s.Replicas = s.Replicas[:ready]
		}
	}
	tests := []struct {
		name  string
		looks []look
		want  time.Duration
	}{
		{"the first look tells of its window from the first scrape in it on", []look{{0, idle}}, time.Minute},
		{"looks that overlap", []look{{0, idle}, {time.Minute, idle}, {2 * time.Minute, idle}}, 3 * time.Minute},
		{"one look between them failed and the window spans it", []look{{0, idle}, {30 * time.Second, out}, {time.Minute, idle}}, 2 * time.Minute},
		{"the outage was longer than the window", []look{{0, idle}, {time.Minute, out}, {2 * time.Minute, idle}}, time.Minute},
		{"the counters span the outage", []look{{0, idle}, {time.Minute, out}, {2 * time.Minute, recent(0, -time.Minute)}}, 3 * time.Minute},
		{"the counters saw a request in it", []look{{0, idle}, {time.Minute, out}, {2 * time.Minute, recent(1, -time.Minute)}}, time.Minute},
		{"while nothing is known", []look{{0, idle}, {30 * time.Second, out}}, 0},
		{"while a request runs", []look{{0, idle}, {30 * time.Second, busy}}, 0},
		{"from the last sign of life on", []look{{0, idle}, {30 * time.Second, busy}, {time.Minute, idle}, {90 * time.Second, idle}}, time.Minute},
		{"counters do not deny what was seen", []look{{0, busy}, {30 * time.Second, recent(0, -time.Hour)}}, 30 * time.Second},
		{"a new process is told", []look{{0, recent(0, -10*time.Minute)}}, 10 * time.Minute},
		{"a new process is told of a time that reaches to its look", []look{{0, until(-10*time.Minute, -time.Minute)}}, 10 * time.Minute},
		{"a new process is told of a time that ended before its look", []look{{0, until(-10*time.Minute, -61*time.Second)}}, time.Minute},
		{"a time that bridges two looks", []look{{0, idle}, {2 * time.Minute, until(-30*time.Second, 70*time.Second)}}, 3 * time.Minute},
		{"a time that reaches to the earlier look only", []look{{0, idle}, {2 * time.Minute, until(-30*time.Second, 50*time.Second)}}, time.Minute},
		{"never from before the first Ready", []look{{0, counts(1, 1, -20*time.Second)}}, 20 * time.Second},
		{"not before anything is Ready", []look{{0, counts(1, 0, 0)}, {time.Minute, counts(1, 0, 0)}}, 0},
		{"a replica that is replaced does not begin it anew", []look{{0, idle}, {time.Minute, counts(1, 1, 50*time.Second)}}, 2 * time.Minute},
		{"from zero it begins with the next Ready", []look{{0, idle}, {30 * time.Second, counts(0, 0, 0)}, {time.Minute, counts(1, 1, 55*time.Second)}}, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Activity
			for _, l := range tt.looks {
				s := idleSnapshot(noon.Add(l.after))
				l.change(&s)
				a = a.Then(s)
			}
			if got := a.IdleFor(); got != tt.want {
				t.Errorf("quiet for %s, want %s (%+v)", got, tt.want, a)
			}
		})
	}
}

func TestWhatBecomesKnownLaterMakesTheQuietLonger(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	idle := Activity{At: noon, Life: scaling.LifeIdle, ReadySince: ago(time.Hour), IdleSince: ago(time.Minute), Until: noon}
	busy := Activity{At: noon, Life: scaling.LifeActive, ReadySince: ago(time.Hour), Seen: noon}
	young, seen := idle, idle
	young.ReadySince, seen.Seen = ago(5*time.Minute), ago(2*time.Minute)
	none := scaling.Measured(0, scaling.Fresh)
	for name, tt := range map[string]struct {
		activity Activity
		known    scaling.Recent
		want     time.Duration
	}{
		"it reaches to the quiet":                {idle, scaling.Recent{Requests: none, Since: ago(10 * time.Minute), Until: ago(time.Minute)}, 10 * time.Minute},
		"it ends before":                         {idle, scaling.Recent{Requests: none, Since: ago(10 * time.Minute), Until: ago(61 * time.Second)}, time.Minute},
		"it begins later":                        {idle, scaling.Recent{Requests: none, Since: ago(30 * time.Second), Until: noon}, time.Minute},
		"it saw a request":                       {idle, scaling.Recent{Requests: scaling.Measured(1, scaling.Fresh), Since: ago(10 * time.Minute), Until: noon}, time.Minute},
		"nothing":                                {idle, scaling.Recent{}, time.Minute},
		"from before the first Ready":            {young, scaling.Recent{Requests: none, Since: ago(10 * time.Minute), Until: noon}, 5 * time.Minute},
		"from before the last request":           {seen, scaling.Recent{Requests: none, Since: ago(10 * time.Minute), Until: noon}, 2 * time.Minute},
		"of a model that shows a request by now": {busy, scaling.Recent{Requests: none, Since: ago(10 * time.Minute), Until: noon}, 0},
	} {
		if got := tt.activity.With(tt.known).IdleFor(); got != tt.want {
			t.Errorf("%s: quiet for %s, want %s", name, got, tt.want)
		}
	}
}

// TestQuietReachesToTheOldestScrape: requests to a replica since its last scrape are unknown, so
// the quiet ends there.
func TestQuietReachesToTheOldestScrape(t *testing.T) {
	s := idleSnapshot(noon)
	s.Replicas[0].At = noon.Add(-20 * time.Second)
	a := Activity{}.Then(s)
	if got := a.IdleFor(); got != 40*time.Second {
		t.Errorf("quiet for %s, want the window without the 20 s between the scrapes", got)
	}
	s = idleSnapshot(noon.Add(40 * time.Second))
	if got := a.Then(s).IdleFor(); got != 100*time.Second {
		t.Errorf("quiet for %s, want 100 s: the window reaches back to the scrape before", got)
	}
	s = idleSnapshot(noon.Add(41 * time.Second))
	s.Replicas[0].At = noon.Add(-19 * time.Second)
	s.Window = 40 * time.Second
	if got := a.Then(s).IdleFor(); got != 0 {
		t.Errorf("quiet for %s, want none: the windows of the two replicas have nothing in common", got)
	}
}

func TestASourceIsAskedAsFarBackAsItMatters(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	idle := func(since, until time.Duration) Activity {
		return Activity{At: ago(until), Life: scaling.LifeIdle, IdleSince: ago(since), Until: ago(until)}
	}
	busy := Activity{At: ago(time.Minute), Life: scaling.LifeActive, Seen: ago(time.Minute)}
	blind := idle(20*time.Minute, time.Minute)
	blind.Life = scaling.LifeUnknown
	for name, tt := range map[string]struct {
		activity  Activity
		retention time.Duration
		want      time.Duration
	}{
		"nothing is remembered":                              {Activity{}, 10 * time.Minute, 12 * time.Minute},
		"no retention":                                       {Activity{}, 0, 0},
		"a request was seen since":                           {busy, 10 * time.Minute, 0},
		"one was seen, and not since":                        {busy, time.Minute, 3 * time.Minute},
		"quiet, and not for long":                            {idle(5*time.Minute, time.Minute), 10 * time.Minute, 12 * time.Minute},
		"quiet for longer: to the last one":                  {idle(20*time.Minute, 70*time.Second), 10 * time.Minute, 4 * time.Minute},
		"quiet for a while, of which the beginning is known": {idle(7*time.Minute, time.Minute), 10 * time.Minute, 4 * time.Minute},
		"a retention of a year":                              {Activity{}, 365 * 24 * time.Hour, 24*time.Hour + 2*time.Minute},
		"it was quiet and is not known":                      {blind, 10 * time.Minute, 12 * time.Minute},
	} {
		if got := tt.activity.Recall(noon, tt.retention); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// TestActivityIsIndifferentToOrder: of several gaps the same one is named first in any order.
func TestActivityIsIndifferentToOrder(t *testing.T) {
	s := idleSnapshot(noon)
	s.Replicas = nil
	other := s.Variants[0]
	other.Key.Name = "a"
	s.Variants = append(s.Variants, other)
	want := Activity{}.Then(s)
	slices.Reverse(s.Variants)
	if got := (Activity{}).Then(s); got != want || got.Life != scaling.LifeUnknown {
		t.Errorf("got %+v in another order, want %+v", got, want)
	}
}

func TestCauseOfAModelAtZeroIsItsRetention(t *testing.T) {
	d := scaling.Decision{}.Then(scaling.StageOptimize, 0, scaling.ReasonNoData, "").Then(scaling.StageRetention, 0, scaling.ReasonIdle, "")
	if got := d.Cause().Reason; got != scaling.ReasonIdle {
		t.Errorf("got %s, want %s", got, scaling.ReasonIdle)
	}
	d = scaling.Decision{Current: 3}.Then(scaling.StageOptimize, 2, scaling.ReasonSpareCapacity, "").Then(scaling.StageRetention, 2, scaling.ReasonIdle, "")
	if got := d.Cause().Reason; got != scaling.ReasonSpareCapacity {
		t.Errorf("got %s, want what changed the number, %s", got, scaling.ReasonSpareCapacity)
	}
}

func TestWithoutAGatewayIdlenessSaysWhatThatMeans(t *testing.T) {
	for state, want := range map[scaling.Freshness]bool{scaling.NotApplicable: true, scaling.Fresh: false} {
		s := scaling.Snapshot{Load: scaling.Load{ArrivalRate: scaling.Measured(0, scaling.Fresh), GatewayQueue: scaling.Measured(0, state)}}
		life, detail := lifeOf(s)
		if says := strings.Contains(detail, "no request would be noticed"); life != scaling.LifeIdle || says != want {
			t.Errorf("a queue that is %s: %s, %q", state, life, detail)
		}
	}
}
