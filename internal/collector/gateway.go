package collector

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// gateways is what the endpoint pickers say, by namespace and model.
type gateways struct {
	failed bool
	state  map[string]scaling.Freshness // of the freshest picker of a namespace
	queue  map[scaling.ModelKey]float64
}

// readGateways reads the answer to query.GatewayQueue.
func readGateways(models []scaling.ModelVariants, got answer, now time.Time, limits Limits) gateways {
	g := gateways{
		failed: got.err != nil,
		state:  map[string]scaling.Freshness{},
		queue:  map[scaling.ModelKey]float64{},
	}
	perNamespace := map[string]int{}
	only := map[string]string{} // the model of a namespace that has one
	for _, m := range models {
		perNamespace[m.Model.Namespace]++
		only[m.Model.Namespace] = m.Model.ID
	}
	for _, s := range got.samples {
		namespace := s.Labels[query.LabelNamespace]
		if perNamespace[namespace] == 0 {
			continue
		}
		switch s.Labels[query.LabelStat] {
		case query.StatAt:
			if v := measurable(s.Value); !math.IsNaN(v) {
				g.state[namespace] = max(g.state[namespace], limits.State(now.Sub(unixTime(v))))
			}
		case query.StatQueue:
			// The oldest pickers name no model on the queue: with one model in the
			// namespace it can only be that.
			key := scaling.ModelKey{Namespace: namespace, ID: s.Labels[query.LabelGatewayModel]}
			if key.ID == "" && perNamespace[namespace] == 1 {
				key.ID = only[namespace]
			}
			g.add(key, measurable(s.Value))
		}
	}
	return g
}

// add folds another row of a model into its queue.
func (g gateways) add(model scaling.ModelKey, v float64) {
	if old, ok := g.queue[model]; ok {
		v = larger(old, v)
	}
	g.queue[model] = v
}

// reading returns the requests that wait in front of a model.
func (g gateways) reading(model scaling.ModelKey) scaling.Reading {
	state, seen := g.state[model.Namespace]
	v, queued := g.queue[model]
	anonymous, unnamed := g.queue[scaling.ModelKey{Namespace: model.Namespace}]
	switch {
	case g.failed:
		return scaling.Reading{}
	case !seen:
		return scaling.Reading{State: scaling.NotApplicable}
	case queued:
		return scaling.Measured(v, state)
	case state == scaling.Stale:
		return scaling.Reading{State: scaling.Stale}
	case state == scaling.Aging:
		return scaling.Reading{}
	case unnamed && (math.IsNaN(anonymous) || anonymous > 0):
		// Requests wait, and nobody says for which of several models.
		return scaling.Reading{}
	default:
		// The picker lives and has no queue for the model: nothing waits.
		return scaling.Measured(0, scaling.Fresh)
	}
}
