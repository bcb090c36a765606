package cycle

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// served is one request and its outcome.
type served struct {
	arrived, begun, ended time.Time // begun and ended are zero until then
	takes                 time.Duration
}

// idlePlant is a plant: a model with variants whose requests come and go one by one, its metrics
// source, and a scaler that carries decisions out at once. Its time advances in ticks.
type idlePlant struct {
	now      time.Time
	gateway  bool // requests are held while no replica is Ready; else they are lost
	remember bool // the source can be asked how long the model has been idle
	zero     constrain.Zero
	interval time.Duration // of cycles
	variants []scaling.Variant
	ordered  []time.Time // by variant, when its replicas were last raised
	requests []served
	// Faults of the source, until the time given: it does not answer, it scrapes no pod, or it
	// scrapes every other pod only.
	blind, stopped, half time.Time
	outage               [2]time.Time // from and to of the last time without scrapes
	unschedulable        int          // the first variants, as many, find no node
	failing              int          // the first variants, as many, never become Ready
	unread               bool         // the first target cannot be read
	setup                Setup        // its interval is replaced by interval
	past                 memory.History
	last                 scaling.Plan
}

// The times of the plant. restWindow spans four scrapes.
const (
	restTick    = 15 * time.Second
	restWindow  = time.Minute
	restStartUp = 3 * restTick
)

var restModel = scaling.ModelKey{Namespace: "ns", ID: "m"}

// newRest returns a plant that has been idle for an hour, with one Ready replica of each variant.
// The variants are named a, b and so on and have the given costs.
func newRest(zero constrain.Zero, costs ...float64) *idlePlant {
	s := &idlePlant{now: now, gateway: true, remember: true, zero: zero, interval: restTick, past: memory.History{}}
	for i, cost := range costs {
		name := string(rune('a' + i))
		s.variants = append(s.variants, scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: name}, Model: restModel, Target: scaling.TargetRef{Kind: "Deployment", Name: name},
			Cost: cost, CostSource: scaling.CostVariant, GPUsPerReplica: 1, Bounds: scaling.Bounds{Max: 5}, StartUp: restStartUp,
			Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1, NewestReady: now.Add(-time.Hour)},
		})
		s.ordered = append(s.ordered, now.Add(-time.Hour))
	}
	return s
}

func (s *idlePlant) replicas() (current, ready scaling.Replicas) {
	for _, v := range s.variants {
		current, ready = current+v.Replicas.Current, ready+v.Replicas.Ready
	}
	return current, ready
}

// arrive sends a request that takes a duration.
func (s *idlePlant) arrive(takes time.Duration) {
	if _, ready := s.replicas(); ready > 0 || s.gateway {
		s.requests = append(s.requests, served{arrived: s.now, takes: takes})
	}
}

// pass advances by one tick: pods start, requests begin and end.
func (s *idlePlant) pass() {
	s.now = s.now.Add(restTick)
	for i := range s.variants {
		c := &s.variants[i].Replicas
		if i == 0 && s.unread {
			continue
		}
		if i < s.unschedulable {
			c.Unschedulable = c.Current - c.Ready
		} else if c.Unschedulable = 0; i >= s.failing && c.Ready != c.Current && s.now.Sub(s.ordered[i]) >= restStartUp {
			c.Ready, c.NewestReady = c.Current, s.now
		}
		c.Pending = c.Current - c.Ready
	}
	_, ready := s.replicas()
	for i := range s.requests {
		q := &s.requests[i]
		if q.begun.IsZero() && ready > 0 {
			q.begun = s.now.Add(-restTick)
		}
		if end := q.begun.Add(q.takes); !q.begun.IsZero() && q.ended.IsZero() && !end.After(s.now) {
			q.ended = end
		}
	}
}

