package scrape

import (
	"fmt"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// store keeps the history of every target. It is safe for concurrent use.
type store struct {
	job      string
	interval time.Duration
	layouts  layouts

	mu      sync.RWMutex
	pods    map[Target]*history
	pickers map[Target]*history
	models  map[podKey]string // see view
	outcome outcome
}

// outcome is how the last round of scrapes went.
type outcome struct {
	targets, failed int
	first           error // of those that failed
}

func newStore(job string, interval time.Duration) *store {
	return &store{job: job, interval: interval, pods: map[Target]*history{}, pickers: map[Target]*history{}}
}

// span is how far back pages are kept: what the longest question looks back,
// and two pages more for its beginning.
func (s *store) span() time.Duration {
	const scrapesOfWindow = 4
	return query.QuietSpan(max(time.Minute, scrapesOfWindow*s.interval)) + 2*s.interval
}

// kind tells serving pods from endpoint pickers.
type kind uint8

const (
	servingPod kind = iota
	endpointPicker
)

// histories returns the map of a kind. The lock is held by the caller.
func (s *store) histories(k kind) map[Target]*history {
	if k == endpointPicker {
		return s.pickers
	}
	return s.pods
}

// add records a page of a target, if it is still one.
func (s *store) add(k kind, t Target, at time.Time, points []point) {
	l, values := s.layouts.of(points)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.histories(k)[t]; ok {
		h.add(page{at: at, layout: l, values: values}, s.span())
	}
}

// fail records that a target could not be scraped.
func (s *store) fail(k kind, t Target, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.histories(k)[t]; ok {
		h.fail(at)
	}
}

// retain makes targets those of a kind: new ones begin without history, and what
// is none any more is forgotten.
func (s *store) retain(k kind, targets []Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.histories(k)
	now := make(map[Target]bool, len(targets))
	for _, t := range targets {
		now[t] = true
		if _, ok := held[t]; !ok {
			held[t] = &history{}
		}
	}
	for t := range held {
		if !now[t] {
			delete(held, t)
		}
	}
}

// speakFor makes the pickers speak for pods.
func (s *store) speakFor(pods []Target) {
	models := make(map[podKey]string, len(pods))
	for _, t := range pods {
		models[podKey{t.Namespace, t.Pod}] = t.Model
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = models
}

// finish ends a round: it notes how it went and forgets layouts out of use.
func (s *store) finish(o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome = o
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

// view returns what is known now, or an error when nothing can be scraped.
func (s *store) view() (view, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if o := s.outcome; o.targets > 0 && o.failed == o.targets {
		return view{}, fmt.Errorf("%w: all %d failed, the first with: %w", errNothing, o.targets, o.first)
	}
	v := view{job: s.job, interval: s.interval, models: s.models}
	for t, h := range s.pods {
		v.pods = append(v.pods, scraped{t, h.clone()})
	}
	for t, h := range s.pickers {
		v.pickers = append(v.pickers, scraped{t, h.clone()})
	}
	v.sort()
	return v, nil
}
