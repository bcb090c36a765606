package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// questionRuns is how often each question is asked for the table.
const questionRuns = 5

// named returns the pods that a collection names: some of each job, with one job in each namespace.
func named() []string {
	var pods []string
	for model := range namespaces {
		for pod := range 5 {
			pods = append(pods, podOf(model, pod))
		}
	}
	return pods
}

// questions prints the median time of each question by itself, as a collection asks it, one after
// the other, at one size. Most of the time is Prometheus' part.
func questions(ctx context.Context, w io.Writer, models int) (err error) {
	s, err := startServer(ctx, models)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c, err := newClient(s.url, models, false)
	if err != nil {
		return err
	}
	defer c.source.Close()
	request := query.Request{At: now(), Window: time.Minute, Span: 12 * time.Minute, Pods: named()}
	for _, model := range c.fleet.Models() {
		request.Models = append(request.Models, model.Model.ID)
	}
	fmt.Fprintf(w, "\n| question, %d x %d | rows | alone |\n|---|---:|---:|\n", models, replicas)
	asked := make([]query.Request, 0, query.QuestionCount+1)
	for _, ask := range query.Questions() {
		request.Ask = ask
		asked = append(asked, request)
	}
	// The question for the time before is asked in two ways.
	request.Ask, request.Whole = query.AskRecent, true
	asked = append(asked, request)
	// The one about objectives is asked for all buckets and for those around two of them.
	request.Ask, request.Whole, request.Bounds = query.AskObjective, false, []string{"1", "2.5", "0.025", "0.05", "0.075"}
	asked = append(asked, request)
	for _, request := range asked {
		name := request.Ask.String()
		if request.Whole {
			name += ", whole span"
		}
		if len(request.Bounds) > 0 {
			name += ", around two objectives"
		}
		var took []time.Duration
		rows := 0
		for range questionRuns {
			began := time.Now()
			answer, err := c.source.Ask(ctx, request)
			if err != nil {
				return fmt.Errorf("asking %s: %w", name, err)
			}
			took, rows = append(took, time.Since(began)), len(answer.Rows)
		}
		slices.Sort(took)
		fmt.Fprintf(w, "| %s | %d | %s |\n", name, rows, ms(took[len(took)/2]))
	}
	return nil
}
