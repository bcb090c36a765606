package dashboard

import (
	"context"
	"fmt"
	"sync"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// mostAnswers bounds the decisions whose answers are kept.
const mostAnswers = 256

// answerKey names a decision.
type answerKey struct {
	variant scaling.VariantKey
	cycle   scaling.CycleID
}

// answers keeps the answers why decisions are not others. It computes one at a time, since each
// takes a processor, for seconds in a fleet that shares accelerators. It completes and keeps each
// answer, even if no page waits for it any more.
type answers struct {
	ask1 func(record.Cycle, scaling.VariantKey) (counterfactual.Answers, error) // replay.Answers; a fake in tests
	turn chan struct{}

	mu    sync.Mutex
	kept  map[answerKey]*answer
	order []answerKey // by age, the oldest first
}

// answer is one answer. It may be read once done is closed.
type answer struct {
	done chan struct{}
	of   counterfactual.Answers
	err  error
}

func newAnswers() *answers {
	return &answers{ask1: replay.Answers, turn: make(chan struct{}, 1), kept: map[answerKey]*answer{}}
}

// ask returns why the decision of a cycle for a variant is not another one.
func (a *answers) ask(ctx context.Context, c record.Cycle, of scaling.VariantKey) (counterfactual.Answers, error) {
	one := a.begin(answerKey{of, c.Cycle}, c)
	select {
	case <-one.done:
		return one.of, one.err
	case <-ctx.Done():
		return counterfactual.Answers{}, fmt.Errorf("the answers take longer than %s; open the decision again in a while", whyLimit)
	}
}

// begin returns the answer of a key, and starts to compute it where none is kept. Cycles without an
// ID cannot be told apart, so their answers are not kept.
func (a *answers) begin(key answerKey, c record.Cycle) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one, ok := a.kept[key]; ok {
		return one
	}
	one := &answer{done: make(chan struct{})}
	if key.cycle != "" {
		if len(a.order) >= mostAnswers {
			delete(a.kept, a.order[0])
			a.order = a.order[1:]
		}
		a.kept[key], a.order = one, append(a.order, key)
	}
	go func() {
		a.turn <- struct{}{}
		defer func() { <-a.turn }()
		defer close(one.done)
		one.of, one.err = a.ask1(c, key.variant)
	}()
	return one
}
