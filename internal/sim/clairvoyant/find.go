package clairvoyant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Options bound a search. The zero value means the defaults.
type Options struct {
	// Tick is the time between two changes of the schedule, 100ms or more. Default
	// 15s.
	Tick time.Duration
	// Runs is how many runs of the simulator the search may take, 1 or more.
	// Default 48. For a model with one variant, 16 find a schedule; the others
	// refine it.
	Runs int
}

// Found is the best schedule that a search came upon.
type Found struct {
	// Reached is whether every model reaches the attainment asked for. Where it is
	// false, the schedule is the one that misses the fewest requests.
	Reached bool
	Script  Script
	Report  sim.Report // of the run of Script
	Runs    int        // of the simulator
}

// Find looks for a schedule that costs little and reaches the attainment of
// every model in a run of c, start-up times, draining and stock included. It
// begins with the replicas that c begins with; Config.Sync, the hooks and
// Model.Requests are not used. When ctx ends it returns the best up to there, if
// any, with the error.
func Find(ctx context.Context, c sim.Config, fresh Arrivals, o Options) (Found, error) {
	if o.Tick == 0 {
		o.Tick = 15 * time.Second
	}
	if o.Runs == 0 {
		o.Runs = 48
	}
	if o.Tick < 100*time.Millisecond || o.Runs < 1 {
		return Found{}, fmt.Errorf("clairvoyant: a tick of %s and %d runs: want 100ms or more, and 1 run or more", o.Tick, o.Runs)
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
	err = s.families(ctx)
	if err == nil {
		err = s.joinBest(ctx)
	}
	if err == nil {
		err = s.trim(ctx)
	}
	if errors.Is(err, errNoRuns) {
		err = nil
	}
	s.best.Runs = s.runs
	return s.best, err
}

// errNoRuns ends a search: it has used the runs it was given.
var errNoRuns = errors.New("clairvoyant: no runs are left")

// search is the state of Find.
type search struct {
	config sim.Config
	fresh  Arrivals
	runsOf int // that may be used
	runs   int // used
	tick   time.Duration
	ticks  int
	block  int // ticks
	blocks int
	models []*modelSearch
	best   Found
	missed uint64 // requests of best
}

// modelSearch is what a search knows of one model.
type modelSearch struct {
	demand *demand
	prices []float64 // of a replica, by variant
	lead   []int     // ticks from an order to a replica, by variant
	usable []bool    // by variant: it serves as many requests in time as are asked for
	allow  float64   // requests that may miss
	best   []Line    // the cheapest that reaches its attainment; nil for none
	cost   float64   // of best
}

func newSearch(ctx context.Context, c sim.Config, fresh Arrivals, o Options) (*search, error) {
	s := &search{config: c, fresh: fresh, runsOf: o.Runs, tick: o.Tick, missed: math.MaxUint64}
	for _, m := range c.Models {
		d, err := demandOf(ctx, c, m, o.Tick, fresh)
		if err != nil {
			return nil, err
		}
		one := &modelSearch{demand: d, allow: float64(d.total) * (1 - m.SLO.Attainment), cost: math.Inf(1)}
		for i, v := range m.Variants {
			one.prices = append(one.prices, v.Spec.Cost)
			startUp := v.StartUp.Mean + v.StartUp.Deviation
			one.lead = append(one.lead, int((startUp+o.Tick-1)/o.Tick))
			one.usable = append(one.usable, float64(d.servable[i]) >= m.SLO.Attainment*float64(d.total))
			s.ticks = max(s.ticks, len(d.replicas[i]))
		}
		if !slices.Contains(one.usable, true) {
			one.usable = slices.Repeat([]bool{true}, len(one.usable))
		}
		s.models = append(s.models, one)
	}
	s.ticks = max(s.ticks, int(c.Duration/o.Tick)) + 1
	s.block = max(4, min(s.ticks/96, int(15*time.Minute/o.Tick)))
	s.blocks = (s.ticks + s.block - 1) / s.block
	s.config.Interval = max(time.Second, time.Duration(s.block)*o.Tick)
	return s, nil
}

// outcome is what came of one run.
type outcome struct {
	report sim.Report
	misses [][]float64 // by model and block: requests that ended there without meeting their objectives
}

// reached reports whether a model reached its attainment.
func reached(m sim.ModelReport) bool { return m.Attainment >= m.SLO.Attainment }

// run runs a script and keeps it if it is the best so far.
func (s *search) run(ctx context.Context, script Script) (outcome, error) {
	if s.runs == s.runsOf {
		return outcome{}, errNoRuns
	}
	s.runs++
	c := withArrivals(s.config, s.fresh)
	out := outcome{misses: make([][]float64, len(c.Models))}
	for i := range out.misses {
		out.misses[i] = make([]float64, s.blocks)
	}
	c.OnInterval = func(i sim.Interval) {
		m := slices.IndexFunc(c.Models, func(m sim.Model) bool { return m.Key == i.Model })
		block := min(int((i.End-1)/c.Interval), s.blocks-1)
		k := i.Counts
		out.misses[m][block] += float64(k.Finished + k.Rejected + k.Expired + k.Lost - k.Met)
	}
	report, err := sim.Run(ctx, c, script.Policy())
	if err != nil {
		return outcome{}, err
	}
	out.report = report
	s.keep(script, out)
	return out, nil
}

// keep remembers a script that is better than the best: it reaches what it does
// not, costs less, or, where neither reaches it, misses fewer.
func (s *search) keep(script Script, out outcome) {
	all, cost, missed := true, 0.0, uint64(0)
	for i, m := range s.models {
		r := s.reportOf(out, i)
		all = all && reached(r)
		cost += r.Cost
		missed += r.Counts.Arrived - r.Counts.Met
		if reached(r) && r.Cost < m.cost {
			m.cost, m.best = r.Cost, s.linesOf(script, i)
		}
	}
	better := all && (!s.best.Reached || cost < costOf(s.best.Report)) || !all && !s.best.Reached && missed < s.missed
	if better {
		s.best = Found{Reached: all, Script: script.clone(), Report: out.report}
		s.missed = missed
	}
}

// reportOf returns what came of a model; reports are sorted, models need not be.
func (s *search) reportOf(out outcome, model int) sim.ModelReport {
	key := s.config.Models[model].Key
	i := slices.IndexFunc(out.report.Models, func(r sim.ModelReport) bool { return r.Model == key })
	return out.report.Models[i]
}

// linesOf returns a copy of the lines of one model.
func (s *search) linesOf(script Script, model int) []Line {
	from := s.firstLine(model)
	return script.clone().Lines[from : from+len(s.models[model].prices)]
}

// firstLine is where the lines of a model begin in a script.
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
