package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
)

// cyclesOfRecords reads files of recorded cycles.
type cyclesOfRecords struct {
	from, to  time.Time // zero for an open end
	namespace string
	warnings  io.Writer
	stdin     io.Reader

	modelCycles
	last time.Time
}

func (r *cyclesOfRecords) read(ctx context.Context, files []string) (modelCycles, error) {
	r.of, r.objectives = map[scaling.ModelKey][]shadow.ModelCycle{}, map[scaling.ModelKey]scaling.Objective{}
	r.source = "recorded cycles of " + strings.Join(files, ", ")
	r.assumes = []string{
		"each cycle stands until the next one, for three intervals at most; longer gaps count for nothing",
		"what was decided is what would have run, from the decision on; a replica serves once it was decided on for the usual start-up of its variant, " +
			shadow.AssumedStartUp.String() + " while that is not known",
		"decisions were made from what ran and what it showed: where another number had run, later decisions could have been others",
		"measured: the part of the requests within TTFT and ITL objectives by the engines' histograms, those of ITL of whole requests where they are exported",
		"expected: by the model of a replica that the cycle decided by, which counts as missed what exceeds the requests/s that ready replicas carry within the objectives",
		"hindsight: the cheapest replicas for each cycle by itself, by the same model, which serve at once and go at once: a lower bound, no schedule that could be had",
		"draining replicas and the surge of rollouts cost nothing here; accelerators of a replica are those that its pods request, at least one",
	}
	for _, name := range files {
		if err := r.file(ctx, name); err != nil {
			return modelCycles{}, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return r.modelCycles, nil
}

func (r *cyclesOfRecords) file(ctx context.Context, name string) error {
	for c, err := range recordedCycles(name, r.stdin) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if line, bad := errors.AsType[*record.LineError](err); bad {
			fmt.Fprintf(r.warnings, "wva: %s: %v\n", name, line)
			continue
		}
		if err != nil {
			return err
		}
		if c.Now.Before(r.last) {
			return fmt.Errorf("cycle %s of %s is earlier than the one before it, of %s: name the older file first",
				c.Cycle, c.Now.UTC().Format(time.RFC3339), r.last.UTC().Format(time.RFC3339))
		}
		r.last = c.Now
		if c.Now.Before(r.from) || !r.to.IsZero() && !c.Now.Before(r.to) {
			continue
		}
		r.add(c)
	}
	return nil
}

// add adds each model of a cycle. The plan is the recorded one. No record has the
// expected capacity of a replica, so that is computed by deciding again.
func (r *cyclesOfRecords) add(c record.Cycle) {
	verdict := replay.Decide(c)
	plan := c.Plan
	if plan == nil {
		plan = &verdict.Plan
	}
	decisions := make(map[scaling.VariantKey]scaling.Decision, len(plan.Decisions))
	for _, d := range plan.Decisions {
		decisions[d.Variant] = d
	}
	for _, s := range c.Snapshots {
		if r.namespace != "" && s.Model.Namespace != r.namespace || len(s.Variants) == 0 {
			continue
		}
		objective := c.Configuration[s.Model].Objective
		cycle := shadow.ModelCycleOf(s, objective, verdict.Analyses, decisions)
		cycle.At, cycle.Interval, cycle.Cycle = c.Now, c.Interval, c.Cycle
		r.of[s.Model] = append(r.of[s.Model], cycle)
		r.objectives[s.Model] = objective
	}
}
