package clairvoyant

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Arrivals opens the workload of a model from its beginning, the same each time.
type Arrivals func(scaling.ModelKey) iter.Seq2[workload.Request, error]

// each calls yield for every request of a model that arrives within the run.
func each(ctx context.Context, c sim.Config, key scaling.ModelKey, fresh Arrivals, yield func(workload.Request)) error {
	const breath = 4096 // requests between two looks at ctx
	n := 0
	for r, err := range fresh(key) {
		if err != nil {
			return fmt.Errorf("clairvoyant: reading the workload of %s after %d requests: %w", key, n, err)
		}
		if n%breath == 0 && ctx.Err() != nil {
			return fmt.Errorf("clairvoyant: interrupted in the workload of %s after %d requests: %w", key, n, context.Cause(ctx))
		}
		if c.Duration > 0 && r.At > c.Duration {
			return nil
		}
		n++
		yield(r)
	}
	return nil
}

// withArrivals returns c with unread workloads and with variants that it shares with no other run.
func withArrivals(c sim.Config, fresh Arrivals) sim.Config {
	c.Models = slices.Clone(c.Models)
	for i := range c.Models {
		c.Models[i].Requests = fresh(c.Models[i].Key)
		c.Models[i].Variants = slices.Clone(c.Models[i].Variants)
	}
	return c
}
