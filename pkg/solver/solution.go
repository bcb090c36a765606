package solver

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// Solution is what every server gets.
type Solution struct {
	// Assignments is sorted by server, then accelerator. A server has one, or with MIPOptions.Mix
	// several; a server that gets nothing is absent. The replicas may be fewer than wanted: see
	// Shortfalls.
	Assignments []Assignment
	// Shortfalls names every server that gets less than it wants, and the reason.
	Shortfalls []Shortfall
	Cost       float64 // of the assignments per hour
	// Objective is the quantity that is minimized among solutions that serve equally many servers
	// in full: the cost, with MovePenalty where replicas move to another accelerator. It counts
	// only servers that are served in full.
	Objective float64
	Proof     Proof
}

// Assignment is what a server gets on one accelerator.
type Assignment struct {
	Server string
	core.Allocation
}

// Shortfall says that a server gets less than it wants.
type Shortfall struct {
	Server   string
	Priority int
	Got      int // replicas that the saturation policy gave it
	// Shortages lists the accelerators that each candidate takes; empty without candidates.
	Shortages []Shortage
	// Refused says why other accelerators give no candidate.
	Refused []core.InfeasibleError
}

// Shortage compares one candidate with the stock.
type Shortage struct {
	Accelerator, Type string
	Needed            int // accelerators of the type that the candidate takes
	Left              int // accelerators of the type that the solution leaves
}

// String returns the reason why the server gets less than it wants.
func (s Shortfall) String() string {
	parts := make([]string, 0, len(s.Shortages)+len(s.Refused))
	for _, x := range s.Shortages {
		parts = append(parts, fmt.Sprintf("%s takes %d of type %s, %d left", x.Accelerator, x.Needed, x.Type, x.Left))
	}
	for _, r := range s.Refused {
		if r.Accelerator == "" {
			parts = append(parts, r.Err.Error())
			continue
		}
		parts = append(parts, r.Accelerator+": "+r.Err.Error())
	}
	if len(parts) == 0 {
		return "no accelerator to choose from"
	}
	return strings.Join(parts, "; ")
}

// Proof is what is proven about a solution. The zero value claims nothing.
type Proof struct {
	Status Status
	// Bound is proven: no solution that serves as many servers of every priority
	// has a lower Objective.
	Bound float64
	// Gap is (Objective - Bound) / Objective, 0 where Objective is.
	Gap   float64
	Nodes int // of the search tree
	Work  int // problems of one server solved, which MIPOptions.MaxWork limits
}

// Status is the way in which the search for a solution ended.
type Status int

const (
	// Unproven means that there is no bound.
	Unproven Status = iota
	// Bounded means that the search was ended early: Bound holds, and more servers might be served.
	Bounded
	// WithinGap means that the solution is proven to the requested gap.
	WithinGap
	// Optimal means that the solution is proven to be the best.
	Optimal
)

// String returns the status in words.
func (s Status) String() string {
	switch s {
	case Bounded:
		return "bounded"
	case WithinGap:
		return "within the gap"
	case Optimal:
		return "optimal"
	case Unproven:
	}
	return "unproven"
}

// solution returns the Solution of the allocations given to each server, by name. left is the
// remaining stock.
func solution(choices []core.Choice, given map[string][]core.Allocation, left stock) Solution {
	var s Solution
	for _, c := range choices {
		short, got := len(given[c.Server.Name]) == 0, 0
		for _, a := range given[c.Server.Name] {
			s.Assignments = append(s.Assignments, Assignment{Server: c.Server.Name, Allocation: a})
			s.Cost += a.Cost
			got += a.Replicas
			short = short || a.Replicas < a.Wanted
		}
		if short {
			s.Shortfalls = append(s.Shortfalls, shortfall(c, got, left))
			continue
		}
		for _, a := range given[c.Server.Name] {
			s.Objective += objective(c.Server, a)
		}
	}
	return s
}

// objective returns the part of an allocation in the objective: its value plus the cost of the
// current replicas, so that it is never negative.
func objective(s core.Server, a core.Allocation) float64 { return a.Value + s.Current.Cost }

func shortfall(c core.Choice, got int, left stock) Shortfall {
	s := Shortfall{Server: c.Server.Name, Priority: c.Priority, Got: got, Refused: c.Refused}
	for _, a := range c.Candidates {
		s.Shortages = append(s.Shortages, Shortage{
			Accelerator: a.Accelerator, Type: a.Type, Needed: a.Replicas * a.Units, Left: left[a.Type],
		})
	}
	return s
}
