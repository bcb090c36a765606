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
		order := slices.DeleteFunc(slices.Clone(group), func(i int) bool { return len(contenders[i].wanted()) == 0 })
		if len(order) == 0 || fits(contenders, group, stock) {
			continue
		}
		slices.SortFunc(order, func(a, b int) int {
			return contenders[a].Votes.Snapshot.Part().Compare(contenders[b].Votes.Snapshot.Part())
		})
		solved, err := solve(contenders, order, stock)
		for _, i := range order {
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

// shares holds the replicas that each variant gets, and why the solver refused other
// contenders.
type shares struct {
	given   map[solver.Variant]scaling.Replicas
	refused map[solver.Variant]error
	gap     float64 // between the cost and the least possible cost
}

// solve finds the shares.
func solve(contenders []Contender, order []int, stock map[string]scaling.Accelerators) (shares, error) {
	system, constraints, err := problem(contenders, order, stock)
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

// name is the contender in the solver's words, where variants are accelerators
// and models are servers.
func (c Contender) name() string { return c.Votes.Snapshot.Part().String() }

// problem states the shares for the solver: a model asks for one whole, and a replica of
// each variant carries a part of it. With several demands, the part is that of the demand
// of which the replica carries least.
func problem(contenders []Contender, order []int, stock map[string]scaling.Accelerators) (core.System, solver.Constraints, error) {
	constraints := solver.Constraints{Limited: true, Stock: map[string]int{}, Bounds: map[solver.Variant]solver.Bounds{}}
	for on, n := range stock {
		constraints.Stock[on] = int(max(0, n))
	}
	var parts core.Parts
	classes := map[int]*core.ServiceClass{}
	for _, i := range order {
		c := contenders[i]
		name, wanted := c.name(), c.wanted()
		model := core.Model{Name: name}
		for _, s := range c.states() {
			part := ample
			for _, d := range wanted {
				part = min(part, d.part[s.Key])
			}
			if part <= 0 || s.phase == unreadable {
				continue
			}
			variant := s.Key.String()
			gpus := s.GPUs(1)
			parts.Accelerators = append(parts.Accelerators, core.Accelerator{Name: variant, Type: s.Accelerator, Multiplicity: 1, Cost: s.Cost / float64(gpus)})
			model.Profiles = append(model.Profiles, core.Profile{Accelerator: variant, Count: int(gpus), Capacity: part})
			most := s.counted() + s.room(utmost, c.Votes.Snapshot.At)
			constraints.Bounds[solver.Variant{Server: name, Accelerator: variant}] = solver.Bounds{Min: int(min(s.Bounds.Min, most)), Max: int(most)}
		}
		if classes[c.Rank] == nil {
			classes[c.Rank] = &core.ServiceClass{Name: fmt.Sprint(c.Rank), Priority: c.Rank}
		}
		classes[c.Rank].Targets = append(classes[c.Rank].Targets, core.Target{Model: name})
		parts.Models = append(parts.Models, model)
		parts.Servers = append(parts.Servers, core.Server{
			Name: name, Class: fmt.Sprint(c.Rank), Model: name, Load: core.Load{ArrivalRate: 1, OutputTokens: 1}, Current: c.current(),
		})
	}
	for _, rank := range slices.Sorted(maps.Keys(classes)) {
		parts.Classes = append(parts.Classes, *classes[rank])
	}
	system, err := core.NewSystem(parts, core.Correct)
	return system, constraints, err
}

// current returns the variant with the most replicas; the others move from it.
func (c Contender) current() core.Allocation {
	var most core.Allocation
	for _, s := range c.states() {
		if n := s.Replicas.Current; s.Replicas.Observed && n > scaling.Replicas(most.Replicas) {
			most = core.Allocation{Accelerator: s.Key.String(), Type: s.Accelerator, Replicas: int(n), Cost: s.CostPerHour(n)}
		}
	}
	return most
}

// grows reports whether a decision of c asks for more replicas than run and were ordered.
func (c Contender) grows() bool {
	return slices.ContainsFunc(c.Decisions, func(d scaling.Decision) bool {
		v, ok := c.variant(d.Variant)
		return ok && d.Target() > max(d.Current, c.Votes.History.LastDesired(v))
	})
}

// shared replaces growth by the shares of the solution. Where the solution has no share for
// a model, for instance because its analyses do not agree on it, the decisions stay. Where
// the solver refused the model or failed, the decisions stay and a step says why.
func (c Contender) shared(solved shares, err error) []scaling.Decision {
	if !c.grows() {
		return c.Decisions
	}
	out := make([]scaling.Decision, len(c.Decisions))
	for i, d := range c.Decisions {
		which := solver.Variant{Server: c.name(), Accelerator: d.Variant.String()}
		v, _ := c.variant(d.Variant)
		to := max(solved.given[which], min(d.Target(), c.Votes.History.LastDesired(v)))
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
