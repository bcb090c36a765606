package collector

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// Collector measures a fleet through a Source. It keeps measurements between collections in its
// cache. It is safe for concurrent use.
type Collector struct {
	source Source
	clock  clock.PassiveClock
	opts   Options

	mu      sync.Mutex
	flight  *flight                  // under way, nil if none
	windows map[string]time.Duration // of namespaces, at the last fetch with a known scrape interval
	last    map[scaling.ModelKey]last
	early   map[string][]time.Time       // when a namespace was fetched early
	layouts map[scaling.ModelKey]*layout // of the histograms of models, at the last answer with all buckets
	whole   time.Time                    // when all buckets were last asked for
	crowded bool                         // at the last complete fetch the cache had not enough room

	observing sync.Mutex // a call of Options.Observe is under way
}

var _ cycle.Collector = (*Collector)(nil)

// New returns a Collector that asks source. clk is the manager's own clock: it measures how long
// questions take and how old a kept answer is. The source's clock measures the age of a sample.
func New(source Source, clk clock.PassiveClock, opts Options) *Collector {
	return &Collector{
		source: source, clock: clk, opts: opts.withDefaults(),
		windows: map[string]time.Duration{}, last: map[scaling.ModelKey]last{}, early: map[string][]time.Time{},
		layouts: map[scaling.ModelKey]*layout{},
	}
}

// Key returns the key under which the measurement of a model is cached. As a prefix, the key of a
// model also covers models whose ID begins with its ID; the key of the ID "" covers all models of
// the namespace.
func Key(model scaling.ModelKey) string { return "replica:" + model.Namespace + "/" + model.ID }

// Collect returns one Snapshot for each model of the fleet, sorted by model. It answers from the
// cache where every model has a live entry. Else it joins a fetch that is under way, or fetches: it
// asks each question once at most for each window, whatever the size of the fleet, and leaves
// query.AskRecent to Options.Idle. Where entries were dropped or models are new, it fetches their
// namespaces alone, each a few times a minute at most. A model whose entry is still live keeps it
// if the fetch is not complete. The package comment says what the readings mean where the source
// has no answer.
//
// It logs to the logger of ctx, at V(1), where the answer came from.
func (c *Collector) Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	models := fleet.Models()
	if len(models) == 0 {
		return []scaling.Snapshot{}
	}
	sheets, missing := c.cached(models)
	c.opts.ObserveCache(len(models)-len(missing), len(missing))
	log := logr.FromContextOrDiscard(ctx).V(1)
	if len(missing) == 0 {
		log.Info("Using cached replica metrics", "age", c.oldest(sheets).String(), "models", len(models))
		return c.join(fleet, models, sheets, &measurement{})
	}
	log.Info("Cache miss for replica metrics, fetching from the source",
		"namespace", missing[0].Namespace, "model", missing[0].ID, "models", len(missing))
	e, waiting := c.planFetch(fleet, models, missing)
	m := &measurement{}
	if len(e.fleet.Variants) > 0 {
		m = c.measure(ctx, e)
	}
	return c.join(fleet, models, sheets, c.standIn(waiting, sheets, m))
}

// Refresh fetches, unless the kept entries are recent or an adaptive time to live keeps them, and
// returns why the result is not complete and was not kept. Kept entries stay then.
func (c *Collector) Refresh(ctx context.Context, fleet scaling.Fleet) error {
	return c.refresh(ctx, fleet, fleet.Models()).err
}

// Look refreshes, and returns the snapshots that Collect would return then. It fetches once at
// most: where the fetch fails, or the cache has not enough room, it returns what the fetch brought.
// It does not count as a use of the cache.
func (c *Collector) Look(ctx context.Context, fleet scaling.Fleet) ([]scaling.Snapshot, error) {
	models := fleet.Models()
	m := c.refresh(ctx, fleet, models)
	now := c.clock.Now()
	sheets := make(map[scaling.ModelKey]*modelAnswer, len(models))
	for _, model := range models {
		entry, ok := c.opts.Cache.Peek(Key(model.Model))
		if s, is := entry.Value.(*modelAnswer); ok && is && entry.Live(now) {
			sheets[model.Model] = s
		}
	}
	return c.join(fleet, models, sheets, m), m.err
}

// refresh fetches if that is due; else it returns an empty measurement.
func (c *Collector) refresh(ctx context.Context, fleet scaling.Fleet, models []scaling.ModelVariants) *measurement {
	// The next call begins after one interval, and its fetch may take another. An entry that
	// expires during that fetch would be missing, so entries must outlive both.
	now := c.clock.Now()
	next := now.Add(2 * c.opts.RefreshInterval)
	for _, model := range models {
		entry, ok := c.opts.Cache.Peek(Key(model.Model))
		if !ok || !entry.Live(next) || c.overtaken(entry, now) {
			return c.measure(ctx, everything(fleet))
		}
	}
	return &measurement{}
}

