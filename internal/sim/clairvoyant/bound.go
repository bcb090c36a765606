package clairvoyant

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Arrivals opens the workload of a model from its beginning, the same each time.
type Arrivals func(scaling.ModelKey) iter.Seq2[workload.Request, error]

// Limit is a cost that no schedule undercuts.
type Limit struct {
	Cost    float64       `json:"cost"`    // cost units, of all models
	Horizon time.Duration `json:"horizon"` // over which cost is counted
	Models  []ModelLimit  `json:"models"`  // in the order of Config.Models
}

// ModelLimit is the share of one model in a Limit.
type ModelLimit struct {
	Model scaling.ModelKey `json:"model"`
	Cost  float64          `json:"cost"` // cost units, to reach the attainment asked for
	// Full is the same without a miss of what is Attainable: how much of the Cost
	// the requests that may be missed take away.
	Full    float64 `json:"full"`
	Arrived uint64  `json:"arrived"` // requests
	// Attainable is the part of the requests that could meet their objectives with
	// a replica of their own, 1 where none arrived. Where it is below the attainment
	// asked for, no policy reaches that, and Cost is for Attainable.
	Attainable float64 `json:"attainable"`
}

// Reachable reports whether every model can reach the attainment it is asked for,
// as far as the bound can tell.
func (l Limit) Reachable(c sim.Config) bool {
	for i, m := range l.Models {
		if m.Attainable < c.Models[i].SLO.Attainment {
			return false
		}
	}
	return true
}

// Bound returns a cost that every policy pays at least which reaches the
// attainment of each model in a run of c. It reads each workload twice, or three
// times if c has no Duration; Model.Requests is not used. An error says what is
// wrong with the configuration or a workload, or that ctx ended.
func Bound(ctx context.Context, c sim.Config, fresh Arrivals) (Limit, error) {
	c = withArrivals(c, fresh)
	if err := c.Validate(); err != nil {
		return Limit{}, err
	}
	limit := Limit{Horizon: c.Duration}
	if c.Duration == 0 {
		for _, m := range c.Models {
			err := each(ctx, c, m.Key, fresh, func(r workload.Request) { limit.Horizon = max(limit.Horizon, r.At) })
			if err != nil {
				return Limit{}, err
			}
		}
	}
	for _, m := range c.Models {
		one, err := boundModel(ctx, c, m, limit.Horizon, fresh)
		if err != nil {
			return Limit{}, err
		}
		limit.Models = append(limit.Models, one)
		limit.Cost += one.Cost
	}
	return limit, nil
}

func boundModel(ctx context.Context, c sim.Config, m sim.Model, horizon time.Duration, fresh Arrivals) (ModelLimit, error) {
	laws, err := laws(m)
	if err != nil {
		return ModelLimit{}, err
	}
	var beside crowd
	err = each(ctx, c, m.Key, fresh, func(r workload.Request) {
		if servable(laws, r) {
			beside.add(windowOf(r, m.SLO))
		}
	})
	if err != nil {
		return ModelLimit{}, err
	}
	beside.close()
	out := ModelLimit{Model: m.Key, Attainable: 1}
	var prices [len(mixtures)]ladder
	served := uint64(0)
	err = each(ctx, c, m.Key, fresh, func(r workload.Request) {
		out.Arrived++
		if !servable(laws, r) {
			return
		}
		served++
		w := windowOf(r, m.SLO)
		for i, price := range leastPrices(laws, r, w, beside.most(w), horizon) {
			prices[i].add(price)
		}
	})
	if err != nil {
		return ModelLimit{}, err
	}
	if out.Arrived > 0 {
		out.Attainable = float64(served) / float64(out.Arrived)
	}
	paid := min(served, uint64(math.Ceil(m.SLO.Attainment*float64(out.Arrived)-slack)))
	for i := range prices {
		out.Cost = max(out.Cost, prices[i].cheapest(paid)*(1-slack))
		out.Full = max(out.Full, prices[i].cheapest(served)*(1-slack))
	}
	return out, nil
}

// servable reports whether some variant can serve a request within its
// objectives.
func servable(laws []law, r workload.Request) bool {
	for i := range laws {
		if _, ok := laws[i].least(r, 1); ok {
			return true
		}
	}
	return false
}

// leastPrices returns the least cost of a request under each mixture, over the
// variants. What is due after the horizon costs nothing.
func leastPrices(laws []law, r workload.Request, w window, beside int, horizon time.Duration) [len(mixtures)]float64 {
	var out [len(mixtures)]float64
	for i := range out {
		out[i] = math.Inf(1)
	}
	for i := range laws {
		need, ok := laws[i].least(r, beside)
		if !ok {
			continue
		}
		for j, m := range mixtures {
			price := 0.0
			if w.first <= horizon {
				price += laws[i].price * need.prefill(m)
			}
			if w.last <= horizon {
				price += laws[i].price * need.decode(m)
			}
			out[j] = min(out[j], price)
		}
	}
	return out
}

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

// withArrivals returns c with workloads of its own.
func withArrivals(c sim.Config, fresh Arrivals) sim.Config {
	c.Models = slices.Clone(c.Models)
	for i := range c.Models {
		c.Models[i].Requests = fresh(c.Models[i].Key)
		c.Models[i].Variants = slices.Clone(c.Models[i].Variants)
	}
	return c
}
