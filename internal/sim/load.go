package sim

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// flows adds up the growth of the series of pods over a window.
type flows struct {
	found           bool              // a pod was scraped twice
	rates           [counters]float64 // per second
	growth          float64           // of the requests in flight, requests/s
	ttft, itl, each buckets           // per second
}

// flows returns the flows of the pods of a variant, also of those that are gone.
func (v *variant) flows(s survey) flows {
	var f flows
	v.gone = slices.DeleteFunc(v.gone, func(p *pod) bool { return p.pages[len(p.pages)-1].at <= s.now-remembered })
	for _, pods := range [][]*pod{v.pods, v.leaving, v.gone} {
		for _, p := range pods {
			f.add(since(p.pages, s.now-s.window), s, v.model.hasObjective())
		}
	}
	return f
}

// add adds the pages of one pod; fewer than two add nothing.
func (f *flows) add(pages []scraped, s survey, histograms bool) {
	if len(pages) < 2 {
		return
	}
	f.found = true
	seconds := s.window.Seconds()
	rate := func(value func(*scraped) float64, isCounter bool) float64 {
		grown, _ := endsOf(pages, value).change(s.now, s.window, isCounter)
		return grown / seconds
	}
	for c := range counters {
		f.rates[c] += rate(func(p *scraped) float64 { return p.counters[c] }, true)
	}
	f.growth += rate(func(p *scraped) float64 { return p.running }, false) + rate(func(p *scraped) float64 { return p.waiting }, false)
	if !histograms {
		return
	}
	for i := range f.ttft {
		f.ttft[i] += rate(func(p *scraped) float64 { return p.ttft[i] }, true)
		f.itl[i] += rate(func(p *scraped) float64 { return p.itl[i] }, true)
		f.each[i] += rate(func(p *scraped) float64 { return p.each[i] }, true)
	}
}

// plus returns the sum of two flows.
func (f flows) plus(o flows) flows {
	f.found = f.found || o.found
	f.growth += o.growth
	for c := range f.rates {
		f.rates[c] += o.rates[c]
	}
	for i := range f.ttft {
		f.ttft[i] += o.ttft[i]
		f.itl[i] += o.itl[i]
		f.each[i] += o.each[i]
	}
	return f
}

// flows returns the flows of the pods of all variants.
func (m *model) flows(s survey) flows {
	var f flows
	for _, v := range m.variants {
		f = f.plus(v.flows(s))
	}
	return f
}

// load returns the load of a model, as collector.sheet.load does. f are the flows of its pods.
func (w *world) load(m *model, s survey, f flows) scaling.Load {
	state := s.coverage(m.variants...)
	completions := f.reading(f.rates[finished], state)
	none := completions.State == scaling.Fresh && completions.Value == 0
	load := scaling.Load{
		ArrivalRate:  w.arrivalRate(m, s, f.arrivals(state)),
		InputTokens:  f.mean(inputTokens, finished, state, none),
		OutputTokens: f.mean(outputTokens, finished, state, none),
		TTFT:         f.mean(ttftSum, firstTokens, state, none),
		GatewayQueue: w.gatewayQueue(m, s),
		PrefixHits:   scaling.Reading{State: scaling.NotApplicable},
	}
	single := none || load.OutputTokens.Known() && load.OutputTokens.Value <= 1
	load.ITL = f.mean(itlSum, interTokens, state, single)
	if !m.hasObjective() {
		load.TTFTBuckets.State, load.ITLBuckets.State, load.RequestITLBuckets.State = scaling.NotApplicable, scaling.NotApplicable, scaling.NotApplicable
		return load
	}
	load.PrefixHits = f.mean(prefixHits, prefixQueries, state, true)
	ttft, itl, each := distribution{m.ttftBounds, f.ttft}, distribution{m.itlBounds, f.itl}, distribution{m.itlBounds, f.each}
	load.TTFTBuckets = ttft.histogram(f.known(state, none))
	load.ITLBuckets = itl.histogram(f.known(state, single))
	load.RequestITLBuckets = each.histogram(f.known(state, single))
	return load
}

