package collectortest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Call is one query that a Source was asked.
type Call struct {
	Quantity query.Quantity
	Expr     string
	At       time.Time
}

// Source is a collector.Source in memory. The zero value is not usable; it is
// safe for concurrent use.
type Source struct {
	numbers *regexp.Regexp            // in an expression, among them the window
	shapes  map[string]query.Quantity // by expression without its numbers

	mu      sync.Mutex
	calls   []Call
	answers map[query.Quantity][]collector.Sample
	errs    map[query.Quantity]error
	hangs   map[query.Quantity]bool
}

var _ collector.Source = (*Source)(nil)

// New returns a Source that answers every quantity with an empty vector.
func New() *Source {
	s := &Source{
		numbers: regexp.MustCompile(`[0-9]+[smhd]?`),
		shapes:  map[string]query.Quantity{},
		answers: map[query.Quantity][]collector.Sample{},
		errs:    map[query.Quantity]error{},
		hangs:   map[query.Quantity]bool{},
	}
	for _, q := range query.All() {
		s.shapes[s.shape(q.Expr(time.Minute))] = q
	}
	return s
}

// Answer adds rows to the answer for q.
func (s *Source) Answer(q query.Quantity, rows ...collector.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[q] = append(s.answers[q], rows...)
}

// Rows returns a copy of the answer for q.
func (s *Source) Rows(q query.Quantity) []collector.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.answers[q])
}

// Replace puts rows in place of the answer for q.
func (s *Source) Replace(q query.Quantity, rows []collector.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[q] = clone(rows)
}

// Fail makes q fail with err, or answer again if err is nil.
func (s *Source) Fail(q query.Quantity, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs[q] = err
}

// FailAll makes every quantity fail with err.
func (s *Source) FailAll(err error) {
	for _, q := range query.All() {
		s.Fail(q, err)
	}
}

// Hang makes q answer nothing until its context ends.
func (s *Source) Hang(q query.Quantity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs[q] = true
}

// Calls returns what was asked so far, in catalogue order within equal instants.
func (s *Source) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := slices.Clone(s.calls)
	slices.SortStableFunc(calls, func(a, b Call) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return int(a.Quantity) - int(b.Quantity)
	})
	return calls
}

// Query implements collector.Source. An expression that is not in the catalogue
// is an error.
func (s *Source) Query(ctx context.Context, expr string, at time.Time) ([]collector.Sample, error) {
	q, ok := s.shapes[s.shape(expr)]
	if !ok {
		return nil, fmt.Errorf("collectortest: not in the catalogue: %s", expr)
	}
	s.mu.Lock()
	s.calls = append(s.calls, Call{Quantity: q, Expr: expr, At: at})
	rows, err, hangs := clone(s.answers[q]), s.errs[q], s.hangs[q]
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].At = at
	}
	return rows, nil
}

// shape returns an expression without its numbers.
func (s *Source) shape(expr string) string { return s.numbers.ReplaceAllString(expr, "#") }

// clone copies rows and their labels.
func clone(rows []collector.Sample) []collector.Sample {
	copied := slices.Clone(rows)
	for i := range copied {
		copied[i].Labels = maps.Clone(copied[i].Labels)
	}
	return copied
}
