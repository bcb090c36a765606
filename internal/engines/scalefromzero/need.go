package scalefromzero

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// startUpAssumed is the start-up time of a variant for which it is unknown: replicas on
	// GPUs take one to four minutes, most of it to load the weights.
	startUpAssumed = 2 * time.Minute
	// clearLeast and clearStartUps give the time in which the backlog is to be cleared,
	// once a replica is Ready: three times the start-up time in which it built up. So the
	// backlog orders at most a third of the replicas that the arrival rate orders, and
	// these replicas are not removed again before they have cleared it.
	clearLeast    = 5 * time.Minute
	clearStartUps = 3
	// batchUnknown is the assumed batch size of a replica where neither its arguments nor
	// its profile give one. Engines default to more (vLLM: 256 or 1024); but a replica too
	// many is removed within minutes, and a replica too few lets requests wait for another
	// start-up.
	batchUnknown = 32
	// requestAssumed is the assumed time of a request in a full batch, where it is unknown:
	// 400 output tokens at an ITL of 50 ms.
	requestAssumed = 20 * time.Second
	// inputAssumed and outputAssumed are the tokens of a chat request, for a variant with a
	// profile where the lengths are unknown. They become known with the first Ready
	// replica, and later orders use them.
	inputAssumed, outputAssumed = 256, 200
	// slopeOver is the least time over which the growth of a backlog gives the arrival
	// rate: one scrape interval, so that both ends are measured.
	slopeOver = 15 * time.Second
	// replicasAtMost is more than any variant has: a backlog that asks for more is misread.
	replicasAtMost = 10_000
)

// need is the load of the receiver and the replicas for it.
type need struct {
	replicas scaling.Replicas // at least 1
	startUp  time.Duration    // of the receiver, > 0
	backlog  float64          // requests that wait when the first replica is Ready
	clear    time.Duration    // time in which the backlog is to be cleared
	starting float64          // requests/s of other called variants that may become Ready
	capacity capacity         // of one replica of the receiver
}

// capacity is the load that one replica serves.
type capacity struct {
	rate   float64 // requests/s, > 0
	source string  // where the rate comes from
}

// need returns how many replicas of the receiver serve the arrival rate and clear the
// backlog in time, less the replicas that already start.
func (m *model) need(c *candidate) need {
	n := need{startUp: cmp.Or(c.StartUp, startUpAssumed), capacity: m.capacity(c)}
	n.backlog, n.clear = m.backlog(c, n.startUp), max(clearLeast, clearStartUps*n.startUp)
	for _, o := range m.candidates {
		if o != c && m.hopeful(o) {
			n.starting += float64(o.lastDesired) * m.capacity(o).rate
		}
	}
	const rounding = 1e-9
	most := math.Ceil((m.arriving+n.backlog/n.clear.Seconds()-n.starting)/n.capacity.rate - rounding)
	n.replicas = scaling.Replicas(min(max(most, 1), replicasAtMost))
	return n
}

// backlog returns how many requests wait when the variant is Ready: those that waited when
// it was called, and those that arrive during its start-up. Requests that arrived since the
// call belong to the latter, so a backlog that grows while replicas start, or because they
// are late, does not order the same replicas again.
func (m *model) backlog(c *candidate, startUp time.Duration) float64 {
	since := 0.0
	if !c.called.IsZero() {
		since = max(0, m.Snapshot.At.Sub(c.called).Seconds())
	}
	return max(0, m.waiting-m.arriving*since) + m.arriving*startUp.Seconds()
}

// arrivals returns the arrival rate in requests/s: as measured, or the growth of the
// backlog since it was last remembered. Without a replica only arrivals change the backlog.
// 0 where neither is known.
func (m *model) arrivals() float64 {
	if measured := m.Snapshot.Load.ArrivalRate.Or(0); measured > 0 {
		return measured
	}
	last := m.History.Model(m.Snapshot.Variants).Backlog
	over := m.Snapshot.At.Sub(last.At)
	if last.At.IsZero() || over < slopeOver {
		return 0
	}
	return max(0, (m.waiting-last.Waiting)/over.Seconds())
}

