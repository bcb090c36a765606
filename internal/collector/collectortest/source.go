package collectortest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Source is a collector.Source in memory: its answers are set by question, it
// records what it was asked, and fails or hangs on demand. It is safe for
// concurrent use.
type Source struct {
	mu      sync.Mutex
	now     time.Time
	calls   []query.Request
	answers [query.QuestionCount][]query.Row
	errs    [query.QuestionCount]error
	hangs   [query.QuestionCount]bool
}

var _ collector.Source = (*Source)(nil)

// New returns a Source whose clock shows now and that answers every question
// with no rows.
func New(now time.Time) *Source { return &Source{now: now} }

// SetNow sets the Source's clock, the time of answers to questions without an instant.
func (s *Source) SetNow(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Now returns the time of the Source's clock.
func (s *Source) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Answer adds rows to the answer to ask.
func (s *Source) Answer(ask query.Question, rows ...query.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[ask] = append(s.answers[ask], rows...)
}

// Rows returns a copy of the answer to ask.
func (s *Source) Rows(ask query.Question) []query.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers[ask])
}

// Replace puts rows in place of the answer to ask.
func (s *Source) Replace(ask query.Question, rows ...query.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[ask] = slices.Clone(rows)
}

// Drop removes the rows of quantity from the answer to ask.
func (s *Source) Drop(ask query.Question, quantity query.Quantity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[ask] = slices.DeleteFunc(s.answers[ask], func(r query.Row) bool { return r.Quantity == quantity })
}

// Clear removes all rows of all answers.
func (s *Source) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = [query.QuestionCount][]query.Row{}
}

// Fail makes ask fail with err, or answer again if err is nil.
func (s *Source) Fail(ask query.Question, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs[ask] = err
}

// FailAll makes every question fail with err, or answer again if err is nil.
func (s *Source) FailAll(err error) {
	for _, ask := range query.Questions() {
		s.Fail(ask, err)
	}
}

// Hang makes ask answer nothing until its context ends.
func (s *Source) Hang(ask query.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs[ask] = true
}

// Calls returns the requests since the last call of Forget, in order of arrival; that of concurrent
// questions is undefined.
func (s *Source) Calls() []query.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Asked returns the questions of Calls, sorted.
func (s *Source) Asked() []query.Question {
	var asked []query.Question
	for _, call := range s.Calls() {
		asked = append(asked, call.Ask)
	}
	slices.Sort(asked)
	return asked
}

// Forget empties the list of Calls.
func (s *Source) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// Ask implements collector.Source. An answer without rows has no time, as with Prometheus.
func (s *Source) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, request)
	rows, err, hangs := slices.Clone(s.answers[request.Ask]), s.errs[request.Ask], s.hangs[request.Ask]
	at := request.At
	if at.IsZero() {
		at = s.now
	}
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return query.Answer{}, ctx.Err()
	}
	if err != nil {
		return query.Answer{}, err
	}
	if len(rows) == 0 {
		return query.Answer{}, nil
	}
	return query.Answer{At: at, Rows: rows}, nil
}
