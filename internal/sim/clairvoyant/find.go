package clairvoyant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Options bound a search. The zero value means the defaults.
type Options struct {
	// Tick is the time between two changes of the schedule, 100ms or more. Default
	// 15s.
	Tick time.Duration
	// Runs is how many runs of the simulator the search may take, 1 or more. Default 60. For a
	// model with one variant and no Start, 16 find a schedule; the others refine it.
	Runs int
	// Workers is the number of runs at the same time, 0 means 1. The result does not depend on it.
	Workers int
	// Start are schedules to begin with, such as those of policies.
	Start []Script
}

// Found is the best schedule of a search.
type Found struct {
	// Reached says whether the wanted attainment is reached, over all models. If not, the schedule
	// is the one with the fewest misses.
	Reached bool
	// Attainable is the share of the requests that meet their objectives on a replica of their own,
	// over all models. If it is below the wanted attainment, no schedule reaches that.
	Attainable float64
	Script     Script
	Report     sim.Report // of the run of Script
	Runs       int        // of the simulator, without the one of Report
}

// Find searches for a cheap schedule that reaches the attainment in a run of c, with start-up
// times, draining and stock. It keeps the bounds of the variants, and one replica while there are
// requests. The run starts with the replicas of c. Find ignores Config.Sync, the hooks and
// Model.Requests. When ctx ends it returns the best schedule so far, if any, with the error.
func Find(ctx context.Context, c sim.Config, fresh Arrivals, o Options) (Found, error) {
	if o.Tick == 0 {
		o.Tick = 15 * time.Second
	}
	if o.Runs == 0 {
		o.Runs = 60
	}
	if o.Tick < 100*time.Millisecond || o.Runs < 1 || o.Workers < 0 {
		return Found{}, fmt.Errorf("clairvoyant: a tick of %s, %d runs and %d workers: want 100ms or more, 1 run or more, 0 or more workers", o.Tick, o.Runs, o.Workers)
	}
	c = withArrivals(c, fresh)
	c.Sync, c.OnDecision, c.OnInterval = 0, nil, nil
	if err := c.Validate(); err != nil {
		return Found{}, err
	}
	s, err := newSearch(ctx, c, fresh, o)
	if err != nil {
		return Found{}, err
	}
	for _, step := range []func(context.Context) error{s.starts, s.families, s.joinBest, s.refine} {
		if err = step(ctx); err != nil {
			break
		}
	}
	if errors.Is(err, errNoRuns) {
		err = nil
	}
	if err == nil { // with the Bins that c asks for
		s.best.Report, err = sim.Run(ctx, withArrivals(c, fresh), s.best.Script.Policy())
	}
	s.best.Runs, s.best.Attainable = s.runs, s.attainable()
	return s.best.Found, err
}

// errNoRuns ends a search that has used its runs.
var errNoRuns = errors.New("clairvoyant: no runs are left")

// search is the state of Find.
type search struct {
	config  sim.Config
	fresh   Arrivals
	options Options
	runs    int // used
	tick    time.Duration
	ticks   int
	from    int // the first tick that is judged
	block   int // ticks
	models  []*modelSearch
	best    candidate
	missed  uint64 // requests of best
}

// candidate is a schedule with the result of its run.
type candidate struct {
	Found
	misses [][]float64 // by model and block from s.from on: misses of the requests that arrived in it
}

// modelSearch is the state of a search for one model.
type modelSearch struct {
	demand      *demand
	prices      []float64 // of a replica, by variant
	lead        []int     // ticks from an order to a replica, by variant
	least, most []int32   // bounds, by variant
	busy        []bool    // by tick: a replica ordered then serves requests
	usable      []bool    // by variant: it can serve the wanted share of the requests in time
	best        []Line    // the cheapest lines that reach its attainment; nil for none
	cost        float64   // of best
}

func newSearch(ctx context.Context, c sim.Config, fresh Arrivals, o Options) (*search, error) {
	s := &search{config: c, fresh: fresh, options: o, tick: o.Tick, missed: math.MaxUint64, from: int(c.From / o.Tick)}
	for _, m := range c.Models {
		d, err := demandOf(ctx, c, m, o.Tick, fresh)
		if err != nil {
			return nil, err
		}
		one := &modelSearch{demand: d, cost: math.Inf(1)}
		for i, v := range m.Variants {
			one.prices = append(one.prices, v.Spec.Cost)
			startUp := v.StartUp.Mean + v.StartUp.Deviation
			one.lead = append(one.lead, int((startUp+o.Tick-1)/o.Tick))
			one.least = append(one.least, int32(min(v.Spec.Bounds.Min, math.MaxInt32)))
			one.most = append(one.most, int32(min(v.Spec.Bounds.Max, math.MaxInt32)))
			one.usable = append(one.usable, float64(d.servable[i]) >= m.SLO.Attainment*float64(d.judged))
			s.ticks = max(s.ticks, len(d.replicas[i]))
		}
		if !slices.Contains(one.usable, true) {
			one.usable = slices.Repeat([]bool{true}, len(one.usable))
		}
		s.models = append(s.models, one)
	}
	s.ticks = max(s.ticks, int(c.Duration/o.Tick)) + 1
	for _, m := range s.models {
		m.busy = m.serves(s.ticks)
	}
	s.block = max(4, min(s.ticks/96, int(15*time.Minute/o.Tick)))
	s.config.Bin = max(time.Second, time.Duration(s.block)*o.Tick)
	return s, nil
}

