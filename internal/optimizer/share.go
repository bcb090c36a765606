package optimizer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver"
)

// Contender is a limited model whose demand is known, and the decisions that it would get
// without a limit.
type Contender struct {
	Votes     Votes
	Decisions []scaling.Decision // of Cover
	Rank      int                // 1 to 100, lower comes first
}

// shareWork ends the search for the best share, in problems of one model solved. It counts
// steps instead of time, so that the answer is the same on every machine. The result at
// that point is at least as good as the greedy share.
const shareWork = 20_000

// Share lets limited models grow on other variants where the cheapest variants have too few
// accelerators for all. It serves as many models as possible of the most important rank,
// then of the next, and takes the cheapest way to do so. stock is the accelerators by type
// that the contenders have or may get. It returns the decisions of each contender,
// unchanged where all of them fit. It also returns the largest relative gap between a cost
// and the least possible cost, a ratio in [0, 1], which is NotApplicable where nothing had
// to be shared.
//
// Contenders that have no accelerator type in common, directly or through other contenders,
// are solved separately: a shortage of one group does not affect another.
//
// Share only distributes growth: no contender gives up replicas here. The capacity stage
// checks nodes and quotas. Where the numbers exceed the solver's range, Share leaves the
// decisions to that stage, and a step names the number.
func Share(contenders []Contender, stock map[string]scaling.Accelerators) ([][]scaling.Decision, scaling.Reading) {
	out := make([][]scaling.Decision, len(contenders))
	for i, c := range contenders {
		out[i] = c.Decisions
	}
	gap := scaling.Reading{State: scaling.NotApplicable}
	for _, group := range connected(contenders) {
		slices.SortFunc(group, func(a, b int) int {
			return contenders[a].Votes.Snapshot.Part().Compare(contenders[b].Votes.Snapshot.Part())
		})
		growing := slices.DeleteFunc(slices.Clone(group), func(i int) bool {
			return !contenders[i].grows() || len(contenders[i].open(contenders[i].states())) == 0
		})
		alone := len(growing) == 1 && len(contenders[growing[0]].Votes.Snapshot.Variants) == 1 // there is nothing to choose
		if len(growing) == 0 || alone || fits(contenders, group, stock) {
			continue
		}
		solved, err := solve(contenders, group, growing, stock)
		for _, i := range growing {
			out[i] = contenders[i].shared(solved, err)
		}
		if err == nil {
			gap = scaling.Measured(max(gap.Or(0), solved.gap), scaling.Fresh)
		}
	}
	return out, gap
}

// connected groups the indexes of contenders: two groups never have a variant on the same
// accelerator type.
func connected(contenders []Contender) [][]int {
	linked := map[string]string{} // from each type to another type of the same group; the last maps to itself
	last := func(on string) string {
		for linked[on] != on {
			on = linked[on]
		}
		return on
	}
	for _, c := range contenders {
		first := ""
		for i, v := range c.Votes.Snapshot.Variants {
			if _, ok := linked[v.Accelerator]; !ok {
				linked[v.Accelerator] = v.Accelerator
			}
			if i == 0 {
				first = v.Accelerator
			}
			linked[last(v.Accelerator)] = last(first)
		}
	}
	groups := map[string]int{} // index into out, by the last of the types
	var out [][]int
	for i, c := range contenders {
		if len(c.Votes.Snapshot.Variants) == 0 {
			continue // it cannot grow
		}
		on := last(c.Votes.Snapshot.Variants[0].Accelerator)
		g, ok := groups[on]
		if !ok {
			g = len(out)
			groups[on], out = g, append(out, nil)
		}
		out[g] = append(out[g], i)
	}
	return out
}

// shares holds the additional replicas of each variant, and why the solver refused the others.
type shares struct {
	given   map[solver.Variant]scaling.Replicas
	refused map[solver.Variant]error
	gap     float64 // between the cost and the least possible cost
}

// solve finds the shares.
func solve(contenders []Contender, group, growing []int, stock map[string]scaling.Accelerators) (shares, error) {
	system, constraints, err := problem(contenders, group, growing, stock)
	if err != nil {
		return shares{}, err
	}
	exact, err := solver.NewMIPSolver(solver.MIPOptions{Mix: true, Policy: config.PolicyPriorityExhaustive, MaxWork: shareWork})
	if err != nil {
		return shares{}, err
	}
	solution, err := exact.Solve(system, constraints)
	if err != nil {
		return shares{}, err
	}
	out := shares{map[solver.Variant]scaling.Replicas{}, map[solver.Variant]error{}, solution.Proof.Gap}
	for _, a := range solution.Assignments {
		out.given[solver.Variant{Server: a.Server, Accelerator: a.Accelerator}] = scaling.Replicas(a.Replicas)
	}
	for _, short := range solution.Shortfalls {
		for _, r := range short.Refused {
			out.refused[solver.Variant{Server: r.Server, Accelerator: r.Accelerator}] = r.Err
		}
	}
	return out, nil
}

