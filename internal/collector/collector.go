package collector

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Options are the settings of a Collector. The zero value works and caches
// nothing.
type Options struct {
	// Concurrency is how many questions may be under way at once. 0 means 6.
	Concurrency int
	// QueryTimeout bounds one question, with what the Source tries again. 0 means
	// 10s.
	QueryTimeout time.Duration
	// Budget bounds a collection with all of its questions. 0 means 30s.
	Budget time.Duration
	// Limits are the least ages for Fresh and Aging. A limit of 0 means that of
	// DefaultLimits.
	Limits Limits
	// Namespaces restricts every question. Empty means the whole cluster.
	Namespaces []string
	// Percentiles says which models have a latency objective: only their
	// histograms are asked for. Nil means none.
	Percentiles func(scaling.ModelKey) bool
	// Cache keeps complete measurements. Nil means cache.NoOp.
	Cache cache.Cache
	// TTL says for how long, and so how much longer pages count as Fresh. Nil
	// means cache.DefaultTTL; without a cache it has no effect.
	TTL cache.Policy
	// RefreshInterval is how often Refresh is called: it fetches what would not
	// live until the next call. 0 means 15s.
	RefreshInterval time.Duration
	// Observe is told of every question after it ended: its name, how long it took
	// and its error. One call at a time, in the order of the catalogue within each
	// round of questions. Nil means nobody listens.
	Observe func(name string, took time.Duration, err error)
	// ObserveFetch is told of every fetch after it ended, whoever wanted it: how
	// long it took, and the error because of which it is not kept. One call at a
	// time. Nil means nobody listens.
	ObserveFetch func(took time.Duration, err error)
	// ObserveCache is told of every Collect: for how many models there was a live
	// entry and for how many there was none. It may be called side by side. Nil
	// means nobody listens.
	ObserveCache func(hits, misses int)
}

// withDefaults returns o with every unset field filled in.
func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 6
	}
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = 10 * time.Second
	}
	if o.Budget <= 0 {
		o.Budget = 30 * time.Second
	}
	if o.Limits.Fresh <= 0 {
		o.Limits.Fresh = DefaultLimits().Fresh
	}
	if o.Limits.Aging <= 0 {
		o.Limits.Aging = DefaultLimits().Aging
	}
	if o.Percentiles == nil {
		o.Percentiles = func(scaling.ModelKey) bool { return false }
	}
	if o.Cache == nil {
		o.Cache = cache.NoOp{}
	}
	if o.TTL == nil {
		o.TTL = cache.DefaultTTL
	}
	if _, off := o.Cache.(cache.NoOp); off {
		o.TTL = cache.Fixed(0)
	}
	if o.RefreshInterval <= 0 {
		o.RefreshInterval = 15 * time.Second
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration, error) {}
	}
	if o.ObserveFetch == nil {
		o.ObserveFetch = func(time.Duration, error) {}
	}
	if o.ObserveCache == nil {
		o.ObserveCache = func(int, int) {}
	}
	return o
}

// Collector measures a fleet through a Source. What it keeps between two
// collections is in its cache. It is safe for concurrent use.
type Collector struct {
	source Source
	clock  clock.PassiveClock
	opts   Options

	mu     sync.Mutex
	flight *flight // under way, nil if none
}

var _ cycle.Collector = (*Collector)(nil)

// New returns a Collector that asks source. The clock is the manager's own: it
// measures how long questions take and how old a kept answer is. The age of a
// sample is a matter of the source's clock.
func New(source Source, clk clock.PassiveClock, opts Options) *Collector {
	return &Collector{source: source, clock: clk, opts: opts.withDefaults()}
}

// Key returns the key under which the measurement of a model is cached. As a
// prefix, the key of a model stands for the models whose ID begins so, too; that
// of the ID "" stands for all models of the namespace.
func Key(model scaling.ModelKey) string { return "replica:" + model.Namespace + "/" + model.ID }

