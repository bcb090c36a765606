package collector

import (
	"maps"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// picker is what the endpoint pickers of a model's namespace report about the model.
type picker struct {
	page     pageTimes // of the freshest picker with flow control; zero if never seen
	queue    float64   // requests; NaN where there is no row, garbage where it is no number
	arrivals float64   // requests/s, likewise
	// unnamed: requests without a name wait or arrive, and may be meant for the model.
	unnamed bool
	// guessed: part of the queue has names of no model of the fleet, and may be meant for another.
	guessed bool
}

// readPickers reads the answer to query.AskGateway.
func (b builders) readPickers(rows []query.Row, limits limits) {
	models := map[string]int{}
	for model := range b {
		models[model.Namespace]++
	}
	pages := map[string]pageTimes{}
	queues, arrivals := map[scaling.ModelKey]float64{}, map[scaling.ModelKey]float64{}
	for _, row := range rows {
		if row.Quantity == query.GatewaySeen {
			if !math.IsNaN(instant(row.Value)) {
				pages[row.Namespace] = pages[row.Namespace].newer(limits.gateway(row.Namespace, row.Value))
			}
			continue
		}
		of := queues
		if row.Quantity == query.GatewayArrivals {
			of = arrivals
		}
		v := measurable(row.Value)
		if math.IsNaN(v) {
			v = garbage
		}
		key := scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}
		if before, ok := of[key]; ok {
			v = max(before, v)
		}
		of[key] = v
	}
	strangers := b.strangers(queues)
	for model, one := range b {
		p := picker{page: pages[model.Namespace]}
		// The oldest pickers name no model: the requests are for the only model of the namespace.
		alone := models[model.Namespace] == 1
		var unnamed [2]bool
		p.queue, unnamed[0] = pick(queues, model, alone)
		p.arrivals, unnamed[1] = pick(arrivals, model, alone)
		p.unnamed = unnamed[0] || unnamed[1]
		p.meet(strangers[model.Namespace], alone)
		one.measurement.picker = p
	}
}

// strangers returns, per namespace, how many requests wait under names of no model of the fleet: of
// adapters, of aliases, or of models without a variant. The sum is no number where one of them is
// none.
func (b builders) strangers(queues map[scaling.ModelKey]float64) map[string]float64 {
	sums := map[string]float64{}
	for _, key := range slices.SortedFunc(maps.Keys(queues), scaling.ModelKey.Compare) {
		if key.ID != "" && b[key] == nil {
			sums[key.Namespace] += queues[key]
		}
	}
	return sums
}

// meet takes into account the requests that wait under names of no model of the fleet. A model
// alone in its namespace may well serve them, so they are added to its queue. Of several models,
// each without a queue of its own may serve them.
func (p *picker) meet(strangers float64, alone bool) {
	switch {
	case strangers == 0:
	case alone && strangers > 0:
		p.guessed = true
		if math.IsNaN(p.queue) {
			p.queue = 0
		}
		p.queue += strangers
	case math.IsNaN(p.queue):
		p.unnamed = true
	}
}

// pick returns the number of a model, NaN where there is none, and whether a number without a name
// may be meant for it.
func pick(of map[scaling.ModelKey]float64, model scaling.ModelKey, alone bool) (v float64, unnamed bool) {
	anonymous, there := of[scaling.ModelKey{Namespace: model.Namespace}]
	v, named := of[model]
	switch {
	case named:
		return v, false
	case there && alone:
		return anonymous, false
	default:
		return math.NaN(), there && anonymous != 0
	}
}

// gatewayQueue returns the requests that wait for the model at the gateway.
func (s *modelAnswer) gatewayQueue(now int64) scaling.Reading {
	state := s.picker.page.state(now)
	if s.picker.guessed {
		state = min(state, scaling.Aging)
	}
	switch {
	case s.survey.failed.has(query.AskGateway):
		return scaling.Reading{}
	case state == scaling.Absent:
		return scaling.Reading{State: scaling.NotApplicable}
	case !math.IsNaN(s.picker.queue):
		return scaling.Measured(s.picker.queue, state)
	case state == scaling.Stale:
		return scaling.Reading{State: scaling.Stale}
	case state == scaling.Aging || s.picker.unnamed:
		return scaling.Reading{}
	default:
		// The picker lives and has no queue for the model: nothing waits.
		return scaling.Measured(0, scaling.Fresh)
	}
}

// atGateway returns the arrival rate at the engines, raised to the rate that the endpoint picker
// counts. Where a picker exists and does not tell its rate, the rate at the engines is a lower
// bound.
func (s *modelAnswer) atGateway(engines scaling.Reading, now int64) scaling.Reading {
	state := s.picker.page.state(now)
	if s.picker.guessed {
		state = min(state, scaling.Aging)
	}
	bound := engines
	if engines.Known() {
		bound = scaling.Measured(engines.Value, min(engines.State, scaling.Aging))
	}
	switch {
	case s.survey.failed.has(query.AskGateway):
		return bound
	case state == scaling.Absent:
		return engines
	case state == scaling.Stale, s.picker.arrivals == garbage, s.picker.unnamed && math.IsNaN(s.picker.arrivals):
		return bound
	case math.IsNaN(s.picker.arrivals) && state == scaling.Fresh:
		// The picker lives and has sent nothing of the model.
		return engines
	case math.IsNaN(s.picker.arrivals):
		return bound
	case !engines.Known():
		return scaling.Measured(s.picker.arrivals, scaling.Aging)
	default:
		return scaling.Measured(max(engines.Value, s.picker.arrivals), min(engines.State, state))
	}
}
