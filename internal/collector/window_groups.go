package collector

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// panel is the part of a fleet with one window.
type panel struct {
	window time.Duration
	fleet  scaling.Fleet
	// namespaces are those of the fleet, sorted. It is empty where the panel is the whole fleet, or
	// has too many to name: the answer then covers other namespaces too.
	namespaces []string
	paces      map[string]pace // of its namespaces
	seen       pagesSeen       // of its pods
}

// panels returns the parts of a planned fetch, in the order of their windows. A namespace whose
// scrape interval is unknown, because its pods are young, keeps its last window.
//
// rows are the pages; seen is what they show of the whole fleet.
func (c *Collector) panels(e fetchPlan, paces map[string]pace, seen pagesSeen, rows []query.Row) []panel {
	of := c.divided(e.fleet, paces)
	all := make([]panel, 0, len(of))
	for _, window := range slices.Sorted(maps.Keys(of)) {
		p := of[window]
		if len(of) > 1 {
			p.fleet = e.fleet.In(func(namespace string) bool { _, in := p.paces[namespace]; return in })
			p.seen = readPages(indexPods(p.fleet), rows)
		} else {
			p.fleet, p.seen = e.fleet, seen
		}
		if (len(of) > 1 || e.part) && len(p.paces) <= mostNamed {
			p.namespaces = slices.Sorted(maps.Keys(p.paces))
		}
		all = append(all, *p)
	}
	return all
}

// divided returns a panel for each window, with only the paces of its namespaces so far. A
// namespace without a known pace keeps its last window, or has the shortest of the others, so that
// a new namespace costs no questions of its own: until its pace is known its pages are Aging at
// best.
func (c *Collector) divided(fleet scaling.Fleet, paces map[string]pace) map[time.Duration]*panel {
	of := map[time.Duration]*panel{}
	c.mu.Lock()
	defer c.mu.Unlock()
	begins := time.Duration(0)
	for _, p := range paces {
		if w := p.window(); begins == 0 || w < begins {
			begins = w
		}
	}
	last := ""
	for i, v := range fleet.Variants {
		namespace := v.Model.Namespace
		if i > 0 && namespace == last {
			continue // as most are
		}
		last = namespace
		p := paces[namespace]
		window := p.window()
		if p != (pace{}) {
			c.windows[namespace] = window
		} else if before, known := c.windows[namespace]; known {
			window = before
		} else if begins > 0 {
			window = begins
		}
		if of[window] == nil {
			of[window] = &panel{window: window, paces: map[string]pace{}}
		}
		of[window].paces[namespace] = p
	}
	return of
}

// surveying is what the panels of a fetch have in common.
type surveying struct {
	asked  time.Time // when the fetch began, on the manager's clock
	limits limits
	common answers // to the questions about the whole fleet
}

// survey asks about a panel and adds its model answers to a measurement.
func (c *Collector) survey(ctx context.Context, m *measurement, p panel, all surveying) {
	got, seen, pods := all.common, p.seen, p.seen.pods
	request := query.Request{At: got.at(), Window: p.window, Namespaces: p.namespaces}
	request.Aged = seen.aged(request.At.Add(-request.Window))
	percentiles := c.percentiles(p.fleet)
	request.Models, request.Bounds = names(percentiles), c.edges(percentiles)
	round := mainRound()
	if seen.misses() {
		round = append(round, query.AskEarlierPages)
	}
	paced := slices.Concat(percentiles, disaggregated(p.fleet))
	if len(paced) > 0 {
		round = slices.Insert(round, 0, query.AskPace)
	}
	if len(percentiles) > 0 {
		round = slices.Insert(round, 0, query.AskObjective)
	}
	c.askEach(ctx, &got, func(ask query.Question) query.Request {
		of := request
		if ask == query.AskPace {
			of.Models = names(paced)
		}
		return of
	}, round...)
	if fault := got.fault(round); fault != nil {
		m.note(fault)
		m.fault = sentence(fault.Error())
		return
	}
	surveys := map[string]*survey{} // by namespace
	for namespace, pace := range p.paces {
		surveys[namespace] = &survey{at: got.at(), asked: all.asked, window: p.window, grace: all.limits.grace(pace.longest), failed: got.failed()}
	}
	sheets := newBuilders(surveys, p.fleet, pods)
	sheets.read(&got, all.limits, percentiles)
	if one := got[query.AskObjective]; one.asked && one.err == nil {
		c.learn(percentiles, sheets, one.Rows, request.Bounds)
	}
	if suspects := sheets.suspects(pods); len(suspects) > 0 {
		if len(suspects) <= mostNamed {
			request.Pods = suspects
		}
		c.ask(ctx, &got, request, query.AskStuck)
		sheets.readStuck(got[query.AskStuck].Rows)
		for _, s := range surveys {
			s.failed = got.failed()
		}
	}
	maps.Copy(m.sheets, sheets.finish(pods, &got))
	m.note(got.err())
}

// note records why a panel is not complete. The first reason stays.
func (m *measurement) note(err error) {
	if m.err == nil {
		m.err = err
	}
}