// fits reports whether every contender of a group can have the replicas that it would get
// without a limit.
func fits(contenders []Contender, group []int, stock map[string]scaling.Accelerators) bool {
	needs := map[string]scaling.Accelerators{}
	for _, i := range group {
		c := contenders[i]
		for _, d := range c.Decisions {
			if v, ok := c.variant(d.Variant); ok {
				needs[v.Accelerator] += v.GPUs(max(d.Target(), d.Current))
			}
		}
	}
	for on, n := range needs {
		if n > stock[on] {
			return false
		}
	}
	return true
}

func (c Contender) variant(key scaling.VariantKey) (scaling.Variant, bool) {
	i := slices.IndexFunc(c.Votes.Snapshot.Variants, func(v scaling.Variant) bool { return v.Key == key })
	if i < 0 {
		return scaling.Variant{}, false
	}
	return c.Votes.Snapshot.Variants[i], true
}

func (c Contender) states() []variantState {
	return states(Input{Snapshot: c.Votes.Snapshot, History: c.Votes.History})
}

// wanted lists the demands of the contender. It lists none where each variant has to carry
// its own part of the demand, since then no mix of variants is a share.
func (c Contender) wanted() []demand {
	if slices.ContainsFunc(c.Votes.Analyses, func(a scaling.Analysis) bool { return a.Apart }) {
		return nil
	}
	return demands(c.Votes.Analyses, c.states())
}

// name returns the name of the contender in the solver, where variants are accelerators and models
// are servers.
func (c Contender) name() string { return c.Votes.Snapshot.Part().String() }

// problem returns the solver's problem: how the contenders at the indexes in growing share the
// stock that no replica holds. Each model asks for one whole, the demand that its replicas do not
// carry yet, and a replica of each variant carries a part of it. With several demands, the part is
// that of the demand of which the replica carries least.
//
// Running and ordered replicas stay where they are. Those of a less important model come after the
// growth of a more important one: the capacity stage takes them back.
func problem(contenders []Contender, group, growing []int, stock map[string]scaling.Accelerators) (core.System, solver.Constraints, error) {
	p := shareProblem{left: map[string]scaling.Accelerators{}, ranks: map[int]bool{}, bounds: map[solver.Variant]solver.Bounds{}}
	maps.Copy(p.left, stock)
	most, least := contenders[growing[0]].Rank, contenders[growing[0]].Rank
	for _, i := range growing {
		most, least = min(most, contenders[i].Rank), max(least, contenders[i].Rank)
	}
	for _, i := range group {
		switch c := contenders[i]; {
		case c.Rank <= most:
			for _, s := range c.states() {
				p.left[s.Accelerator] -= s.GPUs(s.counted())
			}
		case c.Rank <= least:
			p.hold(c)
		}
	}
	for _, i := range growing {
		p.grow(contenders[i])
	}
	for rank := range p.ranks {
		for _, held := range []bool{true, false} {
			p.Classes = append(p.Classes, core.ServiceClass{Name: classOf(rank, held), Priority: priority(rank, held)})
		}
	}
	slices.SortFunc(p.Classes, func(a, b core.ServiceClass) int { return a.Priority - b.Priority })
	for i := range p.Classes {
		for _, s := range p.Servers {
			if s.Class == p.Classes[i].Name {
				p.Classes[i].Targets = append(p.Classes[i].Targets, core.Target{Model: s.Model})
			}
		}
	}
	constraints := solver.Constraints{Limited: true, Stock: map[string]int{}, Bounds: p.bounds}
	for on, n := range p.left {
		constraints.Stock[on] = int(max(0, n))
	}
	system, err := core.NewSystem(p.Parts, core.Correct)
	return system, constraints, err
}

// shareProblem is a problem in the making.
type shareProblem struct {
	core.Parts
	left   map[string]scaling.Accelerators // accelerators that no replica holds, by type
	ranks  map[int]bool                    // ranks that have a server
	bounds map[solver.Variant]solver.Bounds
}

// classOf returns the name of the service class for what models of a rank hold, or for their
// growth.
func classOf(rank int, held bool) string {
	if held {
		return fmt.Sprint(rank, " held")
	}
	return fmt.Sprint(rank)
}

// priority returns the priority of that class: what models of a rank hold comes before their
// growth.
func priority(rank int, held bool) int {
	if held {
		return 2 * rank
	}
	return 2*rank + 1
}

