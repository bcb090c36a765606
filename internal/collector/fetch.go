package collector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// measurement is the outcome of one fetch.
type measurement struct {
	sheets map[scaling.ModelKey]*modelAnswer // of the models with an answer
	err    error                             // why it is not complete, nil if it is
	part   bool                              // only some namespaces were asked about
	fault  string                            // why the other models have none, "" if all have one
}

// covers reports whether m has an answer for every model of the fleet.
func (m *measurement) covers(fleet scaling.Fleet) bool {
	return !slices.ContainsFunc(fleet.Variants, func(v scaling.Variant) bool {
		return m.sheets[v.Model] == nil
	})
}

// reason says why a model has no answer.
func (m *measurement) reason() string {
	if m.fault == "" && m.err != nil {
		return sentence(m.err.Error()) // it shared a fetch for others
	}
	return m.fault
}

// answer is the outcome of one question.
type answer struct {
	query.Answer
	asked bool
	took  time.Duration
	err   error // names the question
}

// answers holds one answer per question.
type answers [query.QuestionCount]answer

// at returns the instant that the answers are for, on the source's clock; zero while no answer has
// one.
func (a *answers) at() time.Time {
	for _, one := range a {
		if !one.At.IsZero() {
			return one.At
		}
	}
	return time.Time{}
}

// mainRound returns the questions that are always asked, those that take a store longest first: the
// round ends with the last one.
func mainRound() []query.Question {
	return []query.Question{
		query.AskMeans, query.AskFlow, query.AskGenerating, query.AskQueueLengthPeak, query.AskKVCacheUsagePeak,
		query.AskQueueLength, query.AskKVCacheUsage, query.AskKVCapacity, query.AskGateway, query.AskRunning,
	}
}

// fetch asks all questions of a plan and returns the measurement. The first question is for the
// source's own now. Its instant is that of all others, so that the answers fit each other and a
// manager whose clock is wrong asks for the right time. The second determines the windows; the
// others are asked once for each window. Pages are asked for in all namespaces, whatever the plan:
// they tell which models have pages where another has none.
func (c *Collector) fetch(ctx context.Context, e fetchPlan) *measurement {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Budget)
	defer cancel()
	asked := c.clock.Now()
	var got answers
	c.ask(ctx, &got, query.Request{}, query.AskPages)
	if err := got[query.AskPages].err; err != nil {
		return &measurement{err: err, fault: sentence(err.Error())}
	}
	seen := readPages(indexPods(e.fleet), got[query.AskPages].Rows)
	c.ask(ctx, &got, query.Request{At: got.at(), Pods: seen.sample(), Namespaces: e.namespaces()}, query.AskScrapeIntervals)
	intervals := readIntervals(got[query.AskScrapeIntervals].Rows, seen.jobs)
	limits := limits{least: c.opts.Limits, ttl: c.opts.TTL.Longest(), intervals: intervals, paces: intervals.of()}
	panels := c.panels(e, limits.paces, seen, got[query.AskPages].Rows)
	if !e.part {
		c.inquire(asked, got.at(), seen, panels)
	}
	m := &measurement{sheets: map[scaling.ModelKey]*modelAnswer{}}
	for _, p := range panels {
		c.survey(ctx, m, p, surveying{asked: asked, limits: limits, common: got})
	}
	c.look(e, seen.pods, m.sheets)
	return m
}

// mostNamed is the largest number of pods, models or namespaces that a question names. With more it
// names none: an expression that names thousands takes a store as long as one that names none.
const mostNamed = 500

// longestNames limits the total length of the names in a question, in bytes: 384 of 64. A modelID
// is any text that a user writes into an object, and an expression repeats it up to ninety times:
// one of a megabyte would make a question that no store answers.
const longestNames = 24 << 10

// percentiles returns the models of the fleet that have a latency objective.
func (c *Collector) percentiles(fleet scaling.Fleet) []scaling.ModelKey {
	var models []scaling.ModelKey
	for _, m := range fleet.Models() {
		if c.opts.Percentiles(m.Model) {
			models = append(models, m.Model)
		}
	}
	return models
}

// ask puts the answers to the questions of round into a, each asked with the parameters of request.
// It asks them in their order, at most Concurrency at a time, and returns when all have ended; one
// that fails does not affect the others.
func (c *Collector) ask(ctx context.Context, a *answers, request query.Request, round ...query.Question) {
	c.askEach(ctx, a, func(query.Question) query.Request { return request }, round...)
}

// askEach is ask with parameters for each question.
func (c *Collector) askEach(ctx context.Context, a *answers, request func(query.Question) query.Request, round ...query.Question) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, c.opts.Concurrency)
	for _, ask := range round {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			a[ask] = c.askOne(ctx, ask, request(ask))
		})
	}
	wg.Wait()
	slices.Sort(round)
	for _, ask := range round {
		c.observe(ask.String(), a[ask].took, a[ask].err)
	}
}

// observe reports a question to Options.Observe, one at a time.
func (c *Collector) observe(name string, took time.Duration, err error) {
	c.observing.Lock()
	defer c.observing.Unlock()
	c.opts.Observe(name, took, err)
}

// askOne asks one question within the timeout.
func (c *Collector) askOne(ctx context.Context, ask query.Question, request query.Request) answer {
	ctx, cancel := context.WithTimeout(ctx, c.opts.QueryTimeout)
	defer cancel()
	request.Ask = ask
	if len(request.Namespaces) == 0 {
		request.Namespaces = c.opts.Namespaces
	}
	if ask != query.AskObjective && ask != query.AskPace && ask != query.AskRecent {
		request.Models = nil
	}
	if ask != query.AskObjective {
		request.Bounds = nil
	}
	request.Aged = request.Aged && (ask == query.AskKVCacheUsagePeak || ask == query.AskQueueLengthPeak)
	began := c.clock.Now()
	got, err := c.source.Ask(ctx, request)
	took := c.clock.Since(began)
	if err != nil {
		return answer{asked: true, took: took, err: questionError(ask, err)}
	}
	return answer{asked: true, took: took, Answer: got}
}

// err returns why the answers are not complete, nil when they are.
func (a *answers) err() error {
	var first error
	asked, failed := 0, 0
	for _, one := range a {
		if one.asked {
			asked++
		}
		if one.err != nil {
			failed++
			if first == nil {
				first = one.err
			}
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%d of %d queries fail, the first with: %w", failed, asked, first)
}

// failed returns the questions that failed.
func (a *answers) failed() questions {
	var set questions
	for ask, one := range a {
		if one.err != nil {
			set = set.with(query.Question(ask))
		}
	}
	return set
}

// fault returns why a round has no answer at all, nil when it has one.
func (a *answers) fault(round []query.Question) error {
	for _, ask := range round {
		if a[ask].err == nil {
			return nil
		}
	}
	return fmt.Errorf("every other query fails, the first with: %w", a[slices.Min(round)].err)
}
