package dashboard

import (
	"context"
	"sync"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// mostPartRows bounds the kept cycles, in variants and replicas of about 1 KiB each.
const mostPartRows = 128 << 10

// parts keeps the cycles of the model of the last what-if, so that a move of a slider does not read
// them again. It is safe for concurrent use.
type parts struct {
	mu   sync.Mutex
	of   scaling.ModelKey
	kept map[CycleRef]record.Cycle
	rows int
}

// get returns the part of a cycle that a model depends on.
func (p *parts) get(ctx context.Context, of scaling.ModelKey, from Cycles, ref CycleRef) (record.Cycle, error) {
	p.mu.Lock()
	if p.of != of {
		p.of, p.kept, p.rows = of, map[CycleRef]record.Cycle{}, 0
	}
	c, ok := p.kept[ref]
	p.mu.Unlock()
	if ok {
		return c, ctx.Err()
	}
	c, err := from.Read(ctx, ref)
	if err != nil {
		return record.Cycle{}, err
	}
	c = replay.Part(c, of)
	rows := 1
	for _, s := range c.Snapshots {
		rows += len(s.Variants) + len(s.Replicas)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == of && p.rows+rows <= mostPartRows {
		p.kept[ref] = c
		p.rows += rows
	}
	return c, nil
}
