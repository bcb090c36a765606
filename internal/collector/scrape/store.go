package scrape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// store keeps the history of every target. It is safe for concurrent use.
type store struct {
	job      string
	interval time.Duration
	prefixes query.Prefixes // of vLLM's metrics
	layouts  layouts
	signs    map[kind]signs

	mu      sync.RWMutex
	pods    map[Target]*history
	pickers map[Target]*history
	models  map[podKey]string // see view
	gone    map[modelKey]time.Time
	// unlisted is why the last round did not know its targets, nil if it did.
	unlisted error
	limits   budget.Limits
	shares   map[string]*share // of namespaces with targets
	weight   int               // approximate bytes of all pages
}

func newStore(o Options) *store {
	return &store{
		job: o.Name, interval: o.Interval, prefixes: o.Prefixes, pods: map[Target]*history{}, pickers: map[Target]*history{}, gone: map[modelKey]time.Time{},
		signs:  map[kind]signs{servingPod: podSigns(o.Prefixes), endpointPicker: pickerSigns()},
		limits: o.Limits.OrDefault(), shares: map[string]*share{},
	}
}

// span returns how far back pages are kept: the look-back of the longest question, and two pages
// more for its beginning.
func (s *store) span() time.Duration {
	return query.StuckSpan(s.longestGap()) + 2*s.interval
}

// kind distinguishes serving pods from endpoint pickers.
type kind uint8

const (
	servingPod kind = iota
	endpointPicker
)

// histories returns the map of a kind. The caller holds the lock.
func (s *store) histories(k kind) map[Target]*history {
	if k == endpointPicker {
		return s.pickers
	}
	return s.pods
}

// add records a page of a target, if it still is a target and its namespace has room for the
// series.
func (s *store) add(t task, at time.Time, points []point) {
	if len(points) > s.room(t) {
		s.refuse(t, at)
		return
	}
	l, values := s.layouts.of(points)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.histories(t.kind)[t.target.key()]; ok {
		p := onePage{at: at, layout: l, values: values}
		if n := len(h.pages); n == 0 || at.Sub(h.pages[n-1].at) > s.longestGap() || s.signs[t.kind].on(p, h.pages[n-1]) {
			h.idleSince = at
		}
		s.change(t.target, h, func() { h.add(p, s.span()) })
		if s.lighten(t.target.Namespace, at) {
			s.forgetUnused()
		}
	}
}

// room returns how many series the page of a target may have, beside the latest pages of the other
// targets of its namespace.
func (s *store) room(t task) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, ok := s.histories(t.kind)[t.target.key()]
	if !ok {
		return maxSeries
	}
	sh := s.shares[t.target.Namespace]
	return s.limits.Series + seriesForEach*sh.targets - (sh.series - h.series())
}

// refuse records that the page of a target has more series than there is room for.
func (s *store) refuse(t task, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.histories(t.kind)[t.target.key()]; ok {
		h.fail(at, fmt.Errorf("%w: the pages of namespace %s hold more than %d series together, and %d for each pod (%s)",
			errOverBudget, t.target.Namespace, s.limits.Series, seriesForEach, budget.Series.Setting()))
		h.beyond = budget.Series
	}
}

// fail records that a target could not be scraped, and why.
func (s *store) fail(t task, at time.Time, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.histories(t.kind)[t.target.key()]; ok {
		h.fail(at, cause)
	}
}

// take reports whether a target is to be scraped in a round, and marks it as under way then. It is
// not while it is still under way, nor in every round while it fails.
func (s *store) take(t task, round int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.histories(t.kind)[t.target.key()]
	if !ok || h.underWay || !h.due(round) {
		return false
	}
	h.underWay = true
	return true
}

// release ends what take began.
func (s *store) release(t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.histories(t.kind)[t.target.key()]; ok {
		h.underWay = false
	}
}

