package ledger

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Ledger holds the latest record and the history between cycles. The zero value is not
// usable; see New. It is safe for concurrent use: records are never modified, so a reader
// may keep one.
type Ledger struct {
	mu         sync.RWMutex
	record     memory.Record
	recorded   bool
	history    memory.History
	analyzedAt map[scaling.VariantKey]time.Time
	heldSince  map[scaling.VariantKey]time.Time // when a fallback without a known analysis began
	variants   map[scaling.VariantKey]int       // index into record.Fleet.Variants
	decisions  map[scaling.VariantKey]int       // index into record.Plan.Decisions
	ofModel    map[scaling.ModelKey][]scaling.Decision
	changed    map[scaling.VariantKey]explain.Change
	watchers   []chan struct{}
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{
		history: memory.History{}, analyzedAt: map[scaling.VariantKey]time.Time{}, heldSince: map[scaling.VariantKey]time.Time{},
		changed: map[scaling.VariantKey]explain.Change{},
	}
}

// Record stores the outcome of a cycle and wakes the watchers.
func (l *Ledger) Record(r memory.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record, l.recorded = r, true
	l.variants = make(map[scaling.VariantKey]int, len(r.Fleet.Variants))
	for i, v := range r.Fleet.Variants {
		l.variants[v.Key] = i
	}
	l.decisions = make(map[scaling.VariantKey]int, len(r.Plan.Decisions))
	l.ofModel = map[scaling.ModelKey][]scaling.Decision{}
	for i, d := range r.Plan.Decisions {
		l.decisions[d.Variant] = i
		l.ofModel[d.Model] = append(l.ofModel[d.Model], d)
		if !d.Fallback {
			l.analyzedAt[d.Variant] = r.Plan.At
		} else if l.heldSince[d.Variant].IsZero() {
			l.heldSince[d.Variant] = r.Plan.At
		}
		if c, known := l.changed[d.Variant]; !known || c.To != d.Target() {
			l.changed[d.Variant] = explain.Change{Cycle: r.Cycle, To: d.Target(), Cause: d.Cause()}
		}
	}
	l.history = maps.Clone(r.History)
	gone := func(k scaling.VariantKey, _ time.Time) bool {
		_, lives := l.variants[k]
		return !lives
	}
	maps.DeleteFunc(l.analyzedAt, gone)
	maps.DeleteFunc(l.changed, func(k scaling.VariantKey, _ explain.Change) bool { return gone(k, time.Time{}) })
	maps.DeleteFunc(l.heldSince, func(k scaling.VariantKey, at time.Time) bool {
		return gone(k, at) || !l.analyzedAt[k].IsZero()
	})
	for _, w := range l.watchers {
		select {
		case w <- struct{}{}:
		default: // the watcher has not yet read the last notice, which says the same
		}
	}
}

// Restore stores the last decision of an earlier process, unless this one has decided
// already. So the first cycle after a restart starts from the last decision. analyzedAt is
// zero for a fallback, which is then as old as the decision in p.
func (l *Ledger) Restore(key scaling.VariantKey, p memory.Past, analyzedAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.history[key]; ok || l.recorded {
		return
	}
	l.history[key] = p
	if !analyzedAt.IsZero() {
		l.analyzedAt[key] = analyzedAt
	} else {
		l.heldSince[key] = p.DecidedAt
	}
}

// RestoreFits stores the fits of an earlier process, unless this one has decided already.
// Call it after Restore. For a variant that served several models the latest fit counts; if
// the variant serves another model now, the first cycle forgets it.
func (l *Ledger) RestoreFits(of map[scaling.ModelKey]memory.VariantFits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recorded {
		return
	}
	for _, model := range slices.SortedFunc(maps.Keys(of), scaling.ModelKey.Compare) {
		for name, f := range of[model] {
			key := scaling.VariantKey{Namespace: model.Namespace, Name: name}
			if p := l.history[key]; p.Model == (scaling.ModelKey{}) || f.At.After(p.Fit.At) {
				p.Model, p.Fit = model, f
				l.history[key] = p
			}
		}
	}
}

// Fits returns the fits of each model.
func (l *Ledger) Fits() map[scaling.ModelKey]memory.VariantFits {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := map[scaling.ModelKey]memory.VariantFits{}
	for key, p := range l.history {
		if !p.Fit.Seen() {
			continue
		}
		if out[p.Model] == nil {
			out[p.Model] = memory.VariantFits{}
		}
		out[p.Model][key.Name] = p.Fit
	}
	return out
}

// History returns a copy of the history of each variant.
func (l *Ledger) History() memory.History {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(l.history)
}

// Latest returns the last record, and false while there is none.
func (l *Ledger) Latest() (memory.Record, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.record, l.recorded
}

// AgesFrom returns the time from which the age of the decision for a variant counts: the
// time of the last analysis behind it; where none is known, the start of the fallback; zero
// without a decision. It does not change while a fallback lasts.
func (l *Ledger) AgesFrom(key scaling.VariantKey) time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if at := l.analyzedAt[key]; !at.IsZero() {
		return at
	}
	return l.heldSince[key]
}

// Explain returns the explanation of the last decision of a variant, and false when no
// cycle has seen the variant.
func (l *Ledger) Explain(key scaling.VariantKey) (explain.Explanation, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	i, ok := l.variants[key]
	if !ok {
		return explain.Explanation{}, false
	}
	v := l.record.Fleet.Variants[i]
	e := explain.Explanation{
		Cycle: l.record.Cycle, At: l.record.Plan.At, Interval: explain.Duration(l.record.Interval),
		AnalyzedAt: l.analyzedAt[key], Variant: v, Past: l.history[key],
	}
	if d, decided := l.decisions[key]; decided {
		e.Decision, e.Decided, e.Changed = l.record.Plan.Decisions[d], true, l.changed[key]
	}
	e.Snapshot, _ = l.record.Snapshot(v.Model)
	part := v.PartOf(e.Snapshot.Variants)
	e.Analysis, _ = l.record.Analysis(part)
	e.Sizing, _ = l.record.By(part, queueing.Name)
	e.Model = slices.Clip(l.ofModel[v.Model])
	return e, true
}

// Watch returns a channel that receives after every Record. Unread notices are combined
// into one.
func (l *Ledger) Watch() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := make(chan struct{}, 1)
	l.watchers = append(l.watchers, w)
	return w
}
