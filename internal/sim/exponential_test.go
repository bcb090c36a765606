package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// exponential is a replica with c servers, room for k requests, and service
// times drawn from an exponential distribution: the M/M/c/K of the textbooks.
type exponential struct {
	servers, room int
	mean          time.Duration
	draws         *rand.Rand
	busy          []leaving // in the order of completion
	queue         []uint64
	events        []serving.Event
	finished      uint64
}

type leaving struct {
	at time.Duration
	id uint64
}

func (e *exponential) Submit(now time.Duration, req serving.Request) serving.Refusal {
	e.runUntil(now)
	switch {
	case e.Load() >= e.room:
		return serving.QueueFull
	case len(e.busy) < e.servers:
		e.serve(now, req.ID)
	default:
		e.queue = append(e.queue, req.ID)
	}
	return serving.Accepted
}

func (e *exponential) serve(now time.Duration, id uint64) {
	e.busy = append(e.busy, leaving{now + time.Duration(e.draws.ExpFloat64()*float64(e.mean)), id})
	slices.SortFunc(e.busy, func(a, b leaving) int { return int(a.at - b.at) })
}

func (e *exponential) runUntil(now time.Duration) {
	for len(e.busy) > 0 && e.busy[0].at <= now {
		done := e.busy[0]
		e.busy = e.busy[1:]
		e.finished++
		e.events = append(e.events, serving.Event{At: done.at, ID: done.id, Kind: serving.FirstToken},
			serving.Event{At: done.at, ID: done.id, Kind: serving.Finished})
		if len(e.queue) > 0 {
			e.serve(done.at, e.queue[0])
			e.queue = e.queue[1:]
		}
	}
}

func (e *exponential) Next() (time.Duration, bool) {
	if len(e.busy) == 0 {
		return 0, false
	}
	return e.busy[0].at, true
}

func (e *exponential) Advance(now time.Duration, buf []serving.Event) []serving.Event {
	e.runUntil(now)
	buf = append(buf, e.events...)
	e.events = e.events[:0]
	return buf
}

func (e *exponential) Load() int { return len(e.busy) + len(e.queue) }

func (e *exponential) Stats() serving.Stats {
	return serving.Stats{Running: len(e.busy), Waiting: len(e.queue), Finished: e.finished}
}

// Abort does nothing: no client here leaves.
func (e *exponential) Abort(time.Duration, uint64) bool { return false }
