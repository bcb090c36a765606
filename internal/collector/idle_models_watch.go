package collector

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// sightLasts is for how long a queue that the Gate saw counts: until the next fetch has seen it
	// too.
	sightLasts = 30 * time.Second
	// wakesApart is the least time between two cycles for the same queue. Without it a queue that
	// wakes no variant (the variants are paused, no node has room) would ask for a cycle at every
	// look.
	wakesApart = 15 * time.Second
)

// Sleeper is a model of the last cycle.
type Sleeper struct {
	Model scaling.ModelKey
	// Idle is true while no replica of it is Ready: its requests wait at the gateway alone.
	Idle bool
	// Ordered is true if the last decision gives it a replica.
	Ordered bool
}

// Gate looks for requests that wait at the gateway for models without a Ready replica, more often
// than anything else is measured. It wakes a cycle for a model whose decision is no replica, and
// reports the queues to a Collector (Options.Waiting). The fields up to Wake are required. It is
// safe for concurrent use.
type Gate struct {
	// Source answers query.AskGateway from memory, at once.
	Source Source
	Clock  clock.PassiveClock
	// Models returns the models of the last cycle.
	Models func() []Sleeper
	// Wake asks for a cycle and says why. It does not block.
	Wake func(reason string)

	mu    sync.Mutex
	seen  map[scaling.ModelKey]sight
	woken map[scaling.ModelKey]time.Time
}

// sight is a queue that was seen.
type sight struct {
	requests float64
	at       time.Time
}

// Waiting returns how many requests were last seen to wait for a model, 0 without a recent sight.
func (g *Gate) Waiting(model scaling.ModelKey) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, ok := g.seen[model]; ok && g.Clock.Since(s.at) < sightLasts {
		return s.requests
	}
	return 0
}

// Look looks once. While the source has no answer, earlier sights stay.
func (g *Gate) Look(ctx context.Context) {
	models := g.Models()
	sheets, idle := builders{}, false
	for _, m := range models {
		sheets[m.Model] = &builder{measurement: &modelAnswer{survey: &survey{}, flows: newFlows()}}
		idle = idle || m.Idle
	}
	g.forgetServed(models)
	if !idle {
		return
	}
	got, err := g.Source.Ask(ctx, query.Request{Ask: query.AskGateway, Window: minWindow})
	if err != nil {
		return
	}
	sheets.readPickers(got.Rows, limits{least: DefaultLimits()})
	for _, m := range models {
		if p := sheets[m.Model].measurement.picker; m.Idle && p.page.state(got.At.UnixMilli()) == scaling.Fresh {
			g.note(m, p.queue)
		}
	}
}

// forgetServed forgets the queues of models that have a Ready replica by now: the queue went there,
// and the gate no longer looks.
func (g *Gate) forgetServed(models []Sleeper) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range models {
		if !m.Idle {
			delete(g.seen, m.Model)
			delete(g.woken, m.Model)
		}
	}
}

// note takes over the queue of a model, and wakes a cycle for it.
func (g *Gate) note(m Sleeper, requests float64) {
	if math.IsNaN(requests) || requests < 0 {
		requests = 0
	}
	now := g.Clock.Now()
	g.mu.Lock()
	if g.seen == nil {
		g.seen, g.woken = map[scaling.ModelKey]sight{}, map[scaling.ModelKey]time.Time{}
	}
	g.seen[m.Model] = sight{requests, now}
	if requests == 0 {
		delete(g.seen, m.Model)
		delete(g.woken, m.Model)
	}
	last, before := g.woken[m.Model]
	wake := requests > 0 && !m.Ordered && (!before || now.Sub(last) >= wakesApart)
	if wake {
		g.woken[m.Model] = now
	}
	g.mu.Unlock()
	if wake {
		g.Wake(fmt.Sprintf("model %s: %.3g requests wait at the gateway and it has no replica", m.Model, requests))
	}
}

// atGate puts a queue that the Gate saw into a snapshot that shows a shorter one.
func (c *Collector) atGate(snap *scaling.Snapshot) {
	if c.opts.Waiting == nil {
		return
	}
	if requests := c.opts.Waiting(snap.Model); requests > snap.Load.GatewayQueue.Or(0) {
		snap.Load.GatewayQueue = scaling.Measured(requests, scaling.Fresh)
		for i := range snap.Roles {
			if snap.Roles[i].Role == scaling.RolePrefill {
				snap.Roles[i].Load.GatewayQueue = snap.Load.GatewayQueue
			}
		}
	}
}
