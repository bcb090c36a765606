package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// crowd holds the random streams of the clients of a model, one for each thing that clients draw,
// so that the draws of one thing do not change the others. Retries have streams of their own: every
// policy has the same first attempts.
type crowd struct{ patience, again, prefix, prefixAgain *rand.Rand }

func (w *world) newCrowd(key string) crowd {
	return crowd{
		patience: w.stream("patience " + key), again: w.stream("retries " + key),
		prefix: w.stream("prefixes " + key), prefixAgain: w.stream("prefixes of retries " + key),
	}
}

// draw decides how long a client waits, and whether its prompt begins like an earlier one.
func (c crowd) draw(now time.Duration, p Patience, x Prefix, r *request) {
	patience, prefix := c.patience, c.prefix
	if r.retry {
		patience, prefix = c.again, c.prefixAgain
	}
	if p.Mean > 0 {
		r.leaves = now + max(1, StartUp{Mean: p.Mean, Deviation: p.Deviation}.Draw(patience))
	}
	if x.Share == 0 || x.Part == 0 {
		return
	}
	if prefix.Float64() < x.Share {
		r.alike = 1 - prefix.Float64() // in (0, 1]
	} else {
		prefix.Float64()
	}
}

// finds returns how many tokens of a prompt the cache of the pod has: whole blocks of the shared
// part, 0 before the pod has seen enough prompts. At most all tokens but one.
func (p *pod) finds(r *request) int {
	x := p.variant.model.Prefix
	if r.alike == 0 || x.Warm > 0 && r.alike <= math.Exp(-p.prompts/x.Warm) {
		return 0
	}
	block := max(1, p.variant.Profile.BlockSize)
	found := int(x.Part*float64(r.input)) / block * block
	return min(found, int(r.input)-1)
}

// back is the request of a client that comes back.
type back struct{ input, output int32 }

// handleRequest handles an event of a held request, of a client, or of a request on its way from
// prefill to decode.
func (w *world) handleRequest(e event) {
	switch e.kind {
	case expireEvent:
		w.expire(e.model)
	case leaveEvent:
		w.abandon(e.model, e.slot)
	case returnEvent:
		if !w.keptOut(e.model) {
			w.admitted(e.model, request{input: e.back.input, output: e.back.output, retry: true})
		}
	default:
		w.handlePart(e)
	}
}

// abandon takes back a request that still waits when the patience of its client is over.
func (w *world) abandon(m *model, slot uint32) {
	r := w.requests.at(slot)
	if !r.live || r.leaves != w.now {
		return // it has ended, and another has its slot
	}
	if r.pod == nil {
		switch i := slices.Index(m.held, slot); {
		case i >= 0:
			m.held = slices.Delete(m.held, i, i+1)
			w.giveUp(m, slot, true)
		case slices.Contains(m.passed, slot):
			w.giveUp(m, slot, false)
		}
		return // or the slot has a request of another model
	}
	p := r.pod
	w.settle(p)
	if !r.live || r.leaves != w.now || !r.queued || r.first > 0 || !p.replica.Abort(w.now, uint64(slot)) {
		return
	}
	p.unqueue(r)
	p.live--
	w.giveUp(m, slot, false)
}

// giveUp books a request that was taken back, and draws whether and when its client comes back.
func (w *world) giveUp(m *model, slot uint32, atGateway bool) {
	r := w.requests.at(slot)
	m.tally.abandoned(r, atGateway)
	p := m.Patience
	// Both are drawn for every client, so that whether one comes back depends on no other.
	returns, after := m.crowd.again.Float64() < p.Retry, m.crowd.again.ExpFloat64()
	if returns {
		w.agenda.push(event{
			at: w.now + time.Duration(after*float64(p.After)), kind: returnEvent, model: m, back: &back{r.input, r.output},
		})
	}
	w.end(m, slot)
}
