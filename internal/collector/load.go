package collector

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// row is the value of one quantity for one model.
type row struct {
	value    float64 // NaN when the source says what no quantity can be
	answered bool    // the query was
	found    bool    // a row of the model was in the answer
}

// loadRows are the rows of one model.
type loadRows [query.Count]row

// readLoads returns the rows of each model.
func readLoads(models []scaling.ModelVariants, got *answers) map[scaling.ModelKey]*loadRows {
	loads := make(map[scaling.ModelKey]*loadRows, len(models))
	for _, m := range models {
		loads[m.Model] = &loadRows{}
	}
	for _, q := range query.All() {
		if q.Scope() != query.PerModel || got[q].err != nil {
			continue
		}
		for _, rows := range loads {
			rows[q].answered = true
		}
		for _, s := range got[q].samples {
			rows, ok := loads[modelKey(s)]
			if !ok {
				continue
			}
			v := s.Value // InFlightGrowth may be negative
			if rows[q].found {
				v = larger(v, rows[q].value)
			}
			rows[q] = row{value: v, answered: true, found: true}
		}
	}
	return loads
}

// modelKey returns the model that the labels of a sample name.
func modelKey(s Sample) scaling.ModelKey {
	return scaling.ModelKey{Namespace: s.Labels[query.LabelNamespace], ID: s.Labels[query.LabelModel]}
}

// readings turns the rows of a model whose freshest page is in the given state
// into a Load, except for the gateway's queue.
func (rows *loadRows) readings(page scaling.Freshness) scaling.Load {
	completions := rows[query.Completions].rate(page)
	none := completions.State == scaling.Fresh && completions.Value == 0
	load := scaling.Load{
		ArrivalRate:  rows.arrivals(completions),
		InputTokens:  rows[query.InputTokens].mean(page, none),
		OutputTokens: rows[query.OutputTokens].mean(page, none),
		TTFT:         rows[query.TTFT].mean(page, none),
	}
	// Answers of one token have no gap between tokens.
	single := load.OutputTokens.Known() && load.OutputTokens.Value <= 1
	load.ITL = rows[query.ITL].mean(page, none || single)
	return load
}

// rate returns the reading of a counter's rate. A counter that is missing from a
// page that was just scraped has counted nothing.
func (r row) rate(page scaling.Freshness) scaling.Reading {
	if r.answered && !r.found && page == scaling.Fresh {
		return scaling.Measured(0, scaling.Fresh)
	}
	return r.reading(page)
}

// mean returns the reading of a mean; none says that there is nothing of which
// it could be one.
func (r row) mean(page scaling.Freshness, none bool) scaling.Reading {
	if r.answered && !r.found && page == scaling.Fresh && none {
		return scaling.Reading{State: scaling.NotApplicable}
	}
	return r.reading(page)
}

// reading returns the value in the state of its page. On a Stale page a value
// that is missing is Stale too: it was there, and is out of reach.
func (r row) reading(page scaling.Freshness) scaling.Reading {
	switch {
	case !r.answered || page == scaling.Absent:
		return scaling.Reading{}
	case !r.found && page == scaling.Stale:
		return scaling.Reading{State: scaling.Stale}
	case !r.found:
		return scaling.Reading{}
	default:
		return scaling.Measured(r.value, page)
	}
}

// arrivals returns the arrival rate, as the package comment derives it.
func (rows *loadRows) arrivals(completions scaling.Reading) scaling.Reading {
	if !completions.Known() {
		return completions
	}
	growth := rows[query.InFlightGrowth]
	if !growth.found || math.IsNaN(growth.value) || math.IsInf(growth.value, 0) {
		return scaling.Measured(completions.Value, min(completions.State, scaling.Aging))
	}
	return scaling.Measured(completions.Value+max(growth.value, 0), completions.State)
}
