package constrain

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	tick   = 15 * time.Second
	window = time.Minute
)

// request is one request and its outcome.
type request struct {
	arrived, begun, ended time.Time // begun and ended are zero until then
	takes                 time.Duration
}

// site is a model with two variants, its requests, and a process that decides every tick.
type site struct {
	t        *testing.T
	r        *rand.Rand
	now      time.Time
	gateway  bool
	policy   Pacing
	history  memory.History
	variants []scaling.Variant
	ordered  []time.Time // by variant, when its replicas were last raised
	requests []request
	outage   [2]time.Time // from and to of the last outage
	zeros    int
}

func newSite(t *testing.T, seed uint64) *site {
	r := rand.New(rand.NewPCG(seed, 8))
	s := &site{t: t, r: r, now: start, gateway: seed%3 > 0, history: memory.History{}, ordered: make([]time.Time, 2)}
	for i, name := range []string{"a", "b"} {
		v := scaling.Variant{Key: vkey(name), Model: model, Cost: float64(2 - i), GPUsPerReplica: 1, Bounds: scaling.Bounds{Max: 5}}
		v.Replicas = scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(1 + r.IntN(2))}
		s.variants, s.ordered[i] = append(s.variants, v), s.now
	}
	s.configure()
	return s
}

func (s *site) configure() {
	s.policy = Pacing{MaxScaleDownStep: scaling.Replicas(s.r.IntN(2)), ScaleDownStabilization: time.Duration(s.r.IntN(3)) * time.Minute, Zero: Zero{
		Enabled: s.r.IntN(4) > 0, Retention: []time.Duration{2 * time.Minute, 5 * time.Minute, 9 * time.Minute}[s.r.IntN(3)],
	}}
}

func (s *site) replicas() (current, ready scaling.Replicas) {
	for _, v := range s.variants {
		current, ready = current+v.Replicas.Current, ready+v.Replicas.Ready
	}
	return current, ready
}

// pass advances by a tick: pods start, requests arrive, begin and end.
func (s *site) pass(busy bool) {
	s.now = s.now.Add(tick)
	for i := range s.variants {
		if c := &s.variants[i].Replicas; c.Ready != c.Current && s.now.Sub(s.ordered[i]) >= 3*tick {
			c.Ready, c.NewestReady = c.Current, s.now
		}
		c := &s.variants[i].Replicas
		c.Pending = c.Current - c.Ready
	}
	_, ready := s.replicas()
	if busy && s.r.IntN(4) == 0 && (ready > 0 || s.gateway) {
		s.requests = append(s.requests, request{arrived: s.now.Add(-time.Duration(s.r.Int64N(int64(tick)))), takes: time.Duration(s.r.ExpFloat64() * float64(time.Minute))})
	}
	for i, q := range s.requests {
		if q.begun.IsZero() && ready > 0 {
			s.requests[i].begun = q.arrived
		}
		if end := s.requests[i].begun.Add(q.takes); !s.requests[i].begun.IsZero() && q.ended.IsZero() && !end.After(s.now) {
			s.requests[i].ended = end
		}
	}
}

// counted counts the requests that began or ended after a time.
func (s *site) counted(after time.Time) float64 {
	n := 0.0
	for _, q := range s.requests {
		if q.begun.After(after) || q.ended.After(after) {
			n++
		}
	}
	return n
}

func (s *site) held() (waiting, running float64) {
	for _, q := range s.requests {
		switch {
		case q.begun.IsZero():
			waiting++
		case q.ended.IsZero():
			running++
		}
	}
	return waiting, running
}

// lastActive returns when the model last had a request: now while it has one.
func (s *site) lastActive() time.Time {
	var last time.Time
	for _, q := range s.requests {
		end := q.ended
		if end.IsZero() {
			end = s.now
		}
		if end.After(last) {
			last = end
		}
	}
	return last
}

// snapshot returns the readings of no pod (blind), of half of the pods, or of all.
func (s *site) snapshot(blind, half bool) scaling.Snapshot {
	snap := scaling.Snapshot{Model: model, At: s.now, Window: window, Variants: s.variants}
	if blind {
		snap.Fault = "no answer"
		return snap
	}
	waiting, running := s.held()
	snap.Load = scaling.Load{ArrivalRate: scaling.Measured(s.counted(s.now.Add(-window))/window.Seconds(), scaling.Fresh), GatewayQueue: scaling.Reading{State: scaling.NotApplicable}}
	if s.gateway {
		snap.Load.GatewayQueue = scaling.Measured(waiting, scaling.Fresh)
	}
	since := s.now.Add(-s.policy.Zero.Retention - tick) // a query reaches a little further back than the period
	if since.After(s.outage[0]) && since.Before(s.outage[1]) {
		since = s.outage[1] // no sample from before
	}
	snap.Load.Recent = scaling.Recent{Requests: scaling.Measured(s.counted(since), scaling.Fresh), Since: since}
	for _, v := range s.variants {
		for i := range v.Replicas.Ready {
			sample := scaling.ReplicaSample{Pod: v.Key.Name + string(rune('0'+i)), Variant: v.Key, Ready: true, At: s.now}
			if !half || i%2 == 1 {
				sample.Running, sample.QueueLengthNow = scaling.Measured(running, scaling.Fresh), scaling.Measured(0, scaling.Fresh)
				running = 0 // the first pod that reports runs them all
			}
			snap.Replicas = append(snap.Replicas, sample)
		}
	}
	return snap
}

