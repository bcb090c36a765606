package dashboard

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Source supplies a dashboard: [Live] or [Recorded]. It is safe for concurrent use. An error that
// is a *RefusalError goes to the page with its status; any other is a failure of the source.
type Source interface {
	// Run reads until ctx ends. Most faults are a trouble of the Board, not an error.
	Run(ctx context.Context) error
	// Board returns the board with the progress and the trouble of the source.
	Board() *Board
	// Fleet returns the models as of the last cycle.
	Fleet(ctx context.Context) (history.Fleet, error)
	// Model returns a model over time; a zero time is an open end.
	Model(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.ModelHistory, error)
	// Replicas returns the replicas of a model over time; a zero time is an open end.
	Replicas(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.Replicas, error)
	// Decision returns what a cycle decided for a variant; id "" is the last cycle.
	Decision(ctx context.Context, of scaling.VariantKey, id scaling.CycleID) (Decided, error)
	// Cycles returns the cycles of a model that can be decided again.
	Cycles(ctx context.Context, of scaling.ModelKey) (Cycles, error)
}

// Decided is the known part of a decision.
type Decided struct {
	// Change is its entry in the history; the zero value where the number did not change.
	Change history.Change
	// Explanation is the full explanation, where Explained.
	Explanation explain.Explanation
	Explained   bool
	// Cycle is the record with its inputs, where Kept; else WhyNot says why there is none.
	Cycle  record.Cycle
	Kept   bool
	WhyNot string
}

// Cycles are the cycles of a model that can be decided again.
type Cycles struct {
	Refs []CycleRef // in order of time
	// Read returns one of them, or its part that the model depends on.
	Read func(ctx context.Context, ref CycleRef) (record.Cycle, error)
	// Sparse says that there are cycles only where a number changed: a decision holds until the
	// next one.
	Sparse bool
	// Says describes these cycles in a sentence.
	Says string
}

// CycleRef identifies a cycle of Cycles.
type CycleRef struct {
	At    time.Time
	ID    scaling.CycleID
	Of    scaling.VariantKey // a variant of its decisions, where cycles are kept by variant
	place int                // its index, where cycles are in files
}

// RefusalError says that a source does not answer a question.
type RefusalError struct {
	Status   int // HTTP status of the answer
	Sentence string
}

// Error returns the sentence.
func (r *RefusalError) Error() string { return r.Sentence }

func unknown(sentence string) error { return &RefusalError{http.StatusNotFound, sentence} }

func notYet(sentence string) error { return &RefusalError{http.StatusServiceUnavailable, sentence} }

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	if r, ok := errors.AsType[*RefusalError](err); ok {
		return r.Status
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled):
		return statusClientGone
	}
	return http.StatusBadGateway
}

// statusClientGone is the status that proxies log for a client that did not wait. No client reads
// it.
const statusClientGone = 499

// Board holds the revision and the trouble of a source: which cycle it read last, and what keeps it
// from reading more. Any number of readers may wait for news. The zero value is not usable; see
// NewBoard.
type Board struct {
	mu       sync.Mutex
	revision int64
	trouble  string
	news     chan struct{} // closed with the next change
}

// NewBoard returns a board of a source that has read nothing yet.
func NewBoard() *Board { return &Board{news: make(chan struct{})} }

// Read returns the revision, which grows with each cycle, the trouble, "" for none, and a channel
// that is closed when one of them changes.
func (b *Board) Read() (revision int64, trouble string, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision, b.trouble, b.news
}

// Cycle notes that another cycle was read.
func (b *Board) Cycle() { b.change(func() { b.revision++ }) }

// Say sets the trouble, "" for none.
func (b *Board) Say(trouble string) {
	b.mu.Lock()
	same := b.trouble == trouble
	b.mu.Unlock()
	if !same {
		b.change(func() { b.trouble = trouble })
	}
}

func (b *Board) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	close(b.news)
	b.news = make(chan struct{})
}
