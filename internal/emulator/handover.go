package emulator

import (
	"slices"
	"time"
)

// RoleLabel, on a pod, is the part of a request that it serves, in llm-d's words: prefill, or decode.
// Any other value, and none, is decode of a model with prefill pods, else the whole request.
const (
	RoleLabel   = "llm-d.ai/role"
	rolePrefill = "prefill"
)

// transferOf is how long the KV cache of a prompt takes from prefill to decode: 0.26 MB per token,
// as of a model of 32B parameters, over a port of 400 Gbit/s that is half used, and the exchange
// before it.
func transferOf(tokens int) time.Duration {
	return 5*time.Millisecond + time.Duration(tokens)*10*time.Microsecond
}

// passed is a call that prefill is done with, whose KV cache moves until it is due in decode.
type passed struct {
	call *call
	due  time.Duration
}

// pass takes a call from its prefill replica. The client gets no token of it: decode generates the
// first again.
func (f *fleet) pass(c *call, at time.Duration) {
	c.leave()
	c.passed = true
	f.passed = append(f.passed, passed{c, at + transferOf(c.request.InputTokens)})
}

// handOver gives the calls that are due to decode, in the order in which they are due.
func (f *fleet) handOver(now time.Duration) {
	var due []passed
	f.passed = slices.DeleteFunc(f.passed, func(p passed) bool {
		if p.due <= now {
			due = append(due, p)
		}
		return p.due <= now
	})
	slices.SortStableFunc(due, func(a, b passed) int { return int(a.due - b.due) })
	for _, p := range due {
		p.call.pool.decode(now, p.call)
	}
}

// forget ends a call that is on its way from prefill to decode; false means that it is not.
func (f *fleet) forget(c *call) bool {
	i := slices.IndexFunc(f.passed, func(p passed) bool { return p.call == c })
	if i < 0 {
		return false
	}
	f.passed = slices.Delete(f.passed, i, i+1)
	return true
}

// decode sends a call that prefill is done with to a decode replica. While there is none, the call
// is held and starts over.
func (p *pool) decode(now time.Duration, c *call) {
	if len(p.replicas) == 0 {
		c.passed = false
		c.flow.enter()
		c.entered = now
		p.held = append(p.held, c)
		return
	}
	r, request, err := p.choose(c)
	if err != nil {
		p.countError(err)
		c.receiver.failed(err)
		return
	}
	p.place(now, c, r, request)
}
