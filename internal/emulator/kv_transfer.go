package emulator

import (
	"slices"
	"time"
)

// RoleLabel is the label of a pod for the part of a request that it serves, as in llm-d: prefill or
// decode. A pod with any other value, or none, decodes for a model with prefill pods, and else
// serves whole requests.
const (
	RoleLabel   = "llm-d.ai/role"
	rolePrefill = "prefill"
)

// transferOf returns the time that the KV cache of a prompt takes from prefill to decode: 0.26 MB
// per token, as in a model of 32B parameters, over a port of 400 Gbit/s that is half used, and 5 ms
// for the exchange before it.
func transferOf(tokens int) time.Duration {
	return 5*time.Millisecond + time.Duration(tokens)*10*time.Microsecond
}

// transfer is a call after prefill: its KV cache moves until the call is due in decode.
type transfer struct {
	call *call
	due  time.Duration
}

// pass takes a call from its prefill replica. The client gets no token from prefill: decode
// generates the first token again.
func (f *fleet) pass(c *call, at time.Duration) {
	c.leave()
	c.passed = true
	f.moving = append(f.moving, transfer{c, at + transferOf(c.request.InputTokens)})
}

// endTransfers sends the calls that are due to decode, in the order of their due times.
func (f *fleet) endTransfers(now time.Duration) {
	var due []transfer
	f.moving = slices.DeleteFunc(f.moving, func(p transfer) bool {
		if p.due <= now {
			due = append(due, p)
		}
		return p.due <= now
	})
	slices.SortStableFunc(due, func(a, b transfer) int { return int(a.due - b.due) })
	for _, p := range due {
		p.call.pool.decode(now, p.call)
	}
}

// forget removes a call that is on its way from prefill to decode; false means that it is not on
// its way.
func (f *fleet) forget(c *call) bool {
	i := slices.IndexFunc(f.moving, func(p transfer) bool { return p.call == c })
	if i < 0 {
		return false
	}
	f.moving = slices.Delete(f.moving, i, i+1)
	return true
}

// decode sends a call after prefill to a decode replica. Without one, the call is held and starts
// over.
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