// hold adds a server for each variant of c with replicas. It takes exactly these replicas.
func (p *shareProblem) hold(c Contender) {
	for _, s := range c.states() {
		n := s.counted()
		if n <= 0 {
			continue
		}
		name := s.Key.String() + " held"
		p.serve(c, name, name, core.Model{Name: name, Profiles: []core.Profile{p.option(s, name, 1/float64(n))}}, true)
		p.bounds[solver.Variant{Server: name, Accelerator: name}] = solver.Bounds{Min: int(n), Max: int(n)}
	}
}

// grow adds a server for the demand that the replicas of c do not carry yet.
func (p *shareProblem) grow(c Contender) {
	model := core.Model{Name: c.name()}
	variants, most, current := c.states(), scaling.Replicas(-1), ""
	open := c.open(variants)
	for _, s := range variants {
		part := ample
		for _, d := range open {
			part = min(part, d.part[s.Key])
		}
		if part <= 0 || s.phase == unreadable {
			continue
		}
		variant := s.Key.String()
		model.Profiles = append(model.Profiles, p.option(s, variant, part))
		p.bounds[solver.Variant{Server: c.name(), Accelerator: variant}] = solver.Bounds{Max: int(s.room(utmost, c.Votes.Snapshot.At))}
		if s.Replicas.Observed && s.Replicas.Current > most {
			most, current = s.Replicas.Current, variant
		}
	}
	p.serve(c, c.name(), current, model, false)
}

// option adds a variant as an accelerator of the solver; rate is the requests/s that a replica
// serves.
func (p *shareProblem) option(s variantState, name string, rate float64) core.Profile {
	gpus := s.GPUs(1)
	p.Accelerators = append(p.Accelerators, core.Accelerator{Name: name, Type: s.Accelerator, Multiplicity: 1, Cost: s.Cost / float64(gpus)})
	return core.Profile{Accelerator: name, Count: int(gpus), Capacity: rate}
}

// serve adds a server with an arrival rate of 1 request/s. It prefers the variant current at equal
// costs.
func (p *shareProblem) serve(c Contender, name, current string, model core.Model, held bool) {
	p.ranks[c.Rank] = true
	p.Models = append(p.Models, model)
	p.Servers = append(p.Servers, core.Server{
		Name: name, Class: classOf(c.Rank, held), Model: name, Load: core.Load{ArrivalRate: 1, OutputTokens: 1}, Current: core.Allocation{Accelerator: current},
	})
}

// open returns the demands that the running and ordered replicas do not carry, each as a whole of
// what is missing.
func (c Contender) open(variants []variantState) []demand {
	var out []demand
	for _, d := range c.wanted() {
		missing := 1 - d.carried(variants, variantState.counted)
		if missing <= rounding {
			continue
		}
		rest := demand{d.name, d.from, make(map[scaling.VariantKey]float64, len(d.part)), d.relative}
		for key, part := range d.part {
			rest.part[key] = min(ample, part/missing)
		}
		out = append(out, rest)
	}
	return out
}

// grows reports whether a decision of c asks for more than the running and ordered replicas.
func (c Contender) grows() bool {
	return slices.ContainsFunc(c.Decisions, func(d scaling.Decision) bool {
		v, ok := c.variant(d.Variant)
		return ok && d.Target() > max(d.Current, c.Votes.History.LastDesired(v))
	})
}

// shared replaces growth by the shares of the solution. Where the solver refused the model or
// failed, the decisions stay and a step says why.
func (c Contender) shared(solved shares, err error) []scaling.Decision {
	counted := map[scaling.VariantKey]scaling.Replicas{}
	for _, s := range c.states() {
		counted[s.Key] = s.counted()
	}
	out := make([]scaling.Decision, len(c.Decisions))
	for i, d := range c.Decisions {
		which := solver.Variant{Server: c.name(), Accelerator: d.Variant.String()}
		v, _ := c.variant(d.Variant)
		to := max(counted[d.Variant]+solved.given[which], min(d.Target(), c.Votes.History.LastDesired(v)))
		why := err
		if why == nil {
			why = solved.refused[which]
		}
		switch {
		case d.Fallback || v.Paused || !v.Replicas.Observed:
			out[i] = d
		case why != nil:
			out[i] = d.Then(scaling.StageOptimize, d.Target(), scaling.ReasonShared, fmt.Sprintf("not shared out with other models: %v", why))
		case to > d.Target():
			out[i] = d.Then(scaling.StageOptimize, to, scaling.ReasonShared, fmt.Sprintf("accelerators of cheaper variants do not suffice for all who want them: %d replicas of this one are the share", to))
		case to < d.Target():
			out[i] = d.Then(scaling.StageOptimize, to, scaling.ReasonShared, fmt.Sprintf("%s accelerators do not suffice for all who want them: %d of %d replicas are the share", v.Accelerator, to, d.Target()))
		default:
			out[i] = d
		}
	}
	return out
}
