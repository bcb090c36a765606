package main

import (
	"context"
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// explained is the explanation of a decision, and the answers why it is not another one.
type explained struct {
	explain.Explanation

	Counterfactuals *counterfactual.Answers `json:"counterfactuals,omitempty"`
	// Unanswered says why there are no answers, "" where there are.
	Unanswered string `json:"counterfactualsUnanswered,omitempty"`
}

// answerFrom computes the answers from the text of a recorded cycle, nil for none. It ends early
// with ctx.
func (e *explained) answerFrom(ctx context.Context, text []byte) {
	if text == nil {
		return
	}
	type answered struct {
		answers counterfactual.Answers
		err     error
	}
	done := make(chan answered, 1)
	go func() {
		a, err := answersFrom(text, e.Variant.Key)
		done <- answered{a, err}
	}()
	select {
	case <-ctx.Done():
		e.Unanswered = ctx.Err().Error()
	case a := <-done:
		if a.err != nil {
			e.Unanswered = a.err.Error()
			return
		}
		e.Counterfactuals = &a.answers
	}
}

// answersFrom returns the answers for a variant from the text of a recorded cycle with its plan.
func answersFrom(text []byte, of scaling.VariantKey) (counterfactual.Answers, error) {
	c, err := record.Decode(text)
	if err != nil {
		return counterfactual.Answers{}, fmt.Errorf("reading the cycle of the manager: %w", err)
	}
	return replay.Answers(c, of)
}

// report renders the explanation and the answers.
func (e explained) report(now time.Time) string {
	return explain.Report(e.Explanation, now) + e.whyReport(now)
}

// whyReport renders the answers, or why there are none.
func (e explained) whyReport(now time.Time) string {
	text := ""
	switch {
	case e.Counterfactuals != nil:
		if of := e.Counterfactuals.Cycle; of != e.Cycle && of != "" {
			text += spelling.Visible(fmt.Sprintf("  What follows is of cycle %s, which ran since", of), "") + "\n"
		}
		text += counterfactual.Report(*e.Counterfactuals, now)
	case e.Unanswered != "":
		text += spelling.Visible("  Why not fewer, and what would change it, is not known: "+e.Unanswered, "") + "\n"
	}
	return text
}