// capacity returns the load that one replica serves, by the best source: the queueing model of its
// profile within the objective of the model; otherwise, by Little's law, its batch size over the
// time of a request.
func (m *model) capacity(c *candidate) capacity {
	batch := c.batch(m.Snapshot.Load)
	if within, ok := m.withinObjective(c, batch); ok {
		return within
	}
	takes, how := c.takes(batch, m.Snapshot.Load), "by its profile"
	if takes == 0 {
		takes, how = requestAssumed, "assumed"
	}
	return capacity{batch / takes.Seconds(), fmt.Sprintf("%.3g at the same time for %s each, %s", batch, takes.Round(time.Second/10), how)}
}

// lengths uses the remembered lengths of requests where none are measured, because no
// replica measures them.
func (m *model) lengths() {
	load := &m.Snapshot.Load
	if load.InputTokens.Known() && load.OutputTokens.Known() {
		return
	}
	if last := m.History.Model(m.Snapshot.Variants).Traffic.Lengths; !last.At.IsZero() {
		load.InputTokens, load.OutputTokens = scaling.Measured(last.Input, scaling.Aging), scaling.Measured(last.Output, scaling.Aging)
	}
}

// withinObjective computes with the queueing model what one replica alone serves within the
// objective, with at most this batch; an objective out of reach is met as well as possible. It
// returns false where the queueing model cannot size the variant.
func (m *model) withinObjective(c *candidate, batch float64) (capacity, bool) {
	v, load := c.Variant, m.Snapshot.Load
	v.Profile.MaxBatchSize = int(batch)
	load.ArrivalRate, load.GatewayQueue = scaling.Measured(1, scaling.Fresh), scaling.Reading{State: scaling.NotApplicable}
	load.TTFT, load.ITL = scaling.Reading{}, scaling.Reading{}
	alone := scaling.Snapshot{Model: m.Snapshot.Model, At: m.Snapshot.At, Window: m.Snapshot.Window, Variants: []scaling.Variant{v}, Load: load}
	for _, of := range queueing.Analyze(alone, m.Objective, m.Sizing, queueing.Memory{}).Variants {
		if of.PerReplica > 0 {
			return capacity{of.PerReplica, of.Source}, true
		}
	}
	return capacity{}, false
}

// batch returns how many requests one replica computes together, at least 1: its maximum
// batch size, and at most what its KV cache holds where both the cache and the lengths are
// known.
func (c *candidate) batch(load scaling.Load) float64 {
	batch := float64(cmp.Or(c.MaxBatch(), batchUnknown))
	length := load.InputTokens.Or(0) + load.OutputTokens.Or(0)
	if held := c.past.Capacity.PerReplica; held > 0 && length > 0 {
		batch = min(batch, held/length)
	}
	return max(1, batch)
}

// takes returns how long a request of mean length takes in a full batch by the profile, 0
// without a profile. Unknown lengths are assumed.
func (c *candidate) takes(batch float64, load scaling.Load) time.Duration {
	p := c.Profile
	if !p.Usable() {
		return 0
	}
	prefill, itl := p.Gamma+p.Delta*load.InputTokens.Or(inputAssumed)*batch, p.Alpha+p.Beta*batch
	return time.Duration((prefill + max(0, load.OutputTokens.Or(outputAssumed)-1)*itl) * float64(time.Millisecond))
}

// detail describes how the need is computed.
func (n need) detail(m *model, known bool) string {
	text := fmt.Sprintf("%.3g requests wait and no replica is Ready", m.waiting)
	if m.arriving > 0 {
		about := ""
		if !known {
			about = " (assumed)"
		}
		text += fmt.Sprintf(", %.3g requests/s arrive, %.3g requests wait after a start-up of %s%s", m.arriving, n.backlog, n.startUp.Round(time.Second), about)
	}
	if n.starting > 0 {
		text += fmt.Sprintf(", replicas of other variants for %.3g requests/s start already", n.starting)
	}
	return fmt.Sprintf("%s: %s at %.3g requests/s each (%s), which clear the backlog in %s", text, n.replicas.Text(), n.capacity.rate, n.capacity.source, n.clear)
}
