package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// zooSeed is the seed of every run: logs that are not scaled are as recorded.
const zooSeed = 1

// settled is when a fleet at constant load has to be at rest.
const settled = 6 * time.Hour

// visit runs what is not known of the scenarios, and writes the document.
func (o zooOptions) visit(ctx context.Context, out io.Writer, animals []animal, choices []lab.Choice) error {
	known, err := openShelf(o.out)
	if err != nil {
		return err
	}
	v := &visitor{zooOptions: o, shelf: known, out: out, choices: choices, watch: clock.RealClock{}}
	for _, a := range animals {
		for _, c := range choices {
			if _, ok := known.find(v.key(a, c)); !ok {
				v.left++
			}
		}
	}
	v.plan(animals)
	if o.dry {
		return known.close()
	}
	failure := v.all(ctx, animals)
	report := v.report(animals)
	failure = errors.Join(failure, known.close())
	text := report.String()
	fmt.Fprint(out, text)
	name := filepath.Join(o.out, fmt.Sprintf("zoo-%d.md", o.seed))
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return errors.Join(failure, fmt.Errorf("writing the document: %w", err))
	}
	fmt.Fprintf(out, "\n%s written\n", name)
	return failure
}

// visitor runs policies on scenarios.
type visitor struct {
	zooOptions
	*shelf
	choices []lab.Choice
	watch   clock.PassiveClock

	show  sync.Mutex
	out   io.Writer
	began time.Time
	done  int
	left  int // runs of a policy that are to do
}

// key identifies what came of a policy in a scenario: of ours, with this build; of the
// others, with this simulator and these settings.
func (v *visitor) key(a animal, c lab.Choice) string {
	return hash(a.key, c.String(), v.version(c))
}

func (v *visitor) version(c lab.Choice) string {
	if c.Own() {
		return v.commit
	}
	return fmt.Sprintf("%s, %d points", simulatorVersion, v.points)
}

// all runs what is left, some scenarios at a time.
func (v *visitor) all(ctx context.Context, animals []animal) error {
	v.began = v.watch.Now()
	workers := v.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, len(animals))
	var group errgroup.Group
	group.SetLimit(workers)
	for i, a := range animals {
		group.Go(func() error {
			errs[i] = v.scenario(ctx, a)
			return nil
		})
	}
	_ = group.Wait() // errs holds the errors
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted, the same command goes on: %w", context.Cause(ctx))
	}
	return errors.Join(errs...)
}

// scenario runs the policies of one scenario that are not known.
func (v *visitor) scenario(ctx context.Context, a animal) error {
	for _, c := range v.choices {
		if _, ok := v.find(v.key(a, c)); ok {
			continue
		}
		r, err := v.run(ctx, a, c)
		if ctx.Err() != nil {
			return nil // all says so
		}
		if err != nil {
			r.Error = err.Error()
		}
		v.put(kept{Key: v.key(a, c), Scenario: a.Name, Policy: c.String(), Version: v.version(c), Result: &r})
		v.tell(a, c, r)
	}
	return nil
}

// run runs one policy in one scenario.
func (v *visitor) run(ctx context.Context, a animal, c lab.Choice) (result, error) {
	began := v.watch.Now()
	plan := lab.Plan{
		Scenarios: []lab.Scenario{a.scenario}, Choices: []lab.Choice{c}, Seeds: []uint64{zooSeed}, Tune: true, Points: v.points,
		Series: c.Own() && a.Drawn.Constant,
	}
	results, err := lab.Execute(ctx, plan, lab.Options{Workers: 1, Benchmarks: benchmarks{v.shelf, a}})
	r := result{Seconds: v.watch.Since(began).Seconds()}
	if len(results.Scenarios) == 0 || len(results.Scenarios[0].Rows) == 0 {
		return r, err
	}
	row := results.Scenarios[0].Rows[0]
	r.Attainment, r.Cost, r.WorstHour = row.Measures.Attainment.Mean, row.Measures.Cost.Mean, row.Measures.WorstHour.Mean
	if !c.Own() {
		r.Settings = row.Policy.String()
		if p, ok := row.Untuned(); ok {
			r.Untuned = &p
		}
		if h := row.Hindsight; h != nil {
			r.Hindsight = &lab.Point{Attainment: h.Measures.Attainment.Mean, Cost: h.Measures.Cost.Mean}
		}
	}
	if row.Course != nil {
		r.Turns = turns(row.Course.Decisions)
	}
	return r, err
}

// turns returns how often the decisions on a variant change their direction once it has
// had time to settle, of the variant that turns most.
func turns(all []lab.Decision) int {
	most := 0
	last, count := map[scaling.VariantKey]int{}, map[scaling.VariantKey]int{}
	for _, d := range all {
		by := d.Target.Replicas - d.From
		if d.At < settled || by == 0 {
			continue
		}
		v := d.Target.Variant
		if last[v] != 0 && (by > 0) != (last[v] > 0) {
			count[v]++
			most = max(most, count[v])
		}
		last[v] = by
	}
	return most
}

// plan says what is going to happen.
func (v *visitor) plan(animals []animal) {
	fmt.Fprintf(v.out, "%d scenarios of seed %d, %d policies, %d of %d runs are left\n", len(animals), v.seed, len(v.choices), v.left, len(animals)*len(v.choices))
	if v.dry {
		for _, a := range animals {
			fmt.Fprintf(v.out, "%4d  %s\n", a.number, a.Description)
		}
	}
}

// tell prints a line for what has ended.
func (v *visitor) tell(a animal, c lab.Choice, r result) {
	v.show.Lock()
	defer v.show.Unlock()
	v.done++
	if r.Error != "" {
		fmt.Fprintf(v.out, "%s, %s: %s\n", a.Name, c, r.Error)
	}
	if step := max(1, v.left/50); v.done%step == 0 || v.done == v.left {
		fmt.Fprintf(v.out, "%8s  %d of %d\n", v.watch.Since(v.began).Round(time.Second), v.done, v.left)
	}
}
