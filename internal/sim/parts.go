package sim

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// Transfer is the time that the KV cache of a prompt takes from a prefill replica to a decode
// replica: Base + PerToken for each token of the prompt. The zero value takes no time.
type Transfer struct {
	Base     time.Duration // >= 0
	PerToken time.Duration // >= 0
}

// DefaultTransfer returns the Transfer of a model with 0.26 MB of KV cache per token, moved at 25
// GB/s: 64 layers with 8 heads of 128 numbers of 16 bits for keys and for values (Qwen2.5-32B), and
// half of what one port of 400 Gbit/s carries. Base covers the request to the second engine and the
// exchange before the transfer.
func DefaultTransfer() Transfer {
	return Transfer{Base: 5 * time.Millisecond, PerToken: 10 * time.Microsecond}
}

// of returns the time that the KV cache of so many tokens takes.
func (t Transfer) of(tokens int32) time.Duration { return t.Base + time.Duration(tokens)*t.PerToken }

// stage is how far a request has come in a model that is served in parts.
type stage uint8

const (
	entering stage = iota // it is at the gateway or in prefill; or its model serves whole requests
	passed                // prefill is done with it, and no decode replica is chosen
	pulling               // its KV cache moves to a decode replica
	decoding              // the decode replica has it
)

// split reports whether the variants serve requests in parts.
func (m *Model) split() bool {
	return slices.ContainsFunc(m.Variants, func(v Variant) bool { return v.Spec.Role == scaling.RolePrefill })
}

// part sorts the variants of a model into those that requests enter first and those of decode.
func (m *model) part() {
	m.split = m.Model.split()
	for _, v := range m.variants {
		if m.split && v.Spec.Role != scaling.RolePrefill {
			m.exit.variants = append(m.exit.variants, v)
		} else {
			m.entry.variants = append(m.entry.variants, v)
		}
	}
}

// door returns the door that v belongs to.
func (v *variant) door() *door {
	if v.model.split && v.Spec.Role != scaling.RolePrefill {
		return &v.model.exit
	}
	return &v.model.entry
}

// prefills reports whether the pod hands its requests over to decode.
func (p *pod) prefills() bool {
	return p.variant.model.split && p.variant.Spec.Role == scaling.RolePrefill
}

// handlePart handles an event of a request between prefill and decode.
func (w *world) handlePart(e event) {
	switch e.kind {
	case stepEvent:
		if e.pod.step == w.now && e.pod.replica != nil {
			w.settle(e.pod)
			w.follow(e.pod)
		}
	case passEvent:
		if r := w.requests.at(e.slot); r.live && r.stage == passed && r.source == e.pod {
			w.seek(e.pod.variant.model, e.slot)
		}
	case movedEvent:
		if r := w.requests.at(e.slot); r.live && r.stage == pulling && r.pod == e.pod && r.submitted+r.moved <= w.now {
			w.submitDecode(e.pod, e.slot)
		}
	default:
	}
}

// follow schedules an event for the end of the next step of a prefill replica, because its requests
// go on at once. Other replicas catch up when an event looks at them.
func (w *world) follow(p *pod) {
	if !p.prefills() {
		return
	}
	next, ok := p.replica.Next()
	if at := max(next, w.now) + 1; ok && at != p.step {
		p.step = at
		w.agenda.push(event{at: at, kind: stepEvent, pod: p})
	}
}

// pass books that prefill is done with a request. Its pod keeps the KV cache.
func (w *world) pass(p *pod, slot uint32, at time.Duration) {
	p.each.add(0, 1) // as vLLM does: the mean over no token
	p.keeps++
	r := w.requests.at(slot)
	r.pod, r.source, r.stage, r.passed = nil, p, passed, at
	w.agenda.push(event{at: w.now, kind: passEvent, pod: p, slot: slot})
}

// seek finds a decode replica for a request, or makes the request wait for one.
func (w *world) seek(m *model, slot uint32) {
	r := w.requests.at(slot)
	if len(m.passed) == 0 && w.pull(m, slot, r.passed) {
		return
	}
	if m.Hold == 0 {
		m.tally.rejected(r, noReplica)
		w.end(m, slot)
		return
	}
	m.passed = append(m.passed, slot)
	w.holds(m, slot)
}

// pull begins to move the KV cache of a request to a decode replica, at from, not after now. It
// returns false while no decode replica is ready.
func (w *world) pull(m *model, slot uint32, from time.Duration) bool {
	ready := m.exit.readyPods()
	if len(ready) == 0 {
		return false
	}
	p := ready[w.route(m, &m.exit)]
	r := w.requests.at(slot)
	r.pod, r.stage, r.submitted, r.moved = p, pulling, from, m.Transfer.of(r.input)
	p.pulls++
	w.agenda.push(event{at: max(w.now, from+r.moved), kind: movedEvent, pod: p, slot: slot})
	return true
}

// submitDecode submits a request to the decode replica that has its KV cache. The replica computes
// the last token of the prompt again, as vLLM does, to get the first token of the answer.
func (w *world) submitDecode(p *pod, slot uint32) {
	r, m := w.requests.at(slot), p.variant.model
	w.letGo(m, slot)
	r.stage, r.moved = decoding, w.now-r.submitted
	refusal := p.replica.Submit(w.now, serving.Request{
		ID: uint64(slot), InputTokens: int(r.input), OutputTokens: int(r.output), CachedTokens: int(r.input) - 1,
	})
	if refusal != serving.Accepted {
		m.tally.rejected(r, refusal.String())
		w.end(m, slot)
		return
	}
	p.live++
	p.prompts++
	p.enqueue(r)
}

// letGo ends the transfer of the KV cache of a request, or the wait for a transfer.
func (w *world) letGo(m *model, slot uint32) {
	r := w.requests.at(slot)
	if r.source == nil {
		return
	}
	r.source.keeps--
	w.leaves(r.source)
	r.source = nil
	if r.stage == pulling {
		r.pod.pulls--
		w.leaves(r.pod)
		return
	}
	if i := slices.Index(m.passed, slot); i >= 0 {
		m.passed = slices.Delete(m.passed, i, i+1)
	}
}

// leaves schedules another look at a draining pod, which has less to do now.
func (w *world) leaves(p *pod) {
	if p.phase == draining {
		w.agenda.push(event{at: w.now + 1, kind: drainedEvent, pod: p})
	}
}

// releasePassed sends on the requests that wait for a decode replica, oldest first.
func (w *world) releasePassed(m *model) {
	sent := 0
	for sent < len(m.passed) && w.pull(m, m.passed[sent], w.now) {
		sent++
	}
	m.passed = append(m.passed[:0], m.passed[sent:]...)
}

// expirePassed ends the requests that have waited for a decode replica for longer than Hold.
func (w *world) expirePassed(m *model) {
	for len(m.passed) > 0 && w.requests.at(m.passed[0]).passed+m.Hold <= w.now {
		slot := m.passed[0]
		m.tally.expired(w.requests.at(slot))
		w.end(m, slot)
	}
}
