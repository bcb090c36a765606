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

// Source is where a dashboard reads from: [Live] or [Recorded]. It is safe for concurrent use. An error that
// is a *RefusalError goes to the page with its status; any other is a failure of the source.
type Source interface {
	// Run reads until ctx ends. What it cannot read is a trouble of the Board, and no error.
	Run(ctx context.Context) error
	// Board says what was read last.
	Board() *Board
	// Fleet returns the models as of the last cycle.
	Fleet(ctx context.Context) (history.Fleet, error)
	// Model returns a model over time; a zero time is an open end.
	Model(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.ModelHistory, error)
	// Replicas returns what became of the replicas of a model; a zero time is an open end.
	Replicas(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.Replicas, error)
	// Decision returns what a cycle decided for a variant; of the last cycle where id is "".
	Decision(ctx context.Context, of scaling.VariantKey, id scaling.CycleID) (Decided, error)
	// Cycles returns the cycles of a model that can be decided again.
	Cycles(ctx context.Context, of scaling.ModelKey) (Cycles, error)
}

// Decided is what is known of a decision.
type Decided struct {
	// Change is what the history holds of it; the zero value where the number stayed as it was.
	Change history.Change
	// Explanation is the whole of it, where Explained.
	Explanation explain.Explanation
	Explained   bool
	// Cycle is what it was decided from, where Kept; WhyNot says why it is not at hand.
	Cycle  record.Cycle
	Kept   bool
	WhyNot string
}

// Cycles are those of a model that can be decided again.
type Cycles struct {
	Refs []CycleRef // in the order of time
	// Read returns one of them, or the part of it that the model depends on.
	Read func(ctx context.Context, ref CycleRef) (record.Cycle, error)
	// Sparse says that there is a cycle only where a number changed: a decision stands until the next one.
	Sparse bool
	// Says is which cycles these are, a sentence.
	Says string
}

// CycleRef names a cycle of Cycles.
type CycleRef struct {
	At    time.Time
	ID    scaling.CycleID
	Of    scaling.VariantKey // one whose decision it is, where cycles are kept by variant
	place int                // in the files
}

// RefusalError is a question that a source does not answer.
type RefusalError struct {
	Status   int // of the answer
	Sentence string
}

// Error returns the sentence.
func (r *RefusalError) Error() string { return r.Sentence }

func unknown(sentence string) error { return &RefusalError{http.StatusNotFound, sentence} }

func notYet(sentence string) error { return &RefusalError{http.StatusServiceUnavailable, sentence} }

// statusOf returns the status of the answer to a question that failed.
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

// statusClientGone is what proxies write in their logs for a client that did not wait. It is never read.
const statusClientGone = 499

// Board says which cycle a source read last, and what keeps it from reading more. Any number of readers
// may wait for news. The zero value is not usable; see NewBoard.
type Board struct {
	mu       sync.Mutex
	revision int64
	trouble  string
	news     chan struct{} // closed with the next change
}

// NewBoard returns a board of a source that has read nothing yet.
func NewBoard() *Board { return &Board{news: make(chan struct{})} }

// Read returns the revision, which grows with each cycle, the trouble, "" for none, and a channel that is
// closed when one of them changes.
func (b *Board) Read() (revision int64, trouble string, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision, b.trouble, b.news
}

// Cycle says that another cycle was read.
func (b *Board) Cycle() { b.change(func() { b.revision++ }) }

// Say sets the trouble.
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
