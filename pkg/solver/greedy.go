package solver

import (
	"cmp"
	"container/heap"
	"maps"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// GreedyOptions are the options of a GreedySolver. With the zero value a server gets all it wants
// or nothing.
type GreedyOptions struct {
	// Policy says what a server gets that cannot have all it wants; the empty policy means
	// config.PolicyNone.
	Policy config.SaturationPolicy
	// DelayedBestEffort applies the policy once, after all priorities were served, and not after
	// each.
	DelayedBestEffort bool
}

// GreedySolver serves one server after the other with the best candidate that
// the stock still allows.
//
// The next server is the one of the most important priority; among equals, the one that loses most
// by its next candidate; then the one whose candidate has the higher value; then the first by name.
// Where a candidate does not fit, the server takes its next one and queues again.
type GreedySolver struct{ options GreedyOptions }

// NewGreedySolver returns a greedy solver. Its error is an unknown policy.
func NewGreedySolver(options GreedyOptions) (GreedySolver, error) {
	policy, err := checkPolicy(options.Policy)
	if err != nil {
		return GreedySolver{}, err
	}
	options.Policy = policy
	return GreedySolver{options}, nil
}

// Solve returns what every server gets. Its error is a constraint out of range.
func (g GreedySolver) Solve(system core.System, constraints Constraints) (Solution, error) {
	if err := constraints.validate(system); err != nil {
		return Solution{}, err
	}
	choices := constraints.choices(system)
	if !constraints.Limited {
		return cheapest(choices), nil
	}
	given, left := g.allocate(choices, maps.Clone(constraints.Stock))
	return solution(choices, given, left), nil
}

// cheapest gives every server its best candidate.
func cheapest(choices []core.Choice) Solution {
	given := make(map[string][]core.Allocation, len(choices))
	for _, c := range choices {
		if len(c.Candidates) > 0 {
			given[c.Server.Name] = c.Candidates[:1]
		}
	}
	s := solution(choices, given, nil)
	s.Proof = Proof{Status: Optimal, Bound: s.Objective}
	return s
}

// allocate returns the allocations by name of the server, and the remaining stock. It changes left.
func (g GreedySolver) allocate(choices []core.Choice, left stock) (given map[string][]core.Allocation, _ stock) {
	given = make(map[string][]core.Allocation, len(choices))
	waiting := make(queue, 0, len(choices))
	for _, c := range choices {
		if len(c.Candidates) > 0 {
			waiting = append(waiting, newEntry(c))
		}
	}
	heap.Init(&waiting)
	if left == nil {
		left = stock{}
	}
	var leftovers []core.Choice
	for len(waiting) > 0 {
		e := waiting[0]
		if a := e.candidate(); left.fits(a) == a.Replicas {
			left.take(a)
			given[e.choice.Server.Name] = []core.Allocation{a}
			heap.Pop(&waiting)
		} else if e.next() {
			heap.Fix(&waiting, 0)
		} else {
			heap.Pop(&waiting)
			leftovers = append(leftovers, e.choice)
		}
		if g.options.DelayedBestEffort || len(leftovers) == 0 {
			continue
		}
		if p := e.choice.Priority; len(waiting) == 0 || waiting[0].choice.Priority != p {
			bestEffort(g.options.Policy, leftovers, given, left)
			leftovers = nil
		}
	}
	bestEffort(g.options.Policy, leftovers, given, left)
	return given, left
}

// entry is a server that waits for its allocation.
type entry struct {
	choice core.Choice
	at     int     // index of the present candidate
	regret float64 // what it loses by the next candidate
}

func newEntry(c core.Choice) *entry {
	e := &entry{choice: c}
	e.regret = e.loss()
	return e
}

func (e *entry) candidate() core.Allocation { return e.choice.Candidates[e.at] }

// next moves to the next candidate, and reports whether there is one.
func (e *entry) next() bool {
	if e.at+1 == len(e.choice.Candidates) {
		return false
	}
	e.at++
	e.regret = e.loss()
	return true
}

// loss returns by how much the next candidate is worse; +Inf if there is none.
func (e *entry) loss() float64 {
	if e.at+1 == len(e.choice.Candidates) {
		return math.Inf(1)
	}
	return e.choice.Candidates[e.at+1].Value - e.choice.Candidates[e.at].Value
}

// queue is a heap of the waiting servers, with the next one to serve at its head.
type queue []*entry

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(*entry)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(
		cmp.Compare(a.choice.Priority, b.choice.Priority),
		cmp.Compare(b.regret, a.regret),
		cmp.Compare(b.candidate().Value, a.candidate().Value),
		cmp.Compare(a.choice.Server.Name, b.choice.Server.Name),
	) < 0
}
