package subresource

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// patience is how long one target may take: an admission webhook of its owner that does not
	// answer must not delay the other targets.
	patience = 2 * time.Second
	// beginsWithin is how long targets of one plan may begin. So all of them take ten seconds at
	// most: an API server that does not answer must not delay the next cycle.
	beginsWithin = 4 * patience
	// atOnce limits how many targets are set at the same time, atOnceOfOne how many
	// in one namespace, whose webhooks are most often the same.
	atOnce      = 8
	atOnceOfOne = 2
)

// queue returns orders in the sequence in which they are carried out. Targets that did not
// answer the last time go last. Of the others, starts from zero go first, because requests
// wait for them. Otherwise the sequence is as given.
func queue(orders []order, slow func(scaling.VariantKey) bool) []order {
	last := func(o order) int {
		switch {
		case slow(o.variant.Key):
			return 2
		case o.variant.Replicas.Current > 0:
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(orders), func(a, b order) int { return cmp.Compare(last(a), last(b)) })
}

// result is the result of an order.
type result struct {
	order  order
	change change
	err    error
}

// inTurn calls do for each order, at most atOnce at the same time and atOnceOfOne of one namespace.
// It begins none after ctx has ended. It returns the results of the orders that it began, and the
// orders that it did not begin.
func inTurn(ctx context.Context, waiting []order, do func(order) (change, error)) (ended []result, left []order) {
	waiting = slices.Clone(waiting)
	results := make(chan result, atOnce)
	running := 0
	busy := map[string]int{} // by namespace
	for {
		next := slices.IndexFunc(waiting, func(o order) bool { return busy[o.variant.Key.Namespace] < atOnceOfOne })
		if next >= 0 && running < atOnce && ctx.Err() == nil {
			o := waiting[next]
			waiting = slices.Delete(waiting, next, next+1)
			running++
			busy[o.variant.Key.Namespace]++
			go func() {
				done, err := do(o)
				results <- result{o, done, err}
			}()
			continue
		}
		if running == 0 {
			return ended, waiting
		}
		r := <-results
		running--
		busy[r.order.variant.Key.Namespace]--
		ended = append(ended, r)
	}
}
