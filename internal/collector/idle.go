package collector

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// IdleTracker knows for how long each model has been without a request (scaling.Recent). It
// examines every fetch, and asks the source about the time before: once about a model that is idle,
// and again after a gap. Run asks, beside the fetches, which never wait for it; until the answer
// comes the time before is unknown. One fetch leads to questions of about a second of a store's
// time at most, however many models are idle; the other models have their turn after the next
// fetch.
//
// The zero value is not usable; NewIdleTracker returns one. It outlives the Collectors that use it
// (Options.Idle), one at a time, and is safe for concurrent use. A nil *IdleTracker knows nothing
// and asks nothing.
type IdleTracker struct {
	retention func(scaling.ModelKey) time.Duration
	inquiries chan inquiry
	pending   sync.WaitGroup // inquiries that were offered and are not yet answered

	mu     sync.Mutex
	models map[scaling.ModelKey]*idleModel
	room   float64 // cost limit of one inquiry [samples]
}

// idleModel is what is known of the idle time of a model.
type idleModel struct {
	memory.Activity
	before scaling.Recent // the latest answer of the source, zero if there is none
	asked  time.Time      // when the source was last asked about it, zero if never
	active bool           // by the latest answer it was not idle for the whole span
}

// NewIdleTracker returns an IdleTracker that knows nothing yet. retention returns for how long a
// model must be idle for that to matter, 0 if it never does.
func NewIdleTracker(retention func(scaling.ModelKey) time.Duration) *IdleTracker {
	return &IdleTracker{retention: retention, inquiries: make(chan inquiry), models: map[scaling.ModelKey]*idleModel{}, room: mostRoom}
}

// recent returns the idle time of a model that was idle at the last fetch, else the zero value.
func (q *IdleTracker) recent(model scaling.ModelKey) scaling.Recent {
	if q == nil {
		return scaling.Recent{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.models[model]; r != nil && r.Life == scaling.LifeIdle && !r.IdleSince.IsZero() {
		return scaling.Recent{Requests: scaling.Measured(0, scaling.Fresh), Since: r.IdleSince, Until: r.Until}
	}
	return scaling.Recent{}
}

// look takes over the snapshots of a fetch, and forgets models that are no longer in the fleet.
func (q *IdleTracker) look(fleet []scaling.ModelVariants, snapshots []scaling.Snapshot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	there := make(map[scaling.ModelKey]*idleModel, len(fleet))
	for _, m := range fleet {
		if r := q.models[m.Model]; r != nil {
			there[m.Model] = r
		}
	}
	for _, s := range snapshots {
		r := q.models[s.Model]
		if r == nil {
			r = &idleModel{}
		}
		s.Load.Recent = r.before
		r.Activity = r.Then(s)
		there[s.Model] = r
	}
	q.models = there
}

// span returns how far back before now the source must be asked. It is 0 where the model is not
// idle, and where it is known since when it is idle and the window reaches back to the last fetch.
func (r *idleModel) span(now time.Time, window, retention time.Duration) time.Duration {
	if r.Life != scaling.LifeIdle || r.IdleSince.IsZero() {
		return 0
	}
	told := !r.before.Until.IsZero() && !r.IdleSince.After(r.before.Until)
	reaches := !r.Until.Before(now.Add(-window + window/windowScrapes))
	switch {
	case !told:
		return memory.Activity{Seen: r.Seen}.Recall(now, retention)
	case reaches:
		return 0
	}
	return r.Recall(now, retention)
}

// wanting returns the models to ask about, those that were not asked about for longest first.
// window returns the window of a namespace.
func (q *IdleTracker) wanting(now time.Time, window func(namespace string) time.Duration) []idler {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []idler
	for model, r := range q.models {
		over := window(model.Namespace)
		if span := r.span(now, over, q.retention(model)); span > 0 {
			all = append(all, idler{model: model, span: span, window: over, asked: r.asked, active: r.active})
		}
	}
	slices.SortFunc(all, func(a, b idler) int { return cmp.Or(a.asked.Compare(b.asked), a.model.Compare(b.model)) })
	return all
}

// offer hands an inquiry to Run, and drops it while Run is busy: the next fetch offers another.
func (q *IdleTracker) offer(i inquiry) {
	if len(i.of) == 0 {
		return
	}
	q.pending.Add(1)
	select {
	case q.inquiries <- i:
	default:
		q.pending.Done()
	}
}

// Wait returns when the inquiry of the last fetch is answered. It is for callers that set the
// clocks, for which no time passes between two fetches.
func (q *IdleTracker) Wait() { q.pending.Wait() }

// Run asks the inquiries of the fetches until ctx ends.
func (q *IdleTracker) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case i := <-q.inquiries:
			q.pursue(ctx, i)
			q.pending.Done()
		}
	}
}

