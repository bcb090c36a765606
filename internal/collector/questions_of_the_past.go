package collector

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inquiry is what a fetch has to ask of the time before it.
type inquiry struct {
	of      []idler
	at      time.Time     // of the fetch, on the manager's clock
	request query.Request // its instant on the source's clock
	ask     func(context.Context, query.Request) answer
	// shown puts an instant of the source [s since 1970] on the manager's clock.
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

// How much is asked, in samples that a store has to read of one series of each pod.
const (
	// mostRoom takes a Prometheus about a second of one core.
	mostRoom = 800_000
	// leastRoom is what a pod says in an hour.
	leastRoom = 240
	// slow is how long an answer may take before less is asked.
	slow = time.Second
	// perLook is what a look is worth that has to tell when something happened.
	perLook = 5
	// shortest is a span that is not cut to make a model fit.
	shortest = 3 * time.Minute
)

// throughout returns what it is worth to ask whether a model was quiet for the
// whole span.
func (i inquiry) throughout(m idler) float64 {
	return float64(m.pods) * (m.span + m.window).Seconds() / m.interval.Seconds()
}

// since returns what it is worth to ask since when it was.
func (i inquiry) since(m idler) float64 {
	return float64(m.pods) * perLook * m.span.Seconds() / query.IdleStep(m.span).Seconds()
}

// batches returns the models to ask about in one question each, in their order, as
// far as there is room. Those of one question have one span; that of a model which
// is too large to be asked about by itself is cut. A name that is too long for a
// question is passed over: nothing is known then of the time before.
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

// usualInterval stands for a scrape interval that is not known.
const usualInterval = 15 * time.Second

// inquire has the IdleTracker asked about the time before the fetch that began at an
// instant of the manager's clock, and whose instant on the source's clock is at.
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

// sorted returns the different ones of texts, in order.
func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// names returns the names of models, sorted, none where they are too many or too
// long for a question: a source then answers about all models.
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