// retain sets the targets of a kind: new ones begin without history, and the history of others is
// dropped.
func (s *store) retain(k kind, targets []Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.histories(k)
	now := make(map[Target]bool, len(targets))
	for _, t := range targets {
		now[t.key()] = true
		if _, ok := held[t.key()]; !ok {
			held[t.key()] = &history{}
			s.enter(t.Namespace)
		}
		held[t.key()].starting = t.Starting
	}
	for t, h := range held {
		if !now[t] {
			s.part(t, h)
			s.leave(t, h)
			delete(held, t)
		}
	}
}

// part remembers when a target that ended last showed a request of its models, which other pods may
// still serve. The caller holds the lock.
func (s *store) part(t Target, h *history) {
	if len(h.pages) == 0 {
		return
	}
	for _, engine := range query.Engines() {
		for _, model := range models(h.pages[len(h.pages)-1], engine.Witnesses(s.prefixes)) {
			if k := (modelKey{namespace: t.Namespace, model: model}); h.idleSince.After(s.gone[k]) {
				k.model = strings.Clone(k.model) // so that it does not hold the text of the page
				s.gone[k] = h.idleSince
			}
		}
	}
	s.boundGone(t.Namespace)
}

// mostGone limits what is remembered of the models of ended pods, in bytes for each namespace:
// their names, and goneEntry for each.
const (
	mostGone  = 128 << 10
	goneEntry = 128
)

// boundGone forgets models of ended pods in a namespace, those that were idle for longest first,
// until the rest is within mostGone. The caller holds the lock.
func (s *store) boundGone(namespace string) {
	weight := 0
	var of []modelKey
	for k := range s.gone {
		if k.namespace == namespace {
			weight += goneEntry + len(k.model)
			of = append(of, k)
		}
	}
	if weight <= mostGone {
		return
	}
	slices.SortFunc(of, func(a, b modelKey) int { return cmp.Or(s.gone[a].Compare(s.gone[b]), compareModel(a, b)) })
	for _, k := range of {
		if weight <= mostGone {
			return
		}
		weight -= goneEntry + len(k.model)
		delete(s.gone, k)
	}
}

// listed records why a round did not know its targets, nil if it did.
func (s *store) listed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlisted = err
}

// speakFor sets the pods for which the pickers report.
func (s *store) speakFor(pods []Target) {
	models := make(map[podKey]string, len(pods))
	for _, t := range pods {
		models[podKey{t.Namespace, t.Pod}] = t.Model
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = models
}

// forgetLayouts forgets the layouts that no page has any more.
func (s *store) forgetLayouts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetUnused()
}

// forgetUnused is forgetLayouts for a caller that holds the lock: a page that a budget drops must
// not stay in memory through its layout until the round ends.
func (s *store) forgetUnused() {
	used := map[*layout]bool{}
	for _, held := range []map[Target]*history{s.pods, s.pickers} {
		for _, h := range held {
			for _, p := range h.pages {
				used[p.layout] = true
			}
		}
	}
	s.layouts.keep(used)
}

// fault returns why every scrape failed or no target is known, nil otherwise. The caller holds the
// lock.
func (s *store) fault() error {
	tried, failed := 0, 0
	var first Target
	var cause error
	for _, held := range []map[Target]*history{s.pods, s.pickers} {
		for t, h := range held {
			if h.starting || h.failed.IsZero() && len(h.pages) == 0 {
				continue
			}
			tried++
			if h.failed.IsZero() {
				continue
			}
			failed++
			if cause == nil || compareTargets(t, first) < 0 {
				first, cause = t, h.cause
			}
		}
	}
	switch {
	case tried == 0:
		return s.unlisted
	case failed == tried:
		return fmt.Errorf("%w: all %d failed, the first with: %w", errNothing, tried, cause)
	}
	return nil
}

// view returns the present content of the store, or the error of fault.
func (s *store) view() (view, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.fault(); err != nil {
		return view{}, err
	}
	v := view{job: s.job, interval: s.interval, prefixes: s.prefixes, models: s.models, gone: maps.Clone(s.gone)}
	for t, h := range s.pods {
		v.pods = append(v.pods, scraped{t, h.clone()})
	}
	for t, h := range s.pickers {
		v.pickers = append(v.pickers, scraped{t, h.clone()})
	}
	v.sort()
	return v, nil
}