// overtaken reports whether a live entry is fetched anew all the same: its time to live only
// bridges fetches that fail. An adaptive time to live shows that nothing moved, so such an entry
// stays, as does one that a cycle has just fetched.
func (c *Collector) overtaken(entry cache.Entry, now time.Time) bool {
	if _, adaptive := c.opts.TTL.(cache.Adaptive); adaptive {
		return false
	}
	s, ok := entry.Value.(*modelAnswer)
	return ok && now.Sub(s.survey.asked) >= c.opts.RefreshInterval/2
}

// join returns the snapshots of the models: from the live entries, and from m where there is no
// entry or m is complete. It modifies the map of entries.
func (c *Collector) join(fleet scaling.Fleet, models []scaling.ModelVariants, sheets map[scaling.ModelKey]*modelAnswer, m *measurement) []scaling.Snapshot {
	for model, s := range m.sheets {
		if sheets[model] == nil || s.complete() {
			sheets[model] = s
		}
	}
	now := c.clock.Now()
	pods := indexPods(fleet)
	snapshots := make([]scaling.Snapshot, len(models))
	for i, model := range models {
		if s := sheets[model.Model]; s != nil {
			snapshots[i] = s.snapshot(fleet.At, model, pods, now, c.opts.Backend)
		} else {
			snapshots[i] = faulted(fleet.At, model, pods, m.reason())
			snapshots[i].Backend = c.opts.Backend
		}
		snapshots[i].Load.Recent = c.opts.Idle.recent(model.Model)
		for k := range snapshots[i].Roles {
			snapshots[i].Roles[k].Load.Recent = snapshots[i].Load.Recent
		}
		c.atGate(&snapshots[i])
	}
	return snapshots
}

// cached returns the answers of the models that have a live entry, and the models that have none.
func (c *Collector) cached(models []scaling.ModelVariants) (found map[scaling.ModelKey]*modelAnswer, missing []scaling.ModelKey) {
	found = make(map[scaling.ModelKey]*modelAnswer, len(models))
	for _, model := range models {
		entry, _ := c.opts.Cache.Get(Key(model.Model))
		if s, ok := entry.Value.(*modelAnswer); ok {
			found[model.Model] = s
		} else {
			missing = append(missing, model.Model)
		}
	}
	return found, missing
}

// keep puts the complete answers of a measurement, which began at since, into the cache, and
// reports a cache without enough room.
func (c *Collector) keep(ctx context.Context, e fetchPlan, m *measurement, since cache.Mark) {
	for _, model := range slices.SortedFunc(maps.Keys(m.sheets), scaling.ModelKey.Compare) {
		s := m.sheets[model]
		if !s.complete() {
			continue
		}
		entry, _ := c.opts.Cache.Peek(Key(model))
		moved := 1.0
		if before, ok := entry.Value.(*modelAnswer); ok {
			moved = s.movedSince(before)
		}
		ttl := c.opts.TTL.TTL(entry.TTL, moved)
		c.opts.Cache.Put(Key(model), s, ttl, since)
		c.remember(model, s, c.clock.Now().Add(ttl))
	}
	c.forgetOthers(e.served)
	if m.err == nil && !e.part {
		c.reportCrowding(ctx, len(m.sheets))
	}
}

// reportCrowding reports a cache that is too small for so many models, and logs when that begins:
// from then on every cycle waits for the source.
func (c *Collector) reportCrowding(ctx context.Context, models int) {
	room := c.opts.Cache.Capacity()
	crowded := room > 0 && models > room // 0: the cache is off
	c.mu.Lock()
	began := crowded && !c.crowded
	c.crowded = crowded
	c.mu.Unlock()
	if crowded {
		c.opts.ObserveCrowding(models)
	}
	if began {
		logr.FromContextOrDiscard(ctx).Info("the cache holds fewer measurements than there are models, so every cycle has to fetch: "+
			"raise PROMETHEUS_METRICS_CACHE_MAX_ENTRIES to the number of models", "entries", room, "models", models)
	}
}

// oldest returns the time since the earliest of the fetches behind the answers.
func (c *Collector) oldest(sheets map[scaling.ModelKey]*modelAnswer) time.Duration {
	var age time.Duration
	for _, s := range sheets {
		age = max(age, c.clock.Since(s.survey.asked))
	}
	return age
}

// faultLength limits a sentence of a Snapshot, in bytes: it ends up in a condition's message.
const faultLength = 512

// sentence returns text on one line, cut to faultLength.
func sentence(text string) string {
	return cut(strings.Join(strings.Fields(text), " "))
}

// cut returns text, or its first faultLength bytes and "..." where it is longer.
func cut(text string) string {
	if len(text) > faultLength {
		return strings.ToValidUTF8(text[:faultLength], "") + "..."
	}
	return text
}

// questionError returns err with the name of the question that failed.
func questionError(ask query.Question, err error) error {
	return fmt.Errorf("querying %s: %w", ask, err)
}