// reading returns value with the state, or without a value if f found nothing.
func (f flows) reading(value float64, state scaling.Freshness) scaling.Reading {
	switch {
	case state == scaling.Absent:
		return scaling.Reading{}
	case f.found:
		return scaling.Measured(value, state)
	case state == scaling.Stale:
		return scaling.Reading{State: scaling.Stale}
	default:
		return scaling.Reading{}
	}
}

// mean returns a sum over a count. none says that there was nothing to take a mean of.
func (f flows) mean(sum, count counter, state scaling.Freshness, none bool) scaling.Reading {
	mean := 0.0
	if f.found = f.found && f.rates[count] > 0; f.found && state > scaling.Absent {
		mean = f.rates[sum] / f.rates[count]
	}
	return scaling.Reading{Value: mean, State: f.known(state, none)}
}

// known returns the state of a quantity of f: NotApplicable if none says that there is nothing to
// measure.
func (f flows) known(state scaling.Freshness, none bool) scaling.Freshness {
	if !f.found && state == scaling.Fresh && none {
		return scaling.NotApplicable
	}
	return f.reading(0, state).State
}

// arrivals returns the arrival rate that the engines show: completions plus the growth of the
// requests in flight.
func (f flows) arrivals(state scaling.Freshness) scaling.Reading {
	return f.reading(f.rates[finished]+max(f.growth, 0), state)
}

// lastGatewayPage returns the newest page of a gateway that exports a queue, and its state; Absent
// if there is none.
func (w *world) lastGatewayPage(m *model, s survey) (gatewayScraped, scaling.Freshness) {
	if m.Hold == 0 || len(m.pages) == 0 {
		return gatewayScraped{}, scaling.Absent
	}
	last := m.pages[len(m.pages)-1]
	state := scaling.Stale
	switch age := s.now - last.at; {
	case age < s.fresh:
		state = scaling.Fresh
	case age < s.aging:
		state = scaling.Aging
	}
	return last, state
}

// gatewayQueue returns the requests that wait at the gateway of the model.
func (w *world) gatewayQueue(m *model, s survey) scaling.Reading {
	last, state := w.lastGatewayPage(m, s)
	switch state {
	case scaling.Absent:
		return scaling.Reading{State: scaling.NotApplicable}
	case scaling.Stale:
		return scaling.Reading{State: scaling.Stale}
	case scaling.NotApplicable, scaling.Aging, scaling.Fresh:
	}
	return scaling.Measured(last.held, state)
}

// arrivalRate returns the arrival rate that the engines show, raised to what the gateway counts, as
// collector.sheet.atGateway does.
func (w *world) arrivalRate(m *model, s survey, engines scaling.Reading) scaling.Reading {
	_, state := w.lastGatewayPage(m, s)
	bound := engines
	if engines.Known() {
		bound.State = min(engines.State, scaling.Aging)
	}
	if state == scaling.Absent {
		return engines
	}
	counted, ok := m.counted(s)
	switch {
	case state == scaling.Stale:
		return bound
	case !ok && state == scaling.Fresh:
		return engines
	case !ok:
		return bound
	case !engines.Known():
		return scaling.Measured(counted, scaling.Aging)
	default:
		return scaling.Measured(max(engines.Value, counted), min(engines.State, state))
	}
}

// counted returns the arrival rate that the gateway counts, requests/s: requests sent on or
// refused, and the growth of its queue. It returns false below two pages.
func (m *model) counted(s survey) (float64, bool) {
	first := len(m.pages)
	for first > 0 && m.pages[first-1].at > s.now-s.window {
		first--
	}
	pages := m.pages[first:]
	if len(pages) < 2 {
		return 0, false
	}
	a, b := pages[0], pages[len(pages)-1]
	counted, _ := ends{a.at, b.at, a.arrivals, b.arrivals, len(pages)}.change(s.now, s.window, true)
	held, _ := ends{a.at, b.at, a.held, b.held, len(pages)}.change(s.now, s.window, false)
	return max(0, (counted+held)/s.window.Seconds()), true
}