// serves returns for every tick whether a replica that is ordered or kept then serves requests:
// some work is due until a start-up later.
func (m *modelSearch) serves(ticks int) []bool {
	busy := make([]bool, ticks)
	for t := range ticks {
		for ahead := t; ahead <= min(t+1+slices.Max(m.lead), ticks-1) && !busy[t]; ahead++ {
			for v := range m.prices {
				busy[t] = busy[t] || m.demand.at(v, ahead) > 0
			}
		}
	}
	return busy
}

// attainable returns the share of all requests that some variant serves in time alone.
func (s *search) attainable() float64 {
	served, judged := 0.0, 0.0
	for _, m := range s.models {
		served, judged = served+float64(m.demand.served), judged+float64(m.demand.judged)
	}
	if judged == 0 {
		return 1
	}
	return served / judged
}

// reached reports whether the model reached its attainment.
func reached(m sim.ModelReport) bool { return m.Attainment >= m.SLO.Attainment }

// slack returns how many more requests all models together may miss; below 0, too many miss.
func slack(r sim.Report) float64 {
	left := 0.0
	for _, m := range r.Models {
		left += float64(m.Counts.Met) - m.SLO.Attainment*float64(m.Counts.Arrived)
	}
	return left
}

// run runs scripts side by side, and keeps the best. If fewer runs are left than scripts, it runs
// the first of them, and returns their candidates and errNoRuns.
func (s *search) run(ctx context.Context, scripts ...Script) ([]candidate, error) {
	all := len(scripts)
	scripts = scripts[:min(all, s.options.Runs-s.runs)]
	s.runs += len(scripts)
	out := make([]candidate, len(scripts))
	var group errgroup.Group
	group.SetLimit(max(1, s.options.Workers))
	for i, script := range scripts {
		group.Go(func() error {
			report, err := sim.Run(ctx, withArrivals(s.config, s.fresh), script.Policy())
			out[i] = candidate{Found: Found{Script: script, Report: report, Reached: slack(report) > -1e-6}, misses: s.misses(report)}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, one := range out {
		s.keep(one)
	}
	if len(scripts) < all {
		return out, errNoRuns
	}
	return out, nil
}

// misses returns the misses of a report by model and block.
func (s *search) misses(r sim.Report) [][]float64 {
	out := make([][]float64, len(s.models))
	for i := range s.models {
		for _, b := range s.reportOf(r, i).Bins {
			out[i] = append(out[i], float64(b.Arrived-b.Met))
		}
	}
	return out
}

// keep stores a candidate that is better than the best: it reaches the attainment and the best does
// not or costs more, or neither reaches it and the candidate misses fewer requests.
func (s *search) keep(c candidate) {
	missed := uint64(0)
	for i, m := range s.models {
		r := s.reportOf(c.Report, i)
		missed += r.Counts.Arrived - r.Counts.Met
		if reached(r) && r.Cost < m.cost {
			m.cost, m.best = r.Cost, s.linesOf(c.Script, i)
		}
	}
	cheaper := s.best.Script.Lines == nil || costOf(c.Report) < costOf(s.best.Report)
	if c.Reached && (!s.best.Reached || cheaper) || !c.Reached && !s.best.Reached && missed < s.missed {
		s.best, s.missed = c, missed
		s.best.Script = c.Script.clone()
	}
}

// reportOf returns the report of a model. Reports are sorted by key, s.models need not be.
func (s *search) reportOf(r sim.Report, model int) sim.ModelReport {
	key := s.config.Models[model].Key
	return r.Models[slices.IndexFunc(r.Models, func(r sim.ModelReport) bool { return r.Model == key })]
}

// linesOf returns a copy of the lines of one model.
func (s *search) linesOf(script Script, model int) []Line {
	from := s.firstLine(model)
	return script.clone().Lines[from : from+len(s.models[model].prices)]
}

// firstLine returns the index of the first line of a model in a script.
func (s *search) firstLine(model int) int {
	n := 0
	for _, m := range s.models[:model] {
		n += len(m.prices)
	}
	return n
}

func costOf(r sim.Report) float64 {
	sum := 0.0
	for _, m := range r.Models {
		sum += m.Cost
	}
	return sum
}