// pursue asks about as many models as there is room for: first which were idle throughout, as most
// idle models are, then since when the others are idle.
func (q *IdleTracker) pursue(ctx context.Context, i inquiry) {
	var whole, parts []idler
	for _, m := range i.of {
		if m.active {
			parts = append(parts, m)
		} else {
			whole = append(whole, m)
		}
	}
	room := q.size() / 2
	for _, batch := range batches(whole, room, i.throughout) {
		parts = append(parts, q.put(ctx, i, batch, true)...)
	}
	for _, batch := range batches(parts, room, i.since) {
		q.put(ctx, i, batch, false)
	}
}

// put asks about models with one span, and returns those that were not idle for the whole span.
func (q *IdleTracker) put(ctx context.Context, i inquiry, batch []idler, whole bool) []idler {
	if ctx.Err() != nil {
		return nil
	}
	request := i.request
	request.Span, request.Window, request.Whole = batch[0].span, batch[0].window, whole
	for _, m := range batch {
		request.Models, request.Namespaces = append(request.Models, m.model.ID), append(request.Namespaces, m.model.Namespace)
	}
	request.Models, request.Namespaces = sorted(request.Models), sorted(request.Namespaces)
	got := i.ask(ctx, request)
	since := map[scaling.ModelKey]time.Time{}
	for _, row := range got.Rows {
		model := scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}
		if at := instant(row.Value); !math.IsNaN(at) && since[model].Before(i.shown(at)) {
			since[model] = i.shown(at)
		}
	}
	return q.answered(i, batch, whole, got, since)
}

// answered takes over an answer, and returns the models that a whole answer leaves out.
func (q *IdleTracker) answered(i inquiry, batch []idler, whole bool, got answer, since map[scaling.ModelKey]time.Time) (rest []idler) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if got.err != nil || got.took > slow {
		q.room = max(q.room/2, leastRoom)
	} else if got.took < slow/4 {
		q.room = min(q.room*2, mostRoom)
	}
	for _, m := range batch {
		r := q.models[m.model]
		if r == nil {
			continue // it is gone
		}
		at, told := since[m.model]
		switch {
		case told:
			r.before = scaling.Recent{Requests: scaling.Measured(0, scaling.Fresh), Since: at, Until: m.until}
			r.Activity, r.active = r.With(r.before), false
		case whole && got.err == nil:
			r.active = true
			rest = append(rest, m)
			continue // it keeps its turn until asked since when it is idle
		}
		r.asked = i.at
	}
	return rest
}

// size returns the cost limit of one inquiry, in samples.
func (q *IdleTracker) size() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.room
}

// look shows the IdleTracker the answers of a fetch.
func (c *Collector) look(e fetchPlan, pods podIndex, sheets map[scaling.ModelKey]*modelAnswer) {
	if c.opts.Idle == nil {
		return
	}
	now := c.clock.Now()
	var snapshots []scaling.Snapshot
	for _, model := range e.fleet.Models() {
		if s := sheets[model.Model]; s != nil {
			snap := s.snapshot(e.fleet.At, model, pods, now, c.opts.Backend)
			c.atGate(&snap)
			snapshots = append(snapshots, snap)
		}
	}
	c.opts.Idle.look(e.served, snapshots)
}
