package report

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Document is everything that a report shows. Write does not change it.
type Document struct {
	Title     string     // "" means "Policies compared"
	Commit    string     // of the program that ran the simulations, "" where it is not known
	Seeds     []uint64   // of the runs behind every Spread
	Scenarios []Scenario // one or more, in the order in which they are offered
}

// Scenario is one model with its users, and what policies made of it. Models
// that share a stock are a scenario each.
type Scenario struct {
	Name        string // not empty, and of no other scenario
	Description string // of the workload and the cluster, a few sentences
	Objectives  Objectives
	Seed        uint64  // of the runs whose samples and decisions are shown
	Offered     []Point // requests/s that arrived, the same for every policy; up to the last arrival
	Clairvoyant Clairvoyant
	Policies    []Result // in any order
	// Measured says that this is no simulation: lines and decisions are of what was seen, not of a run
	// with a seed, and Attainment is the one that was expected.
	Measured bool
	// Remarks stand below the measures.
	Remarks []Remark
}

// Remark is a sentence with what it is about.
type Remark struct{ Name, Text string }

// Objectives are what each request should meet.
type Objectives struct {
	TTFT float64 // ms, 0 where nothing is asked for
	ITL  float64 // ms, 0 where nothing is asked for
	// Attainment is the part of the requests that should meet both, a ratio in
	// [0, 1].
	Attainment float64
}

// Point is a value at one time.
type Point struct {
	At    time.Duration // since the start of the run
	Value float64       // NaN where it is not known
}

// Clairvoyant is what could be had by knowing every arrival in advance.
type Clairvoyant struct {
	// Cost, in cost units, and Attainment, a ratio, are those of a schedule that
	// can be carried out, start-up times included.
	Cost, Attainment Spread
}

// Result is what came of one policy.
type Result struct {
	Name  string // not empty, and of no other policy of the scenario
	About string // where the rule is from, "" for nothing
	Own   bool   // it is one of this project
	// Unfinished says why there is no complete run; "" where there is one. What
	// was measured until then may stand beside it.
	Unfinished string
	Parameters []Parameter // that were tuned
	Measures   Measures
	Variants   []string   // whose replicas the samples count
	Samples    []Sample   // in the order of time
	Decisions  []Decision // in the order of time
}

// Parameter is a parameter of a policy that was tuned.
type Parameter struct {
	Name, Value string
	Default     string
	Tried       []string // Value among them
}

// Sample is the state of one model at the end of one interval. A number that is
// not known is NaN: the latencies where nothing finished.
type Sample struct {
	At       time.Duration      // since the start of the run
	Queued   float64            // requests that wait
	TTFT     float64            // 90th percentile of what finished in the interval [ms]
	ITL      float64            // 90th percentile of what finished in the interval [ms]
	Replicas []scaling.Replicas // that serve, one for each of Policy.Variants
}

// Decision is a change of the replicas that a policy asked for.
type Decision struct {
	At       time.Duration    // since the start of the run
	Variant  string           // one of Policy.Variants
	From, To scaling.Replicas // replicas
	Reason   string           // one sentence
}

// Measures are those of the whole run. A zero Spread is one that is not known.
type Measures struct {
	Attainment              Spread // part of the requests that met both objectives, a ratio
	Cost                    Spread // cost units
	Goodput                 Spread // requests/s that met both objectives
	ReplicaHours            Spread
	TTFTP50, TTFTP90        Spread // ms
	TTFTP99                 Spread // ms
	ITLP50, ITLP90, ITLP99  Spread // ms
	Violation               Spread // part of the time in which too few met their objectives, a ratio
	ScaleEvents, ColdStarts Spread // counts
	Failed                  Spread // requests that did not finish, whatever the cause
	Lost                    Spread // requests lost with a replica that was removed
}
