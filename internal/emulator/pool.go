package emulator

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// pool is the gateway of one model: its Ready replicas, and the requests that are held while there
// is none.
type pool struct {
	key      ModelKey
	name     string     // of the inference pool
	replicas []*replica // Ready, sorted by pod name, without those of prefill
	prefills []*replica // Ready replicas of prefill, sorted by pod name
	held     []*call    // first in first out

	flows       map[flowKey]*flow
	dispatches  histogram         // duration of dispatch cycles [s]
	requests    uint64            // dispatched
	errors      map[string]uint64 // by error code, of calls not dispatched or failed later
	running     int               // on replicas
	hasRequests bool              // an EPP creates a series at its first use
}

// replica is the serving machine behind one pod.
type replica struct {
	pod      Pod
	pool     *pool
	machine  *serving.Replica
	counters *engineCounters
	calls    map[uint64]*call // on this replica
	ready    bool
	draining bool
	deadline time.Duration // of the drain
}

func newPool(key ModelKey) *pool {
	return &pool{
		key: key, name: poolName(key.ID),
		flows:      map[flowKey]*flow{},
		dispatches: newHistogram(dispatchBuckets()),
		errors:     map[string]uint64{},
	}
}

// enter puts a call into flow control and dispatches it if possible.
func (p *pool) enter(now time.Duration, c *call) {
	c.flow.enter()
	c.entered = now
	if len(p.replicas) == 0 {
		p.held = append(p.held, c)
		return
	}
	p.dispatch(now, c)
}

// release dispatches all held calls, in order, if there is a replica.
func (p *pool) release(now time.Duration) {
	for len(p.held) > 0 && len(p.replicas) > 0 {
		c := p.held[0]
		p.held[0] = nil
		p.held = p.held[1:]
		p.dispatch(now, c)
	}
}

// cancelHeld removes a held call; false means that it is not held.
func (p *pool) cancelHeld(now time.Duration, c *call) bool {
	i := slices.Index(p.held, c)
	if i < 0 {
		return false
	}
	p.held = slices.Delete(p.held, i, i+1)
	c.flow.leave(outcomeCancelled, now-c.entered)
	return true
}

// dispatch sends c to the least loaded replica that takes it, or fails it.
func (p *pool) dispatch(now time.Duration, c *call) {
	r, request, err := p.choose(c)
	p.dispatches.observe(0)
	if err != nil {
		c.flow.leave(outcomeRejected, now-c.entered)
		p.countError(err)
		c.receiver.failed(err)
		return
	}
	c.flow.leave(outcomeDispatched, now-c.entered)
	p.requests++
	p.hasRequests = true
	p.place(now, c, r, request)
}

// place sends a call to a replica.
func (p *pool) place(now time.Duration, c *call, r *replica, request serving.Request) {
	p.running++
	c.fresh()
	c.replica, c.submitted, c.request = r, now, request
	r.calls[request.ID] = c
	r.machine.Submit(now, request)
}

// choose returns the least loaded replica that accepts the call, and the request for that replica.
// Where there are prefill replicas, a call goes to one of them first.
func (p *pool) choose(c *call) (*replica, serving.Request, error) {
	err := errTooLong
	of := p.replicas
	if len(p.prefills) > 0 && !c.passed {
		of = p.prefills
	}
	for _, r := range byLoad(of) {
		request := c.request
		request.OutputTokens, request.CachedTokens = min(c.asked, r.machine.Profile().MaxOutput(request.InputTokens)), c.cached
		switch {
		case r.pod.Prefill:
			request.OutputTokens = min(1, request.OutputTokens)
		case c.passed: // the last token of the prompt is computed again, which yields the first output token
			request.CachedTokens = request.InputTokens - 1
		}
		switch r.machine.Accepts(request) {
		case serving.Accepted:
			return r, request, nil
		case serving.QueueFull:
			r.counters.refused++
			err = errBusy
		default: // refused for its size
		}
	}
	return nil, serving.Request{}, err
}

// byLoad returns the replicas, the least loaded first, ties by pod name.
func byLoad(replicas []*replica) []*replica {
	sorted := slices.Clone(replicas)
	slices.SortStableFunc(sorted, func(a, b *replica) int {
		return cmp.Compare(a.machine.Load(), b.machine.Load())
	})
	return sorted
}

func (p *pool) add(r *replica) {
	of := p.of(r)
	i, _ := slices.BinarySearchFunc(*of, r.pod.Name, func(r *replica, name string) int {
		return cmp.Compare(r.pod.Name, name)
	})
	*of = slices.Insert(*of, i, r)
	r.ready = true
}

func (p *pool) remove(r *replica) {
	of := p.of(r)
	*of = slices.DeleteFunc(*of, func(other *replica) bool { return other == r })
	r.ready = false
}

// of returns the list of replicas with the role of r.
func (p *pool) of(r *replica) *[]*replica {
	if r.pod.Prefill {
		return &p.prefills
	}
	return &p.replicas
}

// evict ends the calls of a replica that is removed. Calls that have sent their client a token
// fail; the others start over at the head of the held calls, in their old order.
func (p *pool) evict(now time.Duration, r *replica) {
	var again []*call
	calls := make([]*call, 0, len(r.calls))
	for _, c := range r.calls {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.request.ID, b.request.ID) })
	for _, c := range calls {
		r.machine.Abort(r.deadline, c.request.ID)
		started := c.streamed && c.generated > 0
		c.leave()
		if started {
			p.countError(errGone)
			c.receiver.failed(errGone)
			continue
		}
		c.receiver.produced(0)
		c.passed = false
		c.flow.enter()
		c.entered = now
		again = append(again, c)
	}
	p.held = append(again, p.held...)
	p.release(now)
}
