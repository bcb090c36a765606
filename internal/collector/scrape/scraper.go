package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxSeries limits the series that are kept of a page, which the user who deployed its pod
// controls. A rank of vLLM has less than a hundred that are wanted, an endpoint picker some ten for
// each flow.
const maxSeries = 16_384

// largePage is the size in bytes beyond which pages are parsed one at a time: parsing takes ten
// times as much memory.
const largePage = 256 << 10

// task is one page to scrape.
type task struct {
	kind   kind
	target Target
}

// Run scrapes every target once per interval until ctx ends; it returns nil then, when the last
// scrape has ended. It spreads the pages of a round over half of the interval, always in the same
// order, so that the time between two scrapes of a page is steady. It may be called once.
func (s *Source) Run(ctx context.Context) error {
	defer s.underWay.Wait()
	for round := 0; ; round++ {
		next := s.clock.Now().Add(s.options.Interval)
		ended := s.round(ctx, round)
		if round == 0 {
			s.awaitFirst(ctx, ended)
		}
		if !s.pause(ctx, next) {
			return nil
		}
	}
}

// awaitFirst opens Ask when the first round has ended, or after twice the timeout, which it exceeds
// only where pages wait for others that do not answer.
func (s *Source) awaitFirst(ctx context.Context, ended <-chan struct{}) {
	timer := s.clock.NewTimer(2 * s.options.Timeout)
	select {
	case <-ended:
	case <-timer.C():
	case <-ctx.Done():
	}
	timer.Stop() // once Ask answers, only the next round has a timer
	if ctx.Err() == nil {
		close(s.first)
	}
}

// pause waits until an instant, and reports false where ctx ended before.
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

// round begins to scrape every target that is due and not under way, and returns a channel that is
// closed when those have ended. A page that does not answer holds up no other page: it does not
// delay the next round, takes no more than its namespace's share of the slots, and is scraped more
// rarely while it fails.
func (s *Source) round(ctx context.Context, round int) <-chan struct{} {
	tasks := s.tasks(ctx, round)
	var group sync.WaitGroup
	start := s.clock.Now()
	for i, t := range tasks {
		due := start.Add(s.options.Interval / 2 * time.Duration(i) / time.Duration(len(tasks)))
		// In the first round the caller is waiting.
		if round > 0 && due.After(s.clock.Now()) && !s.pause(ctx, due) {
			break
		}
		group.Add(1)
		s.underWay.Go(func() {
			defer group.Done()
			defer s.store.release(t)
			if s.enter(ctx, t.target.Namespace) {
				defer s.leave(t.target.Namespace)
				s.scrape(ctx, t)
			}
		})
	}
	s.store.forgetLayouts()
	s.options.LeftOut(s.store.leftOut(s.clock.Now()))
	ended := make(chan struct{})
	s.underWay.Go(func() {
		group.Wait()
		close(ended)
	})
	return ended
}

// enter waits for a slot of a namespace, then for one of all, and reports false where ctx ended
// before.
func (s *Source) enter(ctx context.Context, namespace string) bool {
	share := s.share(namespace)
	select {
	case share <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		<-share
		return false
	}
}

// leave gives both slots back.
func (s *Source) leave(namespace string) {
	<-s.slots
	<-s.share(namespace)
}

// share returns the slots of a namespace: a quarter of all.
func (s *Source) share(namespace string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	share, ok := s.shares[namespace]
	if !ok {
		share = make(chan struct{}, max(1, s.options.Concurrency/4))
		s.shares[namespace] = share
	}
	return share
}

// tasks returns the pages of a round in a steady order. Where a list of targets fails, its targets
// stay as they were.
func (s *Source) tasks(ctx context.Context, round int) []task {
	var tasks []task
	var unlisted error
	for _, list := range []struct {
		kind kind
		of   Targets
	}{{servingPod, s.options.Pods}, {endpointPicker, s.options.Pickers}} {
		targets, err := list.of(ctx)
		switch {
		case err != nil:
			unlisted = cmp.Or(unlisted, fmt.Errorf("listing what to scrape: %w", err))
		case list.kind == servingPod && s.options.PickersOnly:
			s.store.speakFor(targets)
		default:
			s.store.retain(list.kind, targets)
			for _, t := range targets {
				tasks = append(tasks, task{list.kind, t})
			}
		}
	}
	s.store.listed(unlisted)
	slices.SortFunc(tasks, func(a, b task) int {
		return cmp.Or(compareTargets(a.target, b.target), cmp.Compare(a.kind, b.kind))
	})
	return slices.DeleteFunc(tasks, func(t task) bool { return !s.store.take(t, round) })
}

// scrape reads one page into the store.
func (s *Source) scrape(ctx context.Context, t task) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	start := s.clock.Now().Truncate(time.Millisecond) // as a store counts
	points, err := s.read(ctx, t)
	s.options.Observe(s.clock.Since(start), err)
	if errors.Is(err, errOverBudget) {
		s.store.refuse(t, start)
		return
	}
	if err != nil {
		s.store.fail(t, start, fmt.Errorf("scraping %s/%s: %w", t.target.Namespace, t.target.Pod, err))
		return
	}
	s.store.add(t, start, points)
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
	body, series, err := wantedLines(resp.Body, s.wanted[t.kind], s.options.MaxBytes)
	switch {
	case err != nil:
		return nil, err
	case series > maxSeries: // before it is parsed, which takes a hundred times as long as to count
		return nil, fmt.Errorf("%w: %d series, and at most %d are kept", errTooLarge, series, maxSeries)
	case series > s.store.room(t):
		return nil, errOverBudget
	}
	if body.Len() > largePage {
		s.large.Lock()
		defer s.large.Unlock()
	}
	points, err := parsePage(body)
	if err != nil {
		return nil, err
	}
	if len(points) > maxSeries {
		return nil, fmt.Errorf("%w: %d series, and at most %d are kept", errTooLarge, len(points), maxSeries)
	}
	return told(points, s.infos), nil
}
