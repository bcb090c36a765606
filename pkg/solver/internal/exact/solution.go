package exact

// Params limits the search. The zero value searches until the optimum is proven.
type Params struct {
	// Gap is the accepted gap, >= 0: of the cost, (Cost-Bound)/Cost; of the coverage of a priority,
	// the groups that might be served beyond those that are, as a share of all groups. At 0.02 and
	// 100 groups, up to 2 groups of a priority may be left out that could be served, if proving it
	// takes long.
	Gap float64
	// MaxWork ends the search after so many group problems; 0 is no limit. A problem that tries
	// many counts is more than one, and ends after coverSteps counts. Unlike Stop, the same limit
	// gives the same solution on every machine.
	MaxWork int
	// Stop is called from time to time, and ends the search when it returns true; nil is never.
	// Solve then returns the best solution found.
	Stop func() bool
	// Start is a known solution in the shape of Solution.Counts, nil for none. The result is never
	// worse. Groups whose demand it does not cover, or whose bounds it breaks, count as unserved.
	Start [][]int
}

// Status is the way in which the search ended.
type Status int

const (
	// Bounded means that Params.Stop or Params.MaxWork ended the search: Bound
	// and Gap hold, but Gap is above the one asked for, or the coverage could
	// be better.
	Bounded Status = iota
	// WithinGap means that coverage and cost are proven to Params.Gap.
	WithinGap
	// Optimal means that no solution covers more and none of this coverage
	// costs less, to a relative 1e-7.
	Optimal
)

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Bounded:
		return "bounded"
	case WithinGap:
		return "within gap"
	case Optimal:
		return "optimal"
	}
	return "unknown"
}

// A Solution is a mix of replicas and what is proven about it.
type Solution struct {
	// Counts holds the replicas by group and option, in the order of the
	// problem. A group either covers its demand within its bounds, or has none.
	Counts [][]int
	// Cost is the cost of Counts, unserved groups included: they pay
	// RemoveCost for what runs now.
	Cost float64
	// Bound is proven: no solution that serves at least as many groups of every
	// priority costs less.
	Bound float64
	// Gap is (Cost-Bound)/Cost, and 0 when Cost is 0.
	Gap    float64
	Status Status
	// Coverage has one entry for each priority, the most important first.
	Coverage []Coverage
	// Nodes, Iterations and Work count the nodes of the search tree, the price
	// vectors tried and the group problems solved.
	Nodes, Iterations, Work int
}

// Coverage says how many groups of one priority are served.
type Coverage struct {
	Priority int
	Groups   int // groups of this priority
	Served   int // those whose demand is covered
	// AtMost is proven: no solution that serves as many groups of every more
	// important priority serves more of this one. Served == AtMost is the best.
	AtMost int
}
