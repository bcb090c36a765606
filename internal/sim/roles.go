package sim

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// roleFlows adds up the paces of the pods of one role, without those that are gone, as the
// collector's roleSum does.
type roleFlows struct {
	page     scaling.Freshness // freshness of the pods of the role
	complete bool              // every Ready pod has a Fresh page
	flows    flows
	waiting  float64 // requests in the queues at the last scrape
}

// roles returns the load of each role of m, and the load of m with each request counted once, as
// collector.modelAnswer.roles does. whole is the load of m as if its pods served whole requests;
// all are the flows of all its pods.
func (w *world) roles(m *model, s survey, whole scaling.Load, all flows) ([]scaling.RoleLoad, scaling.Load) {
	of := [2]roleFlows{m.roleFlows(m.exit.variants, s), m.roleFlows(m.entry.variants, s)}
	waiting := of[0].waiting + of[1].waiting
	ended := m.endedServing(s)
	decode, prefill := s.role(of[0], waiting, all, ended), s.role(of[1], waiting, all, ended)
	if prefill.OutputTokens = prefill.InputTokens; prefill.OutputTokens.Known() {
		prefill.OutputTokens.Value = 1
	}
	prefill.ITL = scaling.Reading{State: scaling.NotApplicable}
	decode.PrefixHits = handedOver(of[0].flows, of[1].flows, decode.ArrivalRate, prefill.ArrivalRate)
	raised := w.arrivalRate(m, s, decode.ArrivalRate)
	prefill.ArrivalRate = prefill.ArrivalRate.InProportion(decode.ArrivalRate, raised)
	decode.ArrivalRate = raised
	decode.ITLBuckets, decode.RequestITLBuckets = whole.ITLBuckets, whole.RequestITLBuckets.Without(of[1].flows.rates[firstTokens])
	whole = scaling.Together(whole, decode, prefill, s.coverage(m.variants...))
	prefill.GatewayQueue, decode.GatewayQueue = whole.GatewayQueue, scaling.Reading{State: scaling.NotApplicable}
	return []scaling.RoleLoad{{Role: scaling.RoleDecode, Load: decode}, {Role: scaling.RolePrefill, Load: prefill}}, whole
}

// roleFlows adds up the pods of the variants of one role.
func (m *model) roleFlows(variants []*variant, s survey) roleFlows {
	r := roleFlows{page: s.coverage(variants...), complete: true}
	for _, v := range variants {
		for _, p := range v.pods {
			fresh := s.freshness(p) == scaling.Fresh
			r.complete = r.complete && (fresh || p.phase != serves)
			if !s.reaches(p) {
				continue
			}
			r.flows.add(since(p.pages, s.now-s.window), s, false)
			r.waiting += p.pages[len(p.pages)-1].waiting
		}
	}
	r.complete = r.complete && r.page == scaling.Fresh
	return r
}

// reaches reports whether a selector reaches back to the newest page of the pod.
func (s survey) reaches(p *pod) bool {
	return len(p.pages) > 0 && s.now-p.pages[len(p.pages)-1].at < query.ScrapeSpan
}

// role returns the load of one role. waiting counts the requests that wait in both roles.
func (s survey) role(of roleFlows, waiting float64, all flows, ended bool) scaling.Load {
	none := scaling.Histogram{State: scaling.NotApplicable}
	load := scaling.Load{PrefixHits: scaling.Reading{State: scaling.NotApplicable}, TTFTBuckets: none, ITLBuckets: none, RequestITLBuckets: none}
	f := of.flows
	started := f.reading(f.rates[firstTokens], of.page)
	if !f.found && of.complete && all.found {
		started = scaling.Measured(0, scaling.Fresh)
	}
	idle := started.State == scaling.Fresh && started.Value == 0
	if load.ArrivalRate = started; started.Known() && of.waiting > 0 {
		load.ArrivalRate.Value += min(max(all.growth, 0)*of.waiting/waiting, of.waiting/s.window.Seconds())
	}
	if ended {
		load.ArrivalRate = load.ArrivalRate.AtBest(scaling.Aging)
	}
	load.InputTokens = all.mean(inputTokens, finished, of.page, idle)
	load.OutputTokens = f.mean(interTokens, firstTokens, of.page, idle)
	if load.OutputTokens.Known() {
		load.OutputTokens.Value++
	}
	load.TTFT = f.mean(ttftSum, firstTokens, of.page, idle)
	load.ITL = f.mean(itlSum, interTokens, of.page, idle || load.OutputTokens.Known() && load.OutputTokens.Value <= 1)
	return load
}

// endedServing reports whether pods that are gone served requests within the window. The collector
// does not know their role.
func (m *model) endedServing(s survey) bool {
	oldest, latest := never, never
	for _, v := range m.variants {
		for _, p := range v.pods {
			if s.freshness(p) == scaling.Fresh {
				oldest = min(oldest, p.pages[len(p.pages)-1].at)
			}
		}
		for _, p := range slices.Concat(v.leaving, v.gone) {
			var f flows
			switch f.add(since(p.pages, s.now-s.window), s, false); {
			case !(f.rates[firstTokens] > 0):
			case p.phase == gone:
				latest = 0 // no selector finds its last page
			default:
				latest = min(latest, p.pages[len(p.pages)-1].at)
			}
		}
	}
	return latest < oldest
}

// handedOver returns the share of the prompts that decode does not compute.
func handedOver(decode, prefill flows, decodeRate, prefillRate scaling.Reading) scaling.Reading {
	state := min(decodeRate.State, prefillRate.State)
	switch {
	case decodeRate.State == scaling.Fresh && !(decode.rates[firstTokens] > 0):
		return scaling.Reading{State: scaling.NotApplicable}
	case state < scaling.Aging:
		return scaling.Reading{State: state}
	case !(decode.rates[firstTokens] > 0):
		return scaling.Reading{}
	default:
		return scaling.Measured(min(1, prefill.rates[firstTokens]/decode.rates[firstTokens]), state)
	}
}
