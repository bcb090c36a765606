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

// answers keeps why decisions are not others. One is worked out at a time, since each takes a processor:
// in a fleet that shares accelerators, for seconds. What was begun is ended and kept, though no page may wait for
// it any more.
type answers struct {
	ask1 func(record.Cycle, scaling.VariantKey) (counterfactual.Answers, error) // replay.Answers; another in tests
	turn chan struct{}

	mu    sync.Mutex
	kept  map[answerKey]*answer
	order []answerKey // by age, the oldest first
}

// answer is what came of one. It may be read once done is closed.
type answer struct {
	done chan struct{}
	of   counterfactual.Answers
	err  error
}

func newAnswers() *answers {
	return &answers{ask1: replay.Answers, turn: make(chan struct{}, 1), kept: map[answerKey]*answer{}}
}

// ask says why of the decision of a cycle for a variant.
func (a *answers) ask(ctx context.Context, c record.Cycle, of scaling.VariantKey) (counterfactual.Answers, error) {
	one := a.begin(answerKey{of, c.Cycle}, c)
	select {
	case <-one.done:
		return one.of, one.err
	case <-ctx.Done():
		return counterfactual.Answers{}, fmt.Errorf("the answers take longer than %s; open the decision again in a while", whyLimit)
	}
}

// begin returns the answer of a key, which it begins to work out where none is kept. Cycles without a
// name are not told apart, so nothing is kept of them.
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
