package solver

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// Solution is what every server gets.
type Solution struct {
	// Assignments is sorted by server, then accelerator. A server has one, or with
	// MIPOptions.Mix several; one that gets nothing is absent. Its replicas may be
	// fewer than wanted: see Shortfalls.
	Assignments []Assignment
	// Shortfalls names, by server, all that get less than they want, and why.
	Shortfalls []Shortfall
	Cost       float64 // of the assignments per hour
	// Objective is what is minimized among solutions that serve as many servers in
	// full: the cost, with MovePenalty where replicas move to another accelerator.
	// Servers not served in full do not count in it.
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
	// Shortages tells what each candidate takes; empty where there is none.
	Shortages []Shortage
	// Refused says why there is no candidate on other accelerators.
	Refused []core.InfeasibleError
}

// Shortage is one candidate against the stock.
type Shortage struct {
	Accelerator, Type string
	Needed            int // accelerators of the type that the candidate takes
	Left              int // what the solution leaves of them
}

// String says in a sentence why the server gets less than it wants.
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

// Proof says how good a solution is known to be. The zero value claims nothing.
type Proof struct {
	Status Status
	// Bound is proven: no solution that serves as many servers of every priority
	// has a lower Objective.
	Bound float64
	// Gap is (Objective - Bound) / Objective, 0 where Objective is.
	Gap   float64
	Nodes int // of the search tree
	Work  int // problems of one server solved: what MIPOptions.MaxWork limits
}

// Status says how the search for a solution ended.
type Status int

const (
	// Unproven is a solution without a bound.
	Unproven Status = iota
	// Bounded is one whose search was ended early: Bound holds, and more servers
	// might be served.
	Bounded
	// WithinGap is proven to the gap that was asked for.
	WithinGap
	// Optimal is proven to be the best.
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

// solution puts together what each server, by name, was given. left is what
// remains of the stock.
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

// objective is what an allocation adds to the objective: its value, counted from
// nothing instead of from what runs now, so that it is never negative.
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
