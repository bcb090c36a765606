package scalefromzero

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// batchUnknown is how many requests a replica is trusted with of which neither
	// its arguments nor its profile say how many it computes together. Engines
	// default to more (vLLM: 256 or 1024); but one replica too many is given up
	// within minutes, and one too few lets requests wait for another start-up.
	batchUnknown = 32
	// replicasAtMost is beyond any variant: a backlog that asks for more is misread.
	replicasAtMost = 10_000
)

// need is how many replicas of the variant the backlog asks for, at least 1.
func (m *model) need(c *candidate) int {
	n := math.Ceil(m.backlog(c) / c.batch(m.Snapshot.Load))
	return int(min(max(n, 1), replicasAtMost))
}

// backlog is how many requests will wait when the variant has started: those that
// wait, and those that arrive until then.
func (m *model) backlog(c *candidate) float64 {
	return m.waiting + m.arriving*c.StartUp.Seconds()
}

// batch is how many requests one replica computes together, at least 1: its
// maximum batch size, and no more than its KV cache holds where both the cache and
// the lengths are known.
func (c *candidate) batch(load scaling.Load) float64 {
	batch := float64(batchUnknown)
	switch {
	case c.Limits.MaxBatch > 0:
		batch = float64(c.Limits.MaxBatch)
	case c.Profile.MaxBatchSize > 0:
		batch = float64(c.Profile.MaxBatchSize)
	}
	length := load.InputTokens.Or(0) + load.OutputTokens.Or(0)
	if held := c.past.Capacity.PerReplica; held > 0 && length > 0 {
		batch = min(batch, held/length)
	}
	return max(1, batch)
}

func (m *model) needDetail(c *candidate) string {
	detail := fmt.Sprintf("%.3g requests wait and no replica is Ready", m.waiting)
	if m.arriving > 0 {
		detail += fmt.Sprintf(", %.3g requests/s arrive during a start-up of %s", m.arriving, c.StartUp.Round(time.Second))
	}
	return fmt.Sprintf("%s: %d replicas at %.3g requests each", detail, m.need(c), c.batch(m.Snapshot.Load))
}
