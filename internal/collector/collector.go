package collector

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Options are the settings of a Collector. The zero value works.
type Options struct {
	// Concurrency is how many queries may be under way at once. 0 means 7, so
	// that a cycle takes three round trips: one query, then 13.
	Concurrency int
	// QueryTimeout bounds one query. 0 means 10s.
	QueryTimeout time.Duration
	// Limits are the least ages for Fresh and Aging. The zero value means
	// DefaultLimits.
	Limits Limits
	// CacheTTL is how old an answer of the Source itself may be. 0 means that it
	// keeps none.
	CacheTTL time.Duration
	// Observe is told of every query after it ended: its name in the catalogue,
	// how long it took and its error. It is called from Collect, one call at a
	// time and in catalogue order. Nil means nobody listens.
	Observe func(name string, took time.Duration, err error)
}

// withDefaults returns o with every unset field filled in.
func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 7
	}
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = 10 * time.Second
	}
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration, error) {}
	}
	return o
}

// Collector measures a fleet through a Source. It has no state of its own and is
// safe for concurrent use if Options.Observe is.
type Collector struct {
	source Source
	clock  clock.PassiveClock
	opts   Options
}

var _ cycle.Collector = (*Collector)(nil)

// New returns a Collector that asks source. The clock measures how long queries
// take; what is asked for is the instant of the fleet.
func New(source Source, clk clock.PassiveClock, opts Options) *Collector {
	return &Collector{source: source, clock: clk, opts: opts.withDefaults()}
}

// Collect returns one Snapshot for each model of the fleet, sorted by model. It
// sends query.Count queries, whatever the size of the fleet, or one if that
// first one fails, or none if there are no models. See the package comment for
// what the readings mean where the source has no answer.
func (c *Collector) Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	models := fleet.Models()
	if len(models) == 0 {
		return []scaling.Snapshot{}
	}
	pods := indexPods(fleet)
	var got answers
	// The first question stands alone, because the window of the others follows
	// from its answer and because without it no other number can be trusted.
	c.ask(ctx, &got, fleet.At, unknownWindow, query.LastScrape)
	pages := readPages(pods, got[query.LastScrape].samples)
	if got[query.LastScrape].err == nil {
		c.ask(ctx, &got, fleet.At, pages.window(), query.All()[query.LastScrape+1:]...)
	}
	m := measurement{
		at:      fleet.At,
		window:  pages.window(),
		fault:   got.fault(),
		pods:    pods,
		pages:   pages.judge(fleet.At, c.opts.Limits, c.opts.CacheTTL),
		columns: podColumns(pods, &got),
		load:    readLoads(models, &got),
		seen:    readSeen(got[query.LastScrape].samples),
	}
	m.gateway = readGateways(models, got[query.GatewayQueue], fleet.At,
		c.opts.Limits.For(pages.longest(), c.opts.CacheTTL))
	snapshots := make([]scaling.Snapshot, len(models))
	for i, model := range models {
		snapshots[i] = m.snapshot(model)
	}
	return snapshots
}

// fault says in one sentence why nothing is known, "" when something is.
func (a *answers) fault() string {
	if err := a[query.LastScrape].err; err != nil {
		return sentence(err)
	}
	var first error
	for _, q := range query.All()[query.LastScrape+1:] {
		if a[q].err == nil {
			return ""
		}
		if first == nil {
			first = a[q].err
		}
	}
	return sentence(fmt.Errorf("every other query fails, the first with: %w", first))
}

// faultLength bounds a Fault in bytes: it ends up in a condition's message.
const faultLength = 512

// sentence returns the text of err on one line.
func sentence(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > faultLength {
		text = strings.ToValidUTF8(text[:faultLength], "") + "..."
	}
	return text
}
