package emulator

import (
	"errors"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// The reasons why a call fails. The HTTP layer turns each into a status.
var (
	errUnknownModel = errors.New("unknown model")
	errTooLong      = errors.New("longer than the model or the KV cache allows")
	errBusy         = errors.New("the waiting queue of every replica is full")
	errGone         = errors.New("the replica is gone")
)

// receiver receives the progress of a call. Its methods are called with the fleet's lock
// held: they must not block.
type receiver interface {
	produced(tokens int) // so far; 0 when the call starts over on another replica
	finished(request serving.Request)
	failed(err error)
}

// call is one request on its way through the gateway and a replica. All times
// are offsets.
type call struct {
	id       uint64          // in the order of submission
	request  serving.Request // OutputTokens is cut to the replica's limit on dispatch
	asked    int             // output tokens that the client asked for
	cached   int             // tokens of the prompt that are in the prefix cache
	passed   bool            // its prefill has ended
	streamed bool            // tokens are sent as they come, so a call with tokens cannot start over
	receiver receiver
	pool     *pool
	flow     *flow
	replica  *replica // nil while held

	entered     time.Duration // flow control, for the last time
	submitted   time.Duration // to the replica
	admitted    time.Duration // to the replica's batch, for the first time
	first       time.Duration // token
	last        time.Duration // token so far
	generated   int
	preemptions int
}

// handle records an event of the call's replica.
func (c *call) handle(e serving.Event) {
	page := c.replica.counters
	switch e.Kind {
	case serving.Admitted:
		if c.admitted < 0 {
			c.admitted = e.At
		}
	case serving.Preempted:
		c.preemptions++
	case serving.FirstToken:
		c.first, c.last, c.generated = e.At, e.At, 1
		page.observe(timeToFirstToken, (e.At - c.submitted).Seconds())
		if !c.prefills() {
			c.receiver.produced(1)
		}
	case serving.Token:
		page.observe(interToken, (e.At - c.last).Seconds())
		c.last, c.generated = e.At, int(e.Tokens)
		c.receiver.produced(c.generated)
	case serving.Finished:
		page.observeFinish(c, e.At)
		if c.prefills() {
			return // to be passed to decode
		}
		c.leave()
		c.request.CachedTokens = c.cached
		c.receiver.finished(c.request)
	default: // the emulator itself aborts, and other events do not concern a call
	}
}

// prefills reports whether the call's replica only computes prompts.
func (c *call) prefills() bool { return c.replica.pod.Prefill }

// leave removes the call from its replica's calls.
func (c *call) leave() {
	delete(c.replica.calls, c.request.ID)
	c.pool.running--
	c.replica = nil
}

// fresh resets the progress of the call before it goes to a replica.
func (c *call) fresh() {
	c.submitted, c.admitted, c.first, c.last = -1, -1, -1, -1
	c.generated, c.preemptions = 0, 0
}
