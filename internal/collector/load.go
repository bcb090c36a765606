package collector

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// row is the value of one quantity, and whether there is one.
type row struct {
	value    float64 // NaN where there is none
	answered bool    // the question was answered
}

// found reports whether the answer had a row.
func (r row) found() bool { return r.answered && !math.IsNaN(r.value) }

// reading returns the value with the freshness of its page. A value that a Stale page lacks is
// Stale too: it existed, and is out of reach.
func (r row) reading(page scaling.Freshness) scaling.Reading {
	switch {
	case !r.answered || page == scaling.Absent:
		return scaling.Reading{}
	case !r.found() && page == scaling.Stale:
		return scaling.Reading{State: scaling.Stale}
	case !r.found():
		return scaling.Reading{}
	default:
		return scaling.Measured(r.value, page)
	}
}

// mean returns the reading of a mean: NotApplicable where a Fresh page lacks it and none says that
// there was nothing to take a mean of.
func (r row) mean(page scaling.Freshness, none bool) scaling.Reading {
	if r.answered && !r.found() && page == scaling.Fresh && none {
		return scaling.Reading{State: scaling.NotApplicable}
	}
	return r.reading(page)
}

// flow returns the row of q.
func (s *modelAnswer) flow(q query.Quantity) row {
	ask := query.AskMeans
	switch q {
	case query.Completions, query.InFlightGrowth:
		ask = query.AskFlow
	case query.PrefixHits:
		ask = query.AskObjective
	default:
		// The means.
	}
	return row{value: *s.flows.of(q), answered: !s.survey.failed.has(ask)}
}

// load returns the load of the model, given the pages of its live pods. Where mixed, rates are the
// differences between pods added up: rates and histograms are unknown then, and means Aging at
// best.
func (s *modelAnswer) load(pages *coverage, now int64, mixed bool) scaling.Load {
	page, completions := pages.freshness(), s.completions(pages)
	histograms := page
	if mixed {
		page, histograms, completions = min(page, scaling.Aging), scaling.Absent, scaling.Reading{}
	}
	none := completions.State == scaling.Fresh && completions.Value == 0
	load := scaling.Load{
		ArrivalRate:  s.atGateway(s.arrivals(completions), now),
		InputTokens:  s.flow(query.InputTokens).mean(page, none),
		OutputTokens: s.flow(query.OutputTokens).mean(page, none),
		TTFT:         s.flow(query.TTFT).mean(page, none),
		GatewayQueue: s.gatewayQueue(now),
		PrefixHits:   scaling.Reading{State: scaling.NotApplicable},
		TTFTBuckets:  s.buckets(s.ttft, histograms, none),
	}
	if s.percentiles {
		// An engine whose prefix cache is off or had no lookup has no such number.
		load.PrefixHits = s.flow(query.PrefixHits).mean(page, true)
	}
	// Answers of one token have no gap between tokens.
	single := none || load.OutputTokens.Known() && load.OutputTokens.Value <= 1
	load.ITL = s.flow(query.ITL).mean(page, single)
	load.ITLBuckets = s.buckets(s.itl, histograms, single)
	load.RequestITLBuckets = s.buckets(s.requestITL, histograms, single)
	return load
}

// completions returns the rate at which requests finish. A counter that the Fresh page of every
// Ready pod lacks has counted nothing, if the store is old enough to compare two scrapes: it is
// where the growth of the gauges is known.
func (s *modelAnswer) completions(pages *coverage) scaling.Reading {
	if s.twofold != "" {
		return scaling.Reading{} // it counts some pods twice
	}
	r := s.flow(query.Completions)
	if r.answered && !r.found() && pages.complete() && s.flow(query.InFlightGrowth).found() {
		return scaling.Measured(0, scaling.Fresh)
	}
	return r.reading(pages.freshness())
}

// arrivals returns the arrival rate at the engines.
func (s *modelAnswer) arrivals(completions scaling.Reading) scaling.Reading {
	if !completions.Known() {
		return completions
	}
	growth := s.flow(query.InFlightGrowth)
	if !growth.found() {
		return scaling.Measured(completions.Value, min(completions.State, scaling.Aging))
	}
	return scaling.Measured(completions.Value+max(growth.value, 0), completions.State)
}

// buckets returns a histogram with the freshness of its page; none is as for mean.
func (s *modelAnswer) buckets(h scaling.Histogram, page scaling.Freshness, none bool) scaling.Histogram {
	if !s.percentiles {
		return scaling.Histogram{State: scaling.NotApplicable}
	}
	total := row{value: math.NaN(), answered: !s.survey.failed.has(query.AskObjective)}
	if h.State != scaling.Absent {
		total.value = h.Total
	}
	h.State = total.mean(page, none).State
	if h.State < scaling.Aging {
		return scaling.Histogram{State: h.State}
	}
	return h
}
