package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// replicas is the range of a variant's Ready replicas.
type replicas struct {
	first, least, most, last int  // ready
	rose, fell               bool // rose above first; fell below an earlier number
}

func (r *replicas) see(ready int) {
	if r.last < ready {
		r.rose = r.rose || ready > r.first
	}
	if r.last > ready {
		r.fell = true
	}
	r.least, r.most, r.last = min(r.least, ready), max(r.most, ready), ready
}

// watch shows the fleet until the load is over or ctx ends.
func (s *scene) watch(ctx context.Context, live *console.Live) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := s.show(ctx, live); err != nil && ctx.Err() == nil {
			return err
		}
		if s.length > 0 && time.Since(s.started) >= s.length {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.manager.Done():
			return fmt.Errorf("the manager ended (%w); its last lines:\n%s", s.manager.Err(), s.manager.Tail())
		case <-s.emulator.Done():
			return fmt.Errorf("the emulator ended (%w); its last lines:\n%s", s.emulator.Err(), s.emulator.Tail())
		case <-tick.C:
		}
		if s.length == 0 {
			if err := s.load(); err != nil {
				return err
			}
		}
	}
}

// show draws the table once.
func (s *scene) show(ctx context.Context, live *console.Live) error {
	all, err := s.manager.Explain(ctx)
	if err != nil {
		if strings.Contains(err.Error(), "no cycle has run yet") {
			return nil
		}
		return err
	}
	header := []console.Column{
		console.Left("VARIANT"), console.Right("COST"), console.Left("KV CACHE"), console.Right("QUEUE"),
		console.Right("READY"), console.Right("CURRENT"), console.Right("DESIRED"), console.Left("REASON"),
	}
	s.film.see(time.Since(s.started), all)
	var rows [][]string
	var models []string
	cycle := scaling.CycleID("")
	for _, e := range all {
		if e.Variant.Key.Namespace != namespace {
			continue
		}
		s.remember(e)
		cycle = e.Cycle
		rows = append(rows, row(e))
		if line := about(e); !slices.Contains(models, line) {
			models = append(models, line)
		}
	}
	elapsed := time.Since(s.started).Round(time.Second)
	footer := fmt.Sprintf("%s since the load began, cycle %s", elapsed, cycle)
	if s.length > 0 {
		footer += fmt.Sprintf(", ends at %s", s.length)
	}
	return live.Update(header, rows, append(append([]string{""}, models...), "", footer)...)
}

// remember records the Ready replicas of a variant.
func (s *scene) remember(e explain.Explanation) {
	ready := int(e.Variant.Replicas.Ready)
	seen := s.seen[e.Variant.Key.Name]
	if seen == nil && ready > 0 {
		seen = &replicas{first: ready, least: ready, most: ready, last: ready}
		s.seen[e.Variant.Key.Name] = seen
	}
	if seen != nil {
		seen.see(ready)
	}
}

// about returns a line on a variant's model: its load, and the result of the analysis. It is the
// same for all variants of the model.
func about(e explain.Explanation) string {
	said := e.Analysis.Detail
	if said == "" {
		said = "nothing is known"
	}
	return fmt.Sprintf("%s: %s req/s over %s, TTFT %s, ITL %s; %s: %s", e.Variant.Model.ID, rate(e.Snapshot.Load.ArrivalRate), e.Snapshot.Window,
		milliseconds(e.Snapshot.Load.TTFT), milliseconds(e.Snapshot.Load.ITL), explain.CallsFor(e.Analysis.Signal), said)
}

func row(e explain.Explanation) []string {
	kv, queue, n := 0.0, 0.0, 0.0
	for _, r := range e.Snapshot.Replicas {
		if r.Variant == e.Variant.Key && r.Reports() {
			kv += r.KVCacheUsageNow.Or(r.KVCacheUsage.Or(0))
			queue += r.QueueLengthNow.Or(0)
			n++
		}
	}
	usage, waiting := "-", "-"
	if n > 0 {
		const width = 8
		usage = fmt.Sprintf("%s %3.0f %%", console.Bar(kv/n, width), 100*kv/n)
		waiting = fmt.Sprintf("%.0f", queue)
	}
	return []string{
		e.Variant.Key.Name, fmt.Sprintf("%g", e.Variant.Cost), usage, waiting,
		strconv.Itoa(int(e.Variant.Replicas.Ready)), strconv.Itoa(int(e.Variant.Replicas.Current)), strconv.Itoa(int(e.Decision.Target())),
		string(e.Decision.Cause().Reason),
	}
}

func milliseconds(r scaling.Reading) string {
	if !r.Known() {
		return "-"
	}
	return fmt.Sprintf("%.0f ms", r.Value)
}

func rate(r scaling.Reading) string {
	if !r.Known() {
		return "-"
	}
	return fmt.Sprintf("%.1f", r.Value)
}
