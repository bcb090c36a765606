package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Limits of the questions to a store.
const (
	storeLimit    = 15 * time.Second // for an answer
	storePause    = 30 * time.Second // until a failed question is repeated
	storeWait     = 2 * time.Second  // of a page for an answer; a later answer is announced
	storeAtOnce   = 2                // questions
	mostStretches = 64               // answers that are kept
	mostRows      = 400              // of an answer for a model with few variants
	fewestRows    = 60               // of an answer for one with many
	mostValues    = 400_000          // of an answer; fewestRows may exceed it
)

// Past reads from a store the time before the memory of the manager that answers. It asks one
// question for each model and time that a page shows, and keeps the answers. It is safe for
// concurrent use.
type Past struct {
	store query.Store
	name  string
	clock clock.WithTicker
	turn  chan struct{}

	mu   sync.Mutex
	kept []*stretch // the last used one is the last
	told func()     // called when an answer comes after a page stopped waiting
}

// NewPast returns a Past of a store, which the pages show by name.
func NewPast(s query.Store, name string, c clock.WithTicker) *Past {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Past{store: s, name: name, clock: c, turn: make(chan struct{}, storeAtOnce), told: func() {}}
}

// stretch is a model over a time, in steps. rows and err may be read once done is closed.
type stretch struct {
	model       scaling.ModelKey
	step        time.Duration
	from, until time.Time
	done        chan struct{}
	rows        storedRows
	err         error
	ended       time.Time // when the answer came
	awaited     bool      // a page stopped waiting for it
}

// covers reports whether s answers a question.
func (s *stretch) covers(of scaling.ModelKey, step time.Duration, from, until time.Time) bool {
	return s.model == of && s.step == step && !from.Before(s.from) && !until.After(s.until)
}

// before adds to the manager's history of a model the rows of the store before it, from an instant
// on.
func (p *Past) before(ctx context.Context, h history.ModelHistory, of scaling.ModelKey, from time.Time) history.ModelHistory {
	until := h.To.Time
	if begins := h.Begins.Time; !begins.IsZero() && begins.Before(until) {
		until = begins
	}
	if from.IsZero() || !from.Before(until) {
		return h
	}
	step := stepOf(h.To.Sub(from), len(h.Variants))
	h.Before = history.Before{Source: p.name, Step: step.Seconds()}
	// The last row is the one before until: a later leader may have the time after it.
	s := p.ask(of, step, from.Truncate(step), until) //nolint:contextcheck // others may wait for the same answer
	timer := p.clock.NewTimer(storeWait)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C():
		return p.late(s, h, from, until)
	case <-ctx.Done():
		return p.late(s, h, from, until)
	}
	return p.with(s, h, from, until)
}

// late returns h marked as pending, unless the store has answered by now.
func (p *Past) late(s *stretch, h history.ModelHistory, from, until time.Time) history.ModelHistory {
	p.mu.Lock()
	s.awaited = s.ended.IsZero()
	p.mu.Unlock()
	if !s.awaited {
		return p.with(s, h, from, until)
	}
	h.Before.Pending = true
	return h
}

// with returns h with the rows of a stretch that is done, or with its error.
func (p *Past) with(s *stretch, h history.ModelHistory, from, until time.Time) history.ModelHistory {
	if s.err != nil {
		h.Before.Trouble = s.err.Error()
		return h
	}
	return s.rows.before(h, s.model, from, until)
}

// ask returns the stretch that answers a question, and starts to read it where none is kept.
func (p *Past) ask(of scaling.ModelKey, step time.Duration, from, until time.Time) *stretch {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	for i, s := range p.kept {
		if s.covers(of, step, from, until) && (s.err == nil || s.ended.IsZero() || now.Sub(s.ended) < storePause) {
			p.kept = append(slices.Delete(p.kept, i, i+1), s)
			return s
		}
	}
	p.kept = slices.DeleteFunc(p.kept, func(s *stretch) bool { return s.model == of && s.step == step && !s.ended.IsZero() })
	if n := len(p.kept) - mostStretches + 1; n > 0 {
		p.kept = slices.Delete(p.kept, 0, n)
	}
	s := &stretch{model: of, step: step, from: from, until: until, done: make(chan struct{})}
	p.kept = append(p.kept, s)
	go p.read(s)
	return s
}

