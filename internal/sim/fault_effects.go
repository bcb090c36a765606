package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// trouble is a fault at run time.
type trouble struct {
	fault.Fault
	variant *variant // nil for a clock and an outage
	active  bool
	draws   *rand.Rand
}

// hit is a trouble of one pod, with the instant of the pod's next turn: when it crashes, loses its
// readiness or gets it back.
type hit struct {
	*trouble
	due time.Duration
}

// befall schedules the faults of the run.
func (w *world) befall() {
	for i, f := range w.cfg.Faults {
		t := &trouble{Fault: f, draws: w.stream("fault " + strconv.Itoa(i))}
		t.variant, _ = w.byKey(f.Variant)
		w.troubles = append(w.troubles, t)
		w.agenda.push(event{at: f.At, kind: beginEvent, trouble: t})
		if end := f.End(); end < never {
			w.agenda.push(event{at: end, kind: endEvent, trouble: t})
		}
	}
}

// clock returns the time that the manager's clock shows at an offset.
func (w *world) clock(offset time.Duration) time.Time {
	return w.at(offset).Add(fault.Offset(w.cfg.Faults, w.now))
}

// keptOut reports whether an outage keeps the requests of a model away from the gateway.
func (w *world) keptOut(m *model) bool {
	return slices.ContainsFunc(w.cfg.Faults, func(f fault.Fault) bool { return f.KeepsOut(m.Key, w.now) })
}

// befallen reports whether a fault of kind k is in force on the pod.
func (p *pod) befallen(k fault.Kind) bool {
	return slices.ContainsFunc(p.hits, func(h hit) bool { return h.Kind == k })
}

// handleFault handles an event of a fault.
func (w *world) handleFault(e event) error {
	t := e.trouble
	switch e.kind {
	case beginEvent:
		return w.beginFault(t)
	case endEvent:
		return w.endFault(t)
	case waveEvent:
		return w.wave(t, e.wave)
	case turnEvent:
		if i := slices.IndexFunc(e.pod.hits, func(h hit) bool { return h.trouble == t && h.due == w.now }); i >= 0 {
			w.turn(e.pod, t)
		}
	case nodeEvent:
		return w.place()
	default:
	}
	return nil
}

func (w *world) beginFault(t *trouble) error {
	t.active = true
	switch t.Kind {
	case fault.Deleted:
		t.variant.deleted = true
		for len(t.variant.pods) > 0 {
			w.remove(t.variant.pods[0])
		}
		w.changed()
		return w.place()
	case fault.Rollout:
		return w.wave(t, 0)
	case fault.Crash, fault.Silent, fault.Flap, fault.Stall, fault.NoNode:
		for _, p := range t.variant.pods {
			w.strike(t, p)
		}
	case fault.Clock, fault.Outage: // their readers compare with the time
	}
	return nil
}

func (w *world) endFault(t *trouble) error {
	t.active = false
	switch t.Kind {
	case fault.Deleted:
		t.variant.deleted = false
		w.changed()
		return w.scale(t.variant, t.Back())
	case fault.Crash, fault.Silent, fault.Flap, fault.Stall, fault.NoNode:
		for _, p := range t.variant.pods {
			w.relieve(t, p)
		}
		return w.place()
	case fault.Rollout, fault.Clock, fault.Outage:
	}
	return nil
}

// strike puts a fault on a pod, unless the fault has as many pods as it may.
func (w *world) strike(t *trouble, p *pod) {
	if !t.active || t.variant != p.variant || !t.Kind.PerPod() || t.struck() >= t.Most() {
		return
	}
	if t.Kind == fault.NoNode && p.phase != unplaced {
		return
	}
	p.hits = append(p.hits, hit{t, never})
	switch t.Kind {
	case fault.NoNode:
		p.free = t.End()
		if t.Wait > 0 {
			p.free = min(p.free, p.created+t.Wait)
		}
		if p.free < never {
			w.agenda.push(event{at: p.free, kind: nodeEvent})
		}
	case fault.Crash:
		if p.phase != unplaced {
			w.crash(p, t)
		}
	case fault.Flap:
		if p.phase == serves {
			w.schedule(p, t, w.now+time.Duration(t.draws.Int64N(int64(t.Period))))
		}
	default:
	}
}

// struck returns the number of pods that a fault is on. NoNode counts a pod only while it has no
// node.
func (t *trouble) struck() scaling.Replicas {
	n := scaling.Replicas(0)
	for _, p := range t.variant.pods {
		if slices.ContainsFunc(p.hits, func(h hit) bool { return h.trouble == t }) && (t.Kind != fault.NoNode || p.phase == unplaced) {
			n++
		}
	}
	return n
}

// relieve takes a fault off a pod.
func (w *world) relieve(t *trouble, p *pod) {
	had := len(p.hits)
	p.hits = slices.DeleteFunc(p.hits, func(h hit) bool { return h.trouble == t })
	if len(p.hits) == had {
		return
	}
	switch {
	case t.Kind == fault.Crash && p.phase == starting && p.due == never && !p.hopeless():
		w.start(p, w.now+p.startUp)
	case t.Kind == fault.Flap && p.phase == unready && !p.befallen(fault.Flap):
		w.back(p)
	case t.Kind == fault.Stall && p.replica != nil && !p.befallen(fault.Stall):
		w.admit(p)
	}
}

// stalling is a replica that keeps the requests sent to it while its pod stalls.
type stalling struct {
	Replica
	pod  *pod
	held []serving.Request
}

// stallable returns r, as a stalling replica if a fault may stall its variant.
func (w *world) stallable(p *pod, r Replica) Replica {
	if slices.ContainsFunc(w.cfg.Faults, func(f fault.Fault) bool { return f.Kind == fault.Stall && f.Concerns(p.variant.Spec.Key) }) {
		return &stalling{Replica: r, pod: p}
	}
	return r
}