// held counts the requests that wait at the gateway and those that run.
func (s *idlePlant) held() (waiting, running float64) {
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

// lastActive returns when the model last had a request: now while it has one. It leaves out
// requests after the last scrape, which the source does not know.
func (s *idlePlant) lastActive() time.Time {
	var last time.Time
	for _, q := range s.requests {
		if q.arrived.After(s.scrapedAt()) {
			continue
		}
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

// counted counts the requests that began or ended after a time.
func (s *idlePlant) counted(after time.Time) float64 {
	n := 0.0
	for _, q := range s.requests {
		if q.begun.After(after) || q.ended.After(after) {
			n++
		}
	}
	return n
}

// scrapedAt returns the time of the last scrape.
func (s *idlePlant) scrapedAt() time.Time {
	if s.stopped.After(s.now) {
		return s.outage[0]
	}
	return s.now
}

// snapshot returns the data of the source, as the collector would.
func (s *idlePlant) snapshot() scaling.Snapshot {
	snap := scaling.Snapshot{Model: restModel, At: s.now, Window: restWindow, Variants: append([]scaling.Variant{}, s.variants...)}
	if s.blind.After(s.now) {
		snap.Fault = "no answer"
		return snap
	}
	at, state := s.scrapedAt(), scaling.Fresh
	switch age := s.now.Sub(at); {
	case age >= 5*time.Minute:
		state = scaling.Stale
	case age >= time.Minute:
		state = scaling.Aging
	}
	half := s.half.After(s.now)
	waiting, running := s.held()
	// A rate does not show requests before the first scrape in the window.
	rate := scaling.Measured(s.counted(at.Add(-restWindow*3/4))/restWindow.Seconds(), state)
	if half {
		rate.State = min(state, scaling.Aging)
	}
	if _, ready := s.replicas(); ready == 0 {
		rate = scaling.Reading{}
	}
	snap.Load = scaling.Load{ArrivalRate: rate, GatewayQueue: scaling.Reading{State: scaling.NotApplicable}}
	if s.gateway {
		snap.Load.GatewayQueue = scaling.Measured(waiting, state)
	}
	none := scaling.Measured(0, state)
	for _, v := range s.variants {
		for i := range v.Replicas.Ready {
			sample := scaling.ReplicaSample{Pod: fmt.Sprintf("%s-%d", v.Key.Name, i), Variant: v.Key, Ready: true}
			if !half || i%2 == 1 {
				sample.At, sample.Running, sample.QueueLength, sample.QueueLengthNow = at, scaling.Measured(running, state), none, none
				sample.KVCacheUsage, sample.KVCacheUsageNow, sample.KVCapacity = none, none, scaling.Measured(1e5, state)
				running = 0 // the first pod that reports runs them all
			}
			snap.Replicas = append(snap.Replicas, sample)
		}
	}
	if span := s.past.Model(s.variants).Activity.Recall(s.now, s.zero.Retention); span > 0 && s.remember && !half && state == scaling.Fresh {
		snap.Load.Recent = scaling.Recent{Requests: scaling.Measured(0, scaling.Fresh), Since: s.quietSince(span)}
	}
	return snap
}

// quietSince returns the answer of a metrics store: the time of the last counted request, the end
// of the last gap, or the start of the youngest pod, whichever is latest. A window and two looks
// are added.
func (s *idlePlant) quietSince(span time.Duration) time.Time {
	since := s.now.Add(-span)
	later := func(at time.Time) {
		if at = at.Add(restWindow + 2*restTick); at.After(s.now) {
			at = s.now
		}
		if at.After(since) {
			since = at
		}
	}
	later(s.outage[1])
	for _, v := range s.variants {
		if v.Replicas.Ready > 0 {
			later(v.Replicas.NewestReady)
		}
	}
	for _, q := range s.requests {
		later(q.begun)
		later(q.ended)
		if !q.begun.IsZero() && q.ended.IsZero() {
			later(s.now)
		}
	}
	return since
}

// under returns the setup with a pace of the model.
func (s *idlePlant) under(p constrain.Pacing) Setup {
	setup, how := s.setup, s.setup.settings(restModel)
	how.Pacing = p
	setup.Models = map[scaling.ModelKey]settings.Model{restModel: how}
	return setup
}

// decide runs a cycle and carries its plan out.
func (s *idlePlant) decide() {
	setup := s.under(constrain.Pacing{ScaleDownStabilization: 2 * time.Minute, MaxScaleDownStep: 1, Zero: s.zero})
	setup.Interval = s.interval
	verdict := setup.Decide(Case{Now: s.now, Snapshots: []scaling.Snapshot{s.snapshot()}, History: s.past})
	s.past, s.last = verdict.History, verdict.Plan
	for _, d := range verdict.Plan.Decisions {
		for i := range s.variants {
			if c := &s.variants[i].Replicas; s.variants[i].Key == d.Variant && (i > 0 || !s.unread) {
				if d.Target() > c.Current {
					s.ordered[i] = s.now
				}
				c.Current, c.Ready = d.Target(), min(c.Ready, d.Target())
				c.Pending = c.Current - c.Ready
			}
		}
	}
}

// live runs the plant for a length, with a cycle at each interval. It returns how long it took
// until the model had no replica, 0 if it always had some.
func (s *idlePlant) live(length time.Duration) time.Duration {
	began := s.now
	for s.now.Sub(began) < length {
		s.pass()
		if s.now.Sub(began)%s.interval != 0 {
			continue
		}
		s.decide()
		if current, _ := s.replicas(); current == 0 {
			return s.now.Sub(began)
		}
	}
	return 0
}

// restart drops the state that is only in memory; the decisions are in status.
func (s *idlePlant) restart() {
	kept := memory.History{}
	for k, p := range s.past {
		kept[k] = memory.Past{Desired: p.Desired, Change: p.Change, DecidedAt: p.DecidedAt}
	}
	s.past = kept
}

// stop stops the scrapes for d. The source still answers.
func (s *idlePlant) stop(d time.Duration) {
	s.stopped = s.now.Add(d)
	s.outage = [2]time.Time{s.now, s.stopped}
}

// befall applies a random fault to the source or the process, or none, and reports whether
// the process restarted.
func (s *idlePlant) befall(r *rand.Rand) (restarted bool) {
	calm := !s.blind.After(s.now) && !s.stopped.After(s.now)
	switch r.IntN(200) {
	case 0, 1:
		if calm {
			s.blind = s.now.Add(time.Duration(1+r.IntN(50)) * restTick)
		}
	case 2:
		if calm {
			s.stop(time.Duration(1+r.IntN(50)) * restTick)
		}
	case 3, 4:
		s.half = s.now.Add(time.Duration(1+r.IntN(20)) * restTick)
	case 5, 6, 7, 8:
		s.restart()
		return true
	case 9, 10, 11:
		s.configure(r)
	}
	return false
}

func (s *idlePlant) configure(r *rand.Rand) {
	s.zero = constrain.Zero{Enabled: r.IntN(4) > 0, Retention: []time.Duration{2 * time.Minute, 5 * time.Minute, 9 * time.Minute}[r.IntN(3)]}
}
