package scrape

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

// errOverBudget is the error of a page that is not kept because those of its namespace together are
// too many or too large.
var errOverBudget = errors.New("the namespace is over its budget")

const (
	// keptForEach is the allowance for each target in addition to the budget of its namespace, in
	// bytes: the pages of a pod with one rank of vLLM take less.
	keptForEach = 128 << 10
	// seriesForEach is the allowance of series for each target in addition to the budget of its
	// namespace: one rank of vLLM has less than a hundred that are read.
	seriesForEach = 256
	// fullShares is how many namespaces may use their whole budget of bytes at once.
	fullShares = 4
)

// share is the total of the targets of one namespace.
type share struct {
	targets int
	weight  int // bytes of their pages
	series  int // of their latest pages
}

// excess returns the bytes beyond the allowances of the targets; it may be negative.
func (s *share) excess() int { return s.weight - keptForEach*s.targets }

// enter counts a new target of a namespace. The caller holds the lock, as for all methods below but
// leftOut.
func (s *store) enter(namespace string) {
	if s.shares[namespace] == nil {
		s.shares[namespace] = &share{}
	}
	s.shares[namespace].targets++
}

// leave drops a target from the count of its namespace.
func (s *store) leave(t Target, h *history) {
	s.change(t, h, func() { h.pages = nil })
	if sh := s.shares[t.Namespace]; sh.targets > 1 {
		sh.targets--
	} else {
		delete(s.shares, t.Namespace)
	}
}

// change updates the counts for a target whose pages happens changes.
func (s *store) change(t Target, h *history, happens func()) {
	sh, series := s.shares[t.Namespace], h.series()
	happens()
	now := h.bytes()
	sh.series += h.series() - series
	sh.weight += now - h.weight
	s.weight += now - h.weight
	h.weight = now
}

// lighten drops pages after one of a namespace was added, the older half of the heaviest target's
// at a time: the user who deployed a pod controls its page, and the page may hold other series each
// time. While the namespace is over its budget, lighten drops pages of that namespace; and while
// all pages take more than fullShares budgets, pages of the namespace that exceeds its allowances
// the most. A target without any page left has failed. It reports whether it dropped any.
func (s *store) lighten(namespace string, at time.Time) (dropped bool) {
	for ; s.shares[namespace].excess() > s.limits.PageBytes; dropped = true {
		s.halve(namespace, at)
	}
	for ; s.weight > fullShares*s.limits.PageBytes+keptForEach*(len(s.pods)+len(s.pickers)); dropped = true {
		furthest, most := "", 0
		for name, sh := range s.shares {
			if over := sh.excess(); over > most || over == most && name < furthest {
				furthest, most = name, over
			}
		}
		s.halve(furthest, at)
	}
	return dropped
}

// halve drops the older half of the pages of the heaviest target of a namespace.
func (s *store) halve(namespace string, at time.Time) {
	var of Target
	var heaviest *history
	for _, held := range []map[Target]*history{s.pods, s.pickers} {
		for t, h := range held {
			if t.Namespace == namespace && (heaviest == nil || h.weight > heaviest.weight || h.weight == heaviest.weight && compareTargets(t, of) < 0) {
				of, heaviest = t, h
			}
		}
	}
	n := len(heaviest.pages)
	s.change(of, heaviest, func() { heaviest.pages = slices.Delete(heaviest.pages, 0, (n+1)/2) })
	if n == 1 {
		heaviest.fail(at, fmt.Errorf("%w: the pages of namespace %s take more than %d bytes together (%s)",
			errOverBudget, namespace, s.limits.PageBytes, budget.PageBytes.Setting()))
	}
	heaviest.beyond, heaviest.halved = budget.PageBytes, at
}

// leftOut returns the number of targets with missing pages at an instant, by the exceeded limit and
// by namespace. A dropped page is missing for as long as it would have been kept.
func (s *store) leftOut(at time.Time) map[budget.What]map[string]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	counts := map[budget.What]map[string]int{budget.PageBytes: {}, budget.Series: {}}
	for _, held := range []map[Target]*history{s.pods, s.pickers} {
		for t, h := range held {
			missed := !h.failed.IsZero() || !h.halved.IsZero() && at.Sub(h.halved) < s.span()
			if h.beyond != "" && missed {
				counts[h.beyond][t.Namespace]++
			}
		}
	}
	return counts
}