// Submit implements Replica.
func (s *stalling) Submit(now time.Duration, req serving.Request) serving.Refusal {
	if !s.pod.befallen(fault.Stall) {
		return s.Replica.Submit(now, req)
	}
	s.held = append(s.held, req)
	return serving.Accepted
}

// Abort implements Replica.
func (s *stalling) Abort(now time.Duration, id uint64) bool {
	before := len(s.held)
	s.held = slices.DeleteFunc(s.held, func(r serving.Request) bool { return r.ID == id })
	return len(s.held) < before || s.Replica.Abort(now, id)
}

// Load implements Replica.
func (s *stalling) Load() int { return s.Replica.Load() + len(s.held) }

// Stats implements Replica: kept requests count as waiting.
func (s *stalling) Stats() serving.Stats {
	stats := s.Replica.Stats()
	stats.Waiting += len(s.held)
	return stats
}

// admit submits the requests that a replica kept while it stalled. The replica may refuse some.
func (w *world) admit(p *pod) {
	s, ok := p.replica.(*stalling)
	if !ok {
		return
	}
	w.settle(p)
	for _, req := range s.held {
		if refusal := s.Replica.Submit(w.now, req); refusal != serving.Accepted {
			slot, m := uint32(req.ID), p.variant.model
			p.unqueue(w.requests.at(slot))
			p.live--
			m.tally.rejected(w.requests.at(slot), refusal.String())
			w.end(m, slot)
		}
	}
	s.held = nil
	w.follow(p)
}

// hopeless reports whether the pod crashes at every start, before it is Ready.
func (p *pod) hopeless() bool {
	return slices.ContainsFunc(p.hits, func(h hit) bool { return h.Kind == fault.Crash && h.Period == 0 })
}

// start schedules when the engine of a pod is up, unless the pod is hopeless.
func (w *world) start(p *pod, at time.Duration) {
	if p.due = at; p.hopeless() {
		p.due = never
		return
	}
	w.agenda.push(event{at: at, kind: readyEvent, pod: p})
}

// started puts a pod whose engine is up into service.
func (w *world) started(p *pod) error {
	if p.replica == nil {
		if err := w.prepare(p); err != nil {
			return err
		}
	}
	w.ready(p)
	return nil
}

// unsettle schedules the turns of a pod that became Ready.
func (w *world) unsettle(p *pod) {
	for _, h := range p.hits {
		switch {
		case h.Kind == fault.Crash && h.Period > 0:
			w.schedule(p, h.trouble, w.now+h.Ready)
		case h.Kind == fault.Flap:
			w.schedule(p, h.trouble, w.now+time.Duration(h.draws.Int64N(int64(h.Period))))
		}
	}
}

// schedule schedules the next turn that a fault causes in a pod.
func (w *world) schedule(p *pod, t *trouble, at time.Duration) {
	for i := range p.hits {
		if p.hits[i].trouble == t {
			p.hits[i].due = at
			w.agenda.push(event{at: at, kind: turnEvent, pod: p, trouble: t})
		}
	}
}

// turn makes a pod crash, lose its readiness or get it back.
func (w *world) turn(p *pod, t *trouble) {
	switch {
	case t.Kind == fault.Crash && (p.phase == serves || p.phase == unready):
		w.crash(p, t)
	case t.Kind == fault.Flap && p.phase == serves:
		p.phase = unready
		w.schedule(p, t, w.now+t.Period-t.Ready)
		w.changed()
	case t.Kind == fault.Flap && p.phase == unready:
		w.back(p)
		w.schedule(p, t, w.now+t.Ready)
	}
}

// back returns a pod that had lost its readiness to service.
func (w *world) back(p *pod) {
	p.phase, p.served = serves, w.now
	w.release(p.variant.model)
	w.changed()
}

// crash ends the engine of a pod; its requests are lost. Its scraped counts stay within the window,
// and its counters begin anew.
func (w *world) crash(p *pod, t *trouble) {
	again := never
	if t.Period > 0 {
		again = w.now + t.Period - t.Ready
	}
	if p.phase == starting {
		if t.Period == 0 {
			p.due = never
		}
		return
	}
	w.lose(p)
	v := p.variant
	v.tally.Preemptions += p.replica.Stats().Preemptions
	if len(p.pages) > 0 {
		v.gone = append(v.gone, &pod{variant: v, name: p.name, phase: gone, node: -1, pages: p.pages})
	}
	p.phase, p.replica, p.pages, p.queued, p.due = starting, nil, nil, 0, again
	p.prompts, p.pulled, p.step = 0, 0, 0
	p.ttft, p.itl, p.each = distribution{bounds: v.model.ttftBounds}, distribution{bounds: v.model.itlBounds}, distribution{bounds: v.model.itlBounds}
	if again < never {
		w.start(p, again)
	}
	w.changed()
}

// wave replaces the oldest pods, as many as wave k of a rollout covers. Each new pod needs the
// length of a wave to be Ready.
func (w *world) wave(t *trouble, k int) error {
	waves, each := t.Waves()
	v := t.variant
	n := len(v.pods)*(k+1)/waves - len(v.pods)*k/waves
	for range n {
		w.remove(v.pods[0])
		p := w.newPod(v)
		p.startUp = each
		v.pods = append(v.pods, p)
		w.waiting = append(w.waiting, p)
	}
	if k+1 < waves {
		w.agenda.push(event{at: t.At + time.Duration(k+1)*each, kind: waveEvent, trouble: t, wave: k + 1})
	}
	w.changed()
	return w.place()
}
