package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// task is one page to scrape.
type task struct {
	kind   kind
	target Target
}

// Run scrapes every target once per interval until ctx ends; it returns nil
// then. The pages of a round are spread over half of the interval, always in the
// same order, so that each is scraped at a steady pace. It may be called once.
func (s *Source) Run(ctx context.Context) error {
	for first := true; ; first = false {
		next := s.clock.Now().Add(s.options.Interval)
		s.round(ctx)
		if first && ctx.Err() == nil {
			close(s.first)
		}
		if !s.pause(ctx, next) {
			return nil
		}
	}
}

// pause waits until an instant; false means that ctx ended before.
func (s *Source) pause(ctx context.Context, until time.Time) bool {
	timer := s.clock.NewTimer(max(0, until.Sub(s.clock.Now())))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return ctx.Err() == nil
	}
}

// round scrapes every target once and waits for the last.
func (s *Source) round(ctx context.Context) {
	tasks, result := s.tasks(ctx)
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		slots = make(chan struct{}, s.options.Concurrency)
		start = s.clock.Now()
	)
	for i, t := range tasks {
		due := start.Add(s.options.Interval / 2 * time.Duration(i) / time.Duration(len(tasks)))
		if s.firstRound() {
			due = start // whoever asks is waiting
		}
		if due.After(s.clock.Now()) && !s.pause(ctx, due) {
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := s.scrape(ctx, t)
			mu.Lock()
			defer mu.Unlock()
			result.targets++
			if err != nil {
				result.failed++
				result.first = cmp.Or(result.first, err)
			}
		})
	}
	wg.Wait()
	s.store.finish(result)
}

// firstRound reports whether no round has ended yet.
func (s *Source) firstRound() bool {
	select {
	case <-s.first:
		return false
	default:
		return true
	}
}

// tasks returns the pages of a round in a steady order. A list that cannot be
// had leaves its targets as they were.
func (s *Source) tasks(ctx context.Context) ([]task, outcome) {
	var tasks []task
	var result outcome
	for k, list := range map[kind]Targets{servingPod: s.options.Pods, endpointPicker: s.options.Pickers} {
		targets, err := list(ctx)
		if err != nil {
			result = outcome{targets: result.targets + 1, failed: result.failed + 1, first: fmt.Errorf("listing what to scrape: %w", err)}
			continue
		}
		if k == servingPod && s.options.PickersOnly {
			s.store.speakFor(targets)
			continue
		}
		s.store.retain(k, targets)
		for _, t := range targets {
			tasks = append(tasks, task{k, t})
		}
	}
	slices.SortFunc(tasks, func(a, b task) int {
		return cmp.Or(strings.Compare(a.target.Namespace, b.target.Namespace), strings.Compare(a.target.Pod, b.target.Pod),
			strings.Compare(a.target.URL, b.target.URL), cmp.Compare(a.kind, b.kind))
	})
	return tasks, result
}

// scrape reads one page into the store.
func (s *Source) scrape(ctx context.Context, t task) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	start := s.clock.Now()
	points, err := s.read(ctx, t)
	s.options.Observe(s.clock.Since(start), err)
	if err != nil {
		s.store.fail(t.kind, t.target, start)
		return fmt.Errorf("scraping %s/%s: %w", t.target.Namespace, t.target.Pod, err)
	}
	s.store.add(t.kind, t.target, start, points)
	return nil
}

// read fetches and parses one page.
func (s *Source) read(ctx context.Context, t task) ([]point, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.target.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("the URL cannot be used: %w", err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	if t.kind == endpointPicker {
		if err := s.options.Authorize(req); err != nil {
			return nil, err
		}
	}
	resp, err := s.options.Client.Do(req)
	if err != nil {
		return nil, errors.Unwrap(err) // without the method and the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered HTTP %d", t.target.URL, resp.StatusCode)
	}
	return readPage(resp.Body, s.wanted[t.kind], s.options.MaxBytes)
}
