package collector

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// disaggregated returns the models of the fleet that are served in prefill and decode.
func disaggregated(fleet scaling.Fleet) []scaling.ModelKey {
	var models []scaling.ModelKey
	for _, m := range fleet.Models() {
		if scaling.Disaggregated(m.Variants) {
			models = append(models, m.Model)
		}
	}
	return models
}

// split adds up the numbers of the pods of each role. The rates and means of a whole model count a
// request that both roles serve twice, so those of a role come from its pods. Nil is the split of a
// model whose pods serve whole requests.
type split struct {
	prefill, decode roleSum
	prefills        map[scaling.VariantKey]bool
}

// roleSum is the sum over the pods of one role. What no pod has is NaN.
type roleSum struct {
	pages     coverage
	started   float64 // first tokens/s
	starting  float64 // requests that wait for their first token, in the mean of the window
	generated float64 // tokens/s, but the first of each request
	decoding  float64 // requests that wait for their next token, in the mean of the window
	waiting   float64 // requests in the queues at the last scrape
}

// newSplit returns the split of a model, so far without pods. covering returns the coverage of some
// of its variants.
func newSplit(variants []scaling.Variant, covering func([]scaling.Variant) coverage) *split {
	if !scaling.Disaggregated(variants) {
		return nil
	}
	var prefill, decode []scaling.Variant
	prefills := make(map[scaling.VariantKey]bool, len(variants))
	for _, v := range variants {
		if v.Role == scaling.RolePrefill {
			prefill, prefills[v.Key] = append(prefill, v), true
		} else {
			decode = append(decode, v)
		}
	}
	sum := func(of []scaling.Variant) roleSum {
		none := math.NaN()
		return roleSum{pages: covering(of), started: none, starting: none, generated: none, decoding: none}
	}
	return &split{prefill: sum(prefill), decode: sum(decode), prefills: prefills}
}

// add takes a pod into account, with its row and what was made of it, in the state of its page.
func (s *split) add(pod scaling.Pod, row *podRow, state scaling.Freshness, r scaling.ReplicaSample) {
	if s == nil {
		return
	}
	of := &s.decode
	if s.prefills[pod.Variant] {
		of = &s.prefill
	}
	of.pages.add(pod, row.page, state)
	of.started = plus(of.started, *row.gauge(query.Started))
	of.starting = plus(of.starting, *row.gauge(query.Starting))
	of.generated = plus(of.generated, *row.gauge(query.Generated))
	of.decoding = plus(of.decoding, *row.gauge(query.Decoding))
	of.waiting += r.QueueLengthNow.Or(0)
}

// plus returns the sum of two numbers, or the only one.
func plus(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	default:
		return a + b
	}
}

// ratio returns a/b, NaN where there is none.
func ratio(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}

// roleContext is what the loads of both roles are made with.
type roleContext struct {
	now     int64 // on the source's clock [ms]
	pages   *coverage
	mixed   bool // rates of the model add up the differences between pods
	ended   bool // pods that ended served requests within the window
	backend scaling.Backend
}

// roles returns what each role has to do, and the load of the model with each request counted once.
// whole is that load as if its pods served whole requests.
func (s *modelAnswer) roles(of *split, whole scaling.Load, in roleContext) ([]scaling.RoleLoad, scaling.Load) {
	var decode, prefill scaling.Load
	if in.backend == scaling.BackendEPP {
		decode, prefill = atPicker(whole)
	} else {
		decode, prefill = s.role(&of.decode, of, in), s.role(&of.prefill, of, in)
		if prefill.OutputTokens = prefill.InputTokens; prefill.OutputTokens.Known() {
			prefill.OutputTokens.Value = 1
		}
		prefill.ITL = scaling.Reading{State: scaling.NotApplicable}
		decode.PrefixHits = of.handedOver(decode.ArrivalRate, prefill.ArrivalRate)
		raised := s.atGateway(decode.ArrivalRate, in.now)
		prefill.ArrivalRate = prefill.ArrivalRate.InProportion(decode.ArrivalRate, raised)
		decode.ArrivalRate = raised
		// A request of prefill ends with its first token, and its mean ITL counts as 0.
		decode.ITLBuckets, decode.RequestITLBuckets = whole.ITLBuckets, whole.RequestITLBuckets.Without(of.prefill.started)
		whole = scaling.Together(whole, decode, prefill, in.pages.freshness())
	}
	prefill.GatewayQueue, decode.GatewayQueue = whole.GatewayQueue, scaling.Reading{State: scaling.NotApplicable}
	return []scaling.RoleLoad{{Role: scaling.RoleDecode, Load: decode}, {Role: scaling.RolePrefill, Load: prefill}}, whole
}

