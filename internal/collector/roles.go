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
// request that both roles serve twice, so those of a role come from its pods. It is nil for a model
// whose pods serve whole requests.
type split struct {
	prefill, decode roleSum
	prefills        map[scaling.VariantKey]bool
}

// roleSum is the sum over the pods of one role. A number that no pod has is NaN.
type roleSum struct {
	pages     coverage
	started   float64 // first tokens/s
	starting  float64 // requests that wait for their first token, mean of the window
	generated float64 // tokens/s, without the first of each request
	decoding  float64 // requests that wait for their next token, mean of the window
	waiting   float64 // requests in the queues at the last scrape
}

// newSplit returns the split of a model, without pods so far. covering returns the coverage of the
// given variants.
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

// add adds a pod with its row, the freshness of its page and its sample r.
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

// ratio returns a/b, NaN where b is not above 0.
func ratio(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}

// roleContext holds the inputs that the loads of both roles share.
type roleContext struct {
	now     int64 // on the source's clock [ms]
	pages   *coverage
	mixed   bool // rates of the model are differences between pods (see modelAnswer.load)
	ended   bool // pods that ended served requests within the window
	backend scaling.Backend
}

// roles returns the load of each role, and the load of the model with each request counted once.
// whole is the load of the model as if its pods served whole requests.
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
		// Prefill's requests end with the first token, so their mean ITL of 0 does not count.
		decode.ITLBuckets, decode.RequestITLBuckets = whole.ITLBuckets, whole.RequestITLBuckets.Without(of.prefill.started)
		whole = scaling.Together(whole, decode, prefill, in.pages.freshness())
	}
	prefill.GatewayQueue, decode.GatewayQueue = whole.GatewayQueue, scaling.Reading{State: scaling.NotApplicable}
	return []scaling.RoleLoad{{Role: scaling.RoleDecode, Load: decode}, {Role: scaling.RolePrefill, Load: prefill}}, whole
}

// role returns the load that the pods of one role report.
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

// started returns the rate of first tokens of a role, in requests/s. A counter that the Fresh page
// of every Ready pod lacks has counted nothing, as in modelAnswer.completions.
func (s *modelAnswer) started(of *roleSum, r row) scaling.Reading {
	if r.answered && !r.found() && of.pages.complete() && s.flow(query.InFlightGrowth).found() {
		return scaling.Measured(0, scaling.Fresh)
	}
	return r.reading(of.pages.freshness())
}

// roleArrivals returns the arrival rate of a role from its rate of first tokens. waiting and all
// are the requests that wait in the role and in both roles. A request counts when its first token
// comes, so arrivals beyond that rate wait. The role therefore has its share of the growth of the
// model's requests in flight, but no more than if all its waiting requests had come within the
// window: growth beyond that has started, and is counted.
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

// handedOver returns a lower bound of the share of prompt tokens that decode does not compute: the
// share of requests that prefill handed over. The model's numbers do not tell apart what each role
// finds in its own prefix cache.
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

// atPicker returns the loads of the roles as far as an endpoint picker reports them: it counts each
// request once, and does not tell which of them prefill gets.
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

// endedServing reports whether pods that ended served requests of the model within the window.
// Their role is unknown, so the rates of both roles are lower bounds until the window is past them.
// A pod that was scraped since the oldest Fresh page of the model's live pods has not ended.
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