// Collect returns one Snapshot for each model of the fleet, sorted by model. It
// answers from the cache where every model has a live entry; else it fetches,
// together with whoever fetches already, and asks query.QuestionCount questions
// at most, whatever the size of the fleet. A model whose entry is still live
// keeps it if the fetch is not complete. See the package comment for what the
// readings mean where the source has no answer.
//
// The logger of ctx is told at V(1) where the answer came from.
func (c *Collector) Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	models := fleet.Models()
	if len(models) == 0 {
		return []scaling.Snapshot{}
	}
	sheets, missing := c.cached(models)
	c.opts.ObserveCache(len(models)-len(missing), len(missing))
	log := logr.FromContextOrDiscard(ctx).V(1)
	var fault string
	if len(missing) == 0 {
		log.Info("Using cached replica metrics", "age", c.oldest(sheets).String(), "models", len(models))
	} else {
		log.Info("Cache miss for replica metrics, fetching from the source",
			"namespace", missing[0].Namespace, "model", missing[0].ID, "models", len(missing))
		m := c.measure(ctx, fleet)
		fault = m.fault
		for model, s := range m.sheets {
			if sheets[model] == nil || m.err == nil {
				sheets[model] = s
			}
		}
	}
	now := c.clock.Now()
	pods := indexPods(fleet)
	snapshots := make([]scaling.Snapshot, len(models))
	for i, model := range models {
		if s := sheets[model.Model]; s != nil {
			snapshots[i] = s.snapshot(fleet.At, model, pods, now)
		} else {
			snapshots[i] = faulted(fleet.At, model, pods, fault)
		}
	}
	return snapshots
}

// Refresh fetches if the entry of any model of the fleet is missing or would
// expire before the next call, and returns why the result is not complete and
// was not kept. What is kept stays, then.
func (c *Collector) Refresh(ctx context.Context, fleet scaling.Fleet) error {
	next := c.clock.Now().Add(c.opts.RefreshInterval)
	due := false
	for _, model := range fleet.Models() {
		entry, ok := c.opts.Cache.Peek(Key(model.Model))
		due = due || !ok || !entry.Expires().After(next)
	}
	if !due {
		return nil
	}
	return c.measure(ctx, fleet).err
}

// cached returns the sheets of the models that have a live entry, and the
// others.
func (c *Collector) cached(models []scaling.ModelVariants) (found map[scaling.ModelKey]*sheet, missing []scaling.ModelKey) {
	found = make(map[scaling.ModelKey]*sheet, len(models))
	for _, model := range models {
		entry, _ := c.opts.Cache.Get(Key(model.Model))
		if s, ok := entry.Value.(*sheet); ok {
			found[model.Model] = s
		} else {
			missing = append(missing, model.Model)
		}
	}
	return found, missing
}

// keep puts a complete measurement into the cache.
func (c *Collector) keep(m *measurement) {
	if m.err != nil {
		return
	}
	for model, s := range m.sheets {
		last, _ := c.opts.Cache.Peek(Key(model))
		moved := 1.0
		if before, ok := last.Value.(*sheet); ok {
			moved = s.movedSince(before)
		}
		c.opts.Cache.Put(Key(model), s, c.opts.TTL.TTL(last.TTL, moved))
	}
}

// oldest returns the time since the earliest of the fetches behind the sheets.
func (c *Collector) oldest(sheets map[scaling.ModelKey]*sheet) time.Duration {
	var age time.Duration
	for _, s := range sheets {
		age = max(age, c.clock.Since(s.survey.asked))
	}
	return age
}

// faultLength bounds a sentence of a Snapshot in bytes: it ends up in a
// condition's message.
const faultLength = 512

// sentence returns text on one line, within faultLength.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > faultLength {
		text = strings.ToValidUTF8(text[:faultLength], "") + "..."
	}
	return text
}

// questionError names the question that failed.
func questionError(ask query.Question, err error) error {
	return fmt.Errorf("querying %s: %w", ask, err)
}
