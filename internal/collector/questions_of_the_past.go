package collector

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inquiry is the questions of a fetch about the time before it.
type inquiry struct {
	of      []idler
	at      time.Time     // of the fetch, on the manager's clock
	request query.Request // its instant on the source's clock
	ask     func(context.Context, query.Request) answer
	// shown converts an instant of the source [s since 1970] to the manager's clock.
	shown func(float64) time.Time
}

// idler is a model to ask about.
type idler struct {
	model  scaling.ModelKey
	pods   int
	span   time.Duration // how far back
	window time.Duration // of its namespace, > 0
	// interval is the shortest time between two scrapes in its namespace, > 0.
	interval time.Duration
	until    time.Time // the oldest page of its pods
	asked    time.Time
	active   bool // the model was not idle throughout the span
}

// Limits of the cost of questions, in samples of one series of each pod that a store has to read.
const (
	// mostRoom is the largest cost limit: it takes a Prometheus about a second of one core.
	mostRoom = 800_000
	// leastRoom is the least cost limit: the samples of a pod in an hour.
	leastRoom = 240
	// slow is the duration of an answer above which the cost limit is halved.
	slow = time.Second
	// perLook is the cost of one step of a question since when a model is idle, for each pod.
	perLook = 5
	// shortest is the span below which none is cut to make a model fit.
	shortest = 3 * time.Minute
)

// throughout returns the cost of the question whether a model was idle for the whole span.
func (i inquiry) throughout(m idler) float64 {
	return float64(m.pods) * (m.span + m.window).Seconds() / m.interval.Seconds()
}

// since returns the cost of the question since when a model is idle.
func (i inquiry) since(m idler) float64 {
	return float64(m.pods) * perLook * m.span.Seconds() / query.IdleStep(m.span).Seconds()
}

// batches returns the models to ask about in one question each, in their order, as far as there is
// room. The models of one question have one span and window; the span of a model that exceeds the
// room alone is cut. A model whose name is too long for a question is left out: its time before the
// fetch stays unknown.
func batches(of []idler, room float64, worth func(idler) float64) [][]idler {
	var all [][]idler
	type kind struct{ span, window time.Duration }
	open, length, left := map[kind]int{}, map[kind]int{}, room
	for _, m := range of {
		for worth(m) > room && m.span > shortest {
			m.span = max((m.span / 2).Truncate(time.Minute), shortest)
		}
		name := len(m.model.ID) + len(m.model.Namespace)
		if name > longestNames {
			continue
		}
		if left -= worth(m); left < 0 && len(all) > 0 {
			break
		}
		k := kind{m.span, m.window}
		at, ok := open[k]
		if !ok || len(all[at]) == mostNamed || length[k]+name > longestNames {
			at = len(all)
			all, open[k], length[k] = append(all, nil), at, 0
		}
		all[at] = append(all[at], m)
		length[k] += name
	}
	return all
}

// usualInterval replaces an unknown scrape interval.
const usualInterval = 15 * time.Second

// inquire offers the IdleTracker an inquiry about the time before the fetch. The fetch began at
// began on the manager's clock; at is its instant on the source's clock.
func (c *Collector) inquire(began, at time.Time, seen pagesSeen, panels []panel) {
	if c.opts.Idle == nil {
		return
	}
	s := survey{at: at, asked: began}
	i := inquiry{
		at: began, request: query.Request{At: at},
		shown: func(at float64) time.Time { return s.shown(unixMilli(at)) },
		ask: func(ctx context.Context, request query.Request) answer {
			got := c.askOne(ctx, query.AskRecent, request)
			c.observe(query.AskRecent.String(), got.took, got.err)
			return got
		},
	}
	of := map[string]panel{}
	for _, p := range panels {
		for namespace := range p.paces {
			of[namespace] = p
		}
	}
	for _, m := range c.opts.Idle.wanting(began, func(namespace string) time.Duration { return of[namespace].window }) {
		m.interval = cmp.Or(of[m.model.Namespace].paces[m.model.Namespace].shortest, usualInterval)
		for _, pod := range seen.pods.byModel[m.model] {
			if at := seen.at[pod]; at > 0 {
				m.pods++
				if shown := i.shown(at); m.until.IsZero() || shown.Before(m.until) {
					m.until = shown
				}
			}
		}
		if m.pods > 0 {
			i.of = append(i.of, m)
		}
	}
	c.opts.Idle.offer(i)
}

// sorted returns texts in order, without duplicates. It modifies texts.
func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// names returns the names of models, sorted. It returns none, which asks about all models, where
// they are too many or too long for a question.
func names(models []scaling.ModelKey) []string {
	all := make([]string, len(models))
	for i, model := range models {
		all[i] = model.ID
	}
	all = sorted(all)
	length := 0
	for _, name := range all {
		length += len(name)
	}
	if len(all) > mostNamed || length > longestNames {
		return nil
	}
	return all
}