// read reads a stretch, and announces it if a page stopped waiting for it.
func (p *Past) read(s *stretch) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	ctx, stop := context.WithTimeout(context.Background(), storeLimit)
	defer stop()
	// It also reads the step before from: whether a range includes its first instant depends on the
	// store's version.
	series, err := p.store.Range(ctx, storedOf(s.model), s.from.Add(-s.step), s.until.Truncate(s.step), s.step)
	rows := rowsOf(series, s.from, s.until, s.step)
	p.mu.Lock()
	s.rows, s.err, s.ended = rows, err, p.clock.Now()
	awaited, told := s.awaited, p.told
	p.mu.Unlock()
	close(s.done)
	if awaited {
		told()
	}
}

// tell sets f as the function to call when an answer comes after a page stopped waiting.
func (p *Past) tell(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = f
}

// stepOf returns the time between the rows of a span of time. More variants get fewer rows.
func stepOf(width time.Duration, variants int) time.Duration {
	rows := max(fewestRows, min(mostRows, mostValues/(len(storedMetrics)*max(1, variants))))
	for _, step := range []time.Duration{
		15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
		30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if width <= step*time.Duration(rows) {
			return step
		}
	}
	const day = 24 * time.Hour
	return max(day, (width/time.Duration(rows)).Truncate(day)+day)
}

// before prepends to h the rows from one instant until another.
func (r storedRows) before(h history.ModelHistory, of scaling.ModelKey, from, until time.Time) history.ModelHistory {
	a, _ := slices.BinarySearchFunc(r.t, from, time.Time.Compare)
	b, _ := slices.BinarySearchFunc(r.t, until, time.Time.Compare)
	for a < b && !r.decided(a) {
		a++
	}
	if a == b {
		h.Before.Trouble = fmt.Sprintf("it has no series of the model from %s to %s", from.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
		return h
	}
	step := time.Duration(h.Before.Step * float64(time.Second))
	h.Before.From, h.Before.Until = history.At(r.t[a]), history.At(until)
	h.Begins, h.Complete = h.Before.From, !r.t[a].After(from.Add(2*step))
	own, t := len(h.T), make([]history.Time, 0, b-a+len(h.T))
	for _, at := range r.t[a:b] {
		t = append(t, history.At(at))
	}
	h.T = append(t, h.T...)
	unknown := slices.Repeat(history.Column{math.NaN()}, b-a)
	for _, c := range []*history.Column{&h.Utilization, &h.Waiting, &h.TTFT, &h.Missed} {
		*c = slices.Concat(unknown, *c)
	}
	h.Load = slices.Concat(r.load[a:b], h.Load)
	h.ITL = slices.Concat(r.itl[a:b], h.ITL)
	h.Cost = slices.Concat(r.cost[a:b], h.Cost)
	h.Variants = r.variantsBefore(h.Variants, of, a, b, own)
	return h
}

// variantsBefore prepends the rows a to b to variants, of which the manager has own rows, and adds
// the variants that only the store has.
func (r storedRows) variantsBefore(variants []history.VariantHistory, of scaling.ModelKey, a, b, own int) []history.VariantHistory {
	out, found := make([]history.VariantHistory, 0, len(variants)), map[string]bool{}
	unknown, none := slices.Repeat(history.Column{math.NaN()}, b-a), make(history.Column, b-a)
	add := func(v history.VariantHistory, s *storedVariant) {
		before := storedVariant{desired: none, current: none, ready: none}
		if s != nil {
			before = storedVariant{desired: s.desired[a:b], current: s.current[a:b], ready: s.ready[a:b]}
		}
		v.Desired, v.Current, v.Ready = slices.Concat(before.desired, v.Desired), slices.Concat(before.current, v.Current), slices.Concat(before.ready, v.Ready)
		v.Serving, v.Draining = slices.Concat(unknown, v.Serving), slices.Concat(unknown, v.Draining)
		out = append(out, v)
	}
	for _, v := range variants {
		label := labelOf(v.Name)
		found[label] = true
		add(v, r.variants[label])
	}
	for label, s := range r.variants {
		if found[label] || !anyKnown(s.desired[a:b]) {
			continue
		}
		ended := make(history.Column, own) // the manager has not seen it, so it ended before
		add(history.VariantHistory{Namespace: of.Namespace, Name: label, Desired: ended, Current: ended, Ready: ended, Serving: ended, Draining: ended}, s)
	}
	slices.SortFunc(out, func(a, b history.VariantHistory) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func anyKnown(c history.Column) bool {
	return slices.ContainsFunc(c, func(v float64) bool { return !math.IsNaN(v) && v != 0 })
}