// decide passes the decision of an optimizer through the chain and stores the result.
func (s *site) decide(snap scaling.Snapshot) {
	activity := s.history.Model(s.variants).Activity.Then(snap)
	in := Input{
		Now: s.now, Variants: map[scaling.VariantKey]scaling.Variant{}, Policies: map[scaling.ModelKey]Pacing{model: s.policy},
		History: s.history, Activity: map[scaling.ModelKey]memory.Activity{model: activity},
	}
	waiting, _ := s.held()
	current, _ := s.replicas()
	plan := scaling.Plan{At: s.now}
	for i, v := range s.variants {
		in.Variants[v.Key] = v
		asked := s.history.LastDesired(v)
		switch {
		case i == 1 && current == 0 && waiting > 0:
			asked = 1 // a wake-up
		case asked > 0:
			asked = scaling.Replicas(s.r.IntN(4)) // any number, zero too
		}
		plan.Decisions = append(plan.Decisions, scaling.Decision{Variant: v.Key, Model: model, Current: v.Replicas.Current}.Then(scaling.StageOptimize, asked, "Asked", ""))
	}
	plan = Apply(in, plan)
	for i, d := range plan.Decisions {
		p := s.history[d.Variant]
		p.Wants, p.Activity = Wants(in, d), activity
		s.history[d.Variant] = p.Decide(d.Target(), s.now)
		c := &s.variants[i].Replicas
		if d.Target() > c.Current {
			s.ordered[i] = s.now
		}
		c.Current, c.Ready = d.Target(), min(c.Ready, d.Target())
	}
}

// restart drops what is in memory only; the decisions are in status.
func (s *site) restart() {
	kept := memory.History{}
	for k, p := range s.history {
		kept[k] = memory.Past{Desired: p.Desired, DecidedAt: p.DecidedAt}
	}
	s.history = kept
}

// run lives through a random history and checks every tick.
func (s *site) run(ticks int) {
	busy, blindTill, halfTill := false, s.now, s.now
	uncertain := s.now // when the last obstacle to knowing that the model is idle ended
	for range ticks {
		if s.r.IntN(25) == 0 {
			busy = !busy && s.r.IntN(2) == 0
		}
		if !blindTill.After(s.now) && s.r.IntN(80) == 0 {
			blindTill = s.now.Add(time.Duration(1+s.r.IntN(50)) * tick)
			s.outage = [2]time.Time{s.now, blindTill}
		}
		if s.r.IntN(80) == 0 {
			halfTill = s.now.Add(time.Duration(1+s.r.IntN(20)) * tick)
		}
		if s.r.IntN(40) == 0 {
			s.restart()
		}
		if s.r.IntN(60) == 0 {
			s.configure()
		}
		s.pass(busy)
		blind, half := !blindTill.Before(s.now), halfTill.After(s.now)
		before, ready := s.replicas()
		s.decide(s.snapshot(blind, half))
		after, _ := s.replicas()
		zero := s.policy.Zero
		idle := s.now.Sub(s.lastActive())
		switch {
		case before > 0 && after == 0 && !zero.Enabled:
			s.t.Fatalf("at %s: zero is off and the model went to it", s.now.Sub(start))
		case before > 0 && after == 0 && idle <= zero.Retention:
			s.t.Fatalf("at %s: zero %s after the last activity, the retention period is %s", s.now.Sub(start), idle, zero.Retention)
		case before > 0 && after == 0 && (blind || half && before > ready):
			s.t.Fatalf("at %s: zero on what is not known", s.now.Sub(start))
		case before > 0 && after == 0:
			s.zeros++
		}
		if blind || half || before == 0 || ready < before || after > before {
			uncertain = s.now
		}
		known := s.now.Sub(uncertain)
		if limit := zero.Retention + window + 2*tick; zero.Enabled && after > 0 && idle > limit && known > limit {
			s.t.Fatalf("at %s: idle for %s, known for %s, and %d replicas; the retention period is %s", s.now.Sub(start), idle, known, after, zero.Retention)
		}
	}
}

// TestZeroIsReachedByTheRetentionPeriodAndNeverBefore runs histories of activity, outages, pods
// that do not report, restarts and configuration changes, with and without a gateway.
func TestZeroIsReachedByTheRetentionPeriodAndNeverBefore(t *testing.T) {
	zeros := 0
	for seed := range uint64(race.Cases(120)) {
		s := newSite(t, seed)
		s.run(500)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		zeros += s.zeros
	}
	if zeros < race.Cases(100) {
		t.Errorf("the model went to zero %d times in all, which shows nothing", zeros)
	}
	t.Logf("to zero %d times", zeros)
}