// role returns what the pods of one role report that they have to do.
//
// The length of prompts is the mean over the requests of both roles, which have the same prompts.
// Where decode serves some requests alone, those count once in that mean and the others twice.
func (s *modelAnswer) role(of *roleSum, both *split, in roleContext) scaling.Load {
	page, answered := of.pages.freshness(), !s.survey.failed.has(query.AskPace)
	none := false
	load := scaling.Load{
		PrefixHits:  scaling.Reading{State: scaling.NotApplicable},
		TTFTBuckets: scaling.Histogram{State: scaling.NotApplicable}, ITLBuckets: scaling.Histogram{State: scaling.NotApplicable},
		RequestITLBuckets: scaling.Histogram{State: scaling.NotApplicable},
	}
	if in.mixed {
		page = min(page, scaling.Aging)
	} else {
		started := s.started(of, row{of.started, answered})
		none = started.State == scaling.Fresh && started.Value == 0
		load.ArrivalRate = s.roleArrivals(started, of.waiting, both.prefill.waiting+both.decode.waiting)
		if in.ended {
			load.ArrivalRate = load.ArrivalRate.AtBest(scaling.Aging)
		}
	}
	mean := func(v float64, none bool) scaling.Reading { return row{v, answered}.mean(page, none) }
	load.InputTokens = s.flow(query.InputTokens).mean(page, none)
	load.OutputTokens = mean(1+ratio(of.generated, of.started), none)
	load.TTFT = mean(1000*ratio(of.starting, of.started), none)
	// Answers of one token have no gap between tokens.
	load.ITL = mean(1000*ratio(of.decoding, of.generated), none || load.OutputTokens.Known() && load.OutputTokens.Value <= 1)
	return load
}

// started returns the rate at which requests get their first token of a role. A counter that is
// missing from the Fresh page of every Ready pod has counted nothing, as of modelAnswer.completions.
func (s *modelAnswer) started(of *roleSum, r row) scaling.Reading {
	if r.answered && !r.found() && of.pages.complete() && s.flow(query.InFlightGrowth).found() {
		return scaling.Measured(0, scaling.Fresh)
	}
	return r.reading(of.pages.freshness())
}

// roleArrivals returns the arrival rate of a role with the given number of waiting requests, of
// those that wait in both roles. Requests count when their first token comes, so what arrived beyond
// that waits: the role has its part of what the model's requests in flight grow by, but no more than
// if all that wait had come within the window. What grows beyond that has started, and counted.
func (s *modelAnswer) roleArrivals(started scaling.Reading, waiting, all float64) scaling.Reading {
	if !started.Known() {
		return started
	}
	growth := s.flow(query.InFlightGrowth)
	if !growth.found() || s.twofold != "" {
		return started.AtBest(scaling.Aging)
	}
	if waiting > 0 {
		started.Value += min(max(growth.value, 0)*waiting/all, waiting/s.survey.window.Seconds())
	}
	return started
}

// handedOver returns the part of the prompt tokens that decode does not compute, at least: that of
// the requests which prefill handed over. What each role finds in its own prefix cache is not told
// apart by the model's numbers.
func (s *split) handedOver(decode, prefill scaling.Reading) scaling.Reading {
	state := min(decode.State, prefill.State)
	part := ratio(s.prefill.started, s.decode.started)
	switch {
	case decode.State == scaling.Fresh && !(s.decode.started > 0):
		return scaling.Reading{State: scaling.NotApplicable}
	case state < scaling.Aging:
		return scaling.Reading{State: state}
	case math.IsNaN(s.prefill.started):
		part = 0 // its counters have counted nothing
	}
	return scaling.Measured(min(1, part), state)
}

// atPicker returns the loads of the roles as far as an endpoint picker tells them: it counts each
// request once, and not which of them prefill gets.
func atPicker(whole scaling.Load) (decode, prefill scaling.Load) {
	none := scaling.Histogram{State: scaling.NotApplicable}
	decode = whole
	decode.TTFT, decode.PrefixHits = scaling.Reading{}, scaling.Reading{}
	decode.TTFTBuckets = none
	prefill = scaling.Load{
		InputTokens: whole.InputTokens, OutputTokens: whole.InputTokens,
		ITL: scaling.Reading{State: scaling.NotApplicable}, PrefixHits: scaling.Reading{State: scaling.NotApplicable},
		TTFTBuckets: none, ITLBuckets: none, RequestITLBuckets: none,
	}
	if prefill.OutputTokens.Known() {
		prefill.OutputTokens.Value = 1
	}
	return decode, prefill
}

// endedServing reports whether pods that are gone served requests of the model within the window. Of
// which role they were is not known, so the rates of both are lower bounds until the window is past
// them. A pod that was scraped since the oldest Fresh page of the model's own is not gone.
func (s *modelAnswer) endedServing(model scaling.ModelKey, pods podIndex, instant int64) bool {
	oldest, latest := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := range s.pods {
		row := &s.pods[i]
		at, live := pods.pod(query.Row{Namespace: model.Namespace, Pod: row.name})
		switch {
		case live && pods.models[at] == model:
			if row.page.state(instant) == scaling.Fresh {
				oldest = min(oldest, row.page.at)
			}
		case *row.gauge(query.Started) > 0:
			latest = min(latest, row.page.at)
		}
	}
	return latest < oldest
}
