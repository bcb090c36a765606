package report

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Document is the content of a report. Write does not change it.
type Document struct {
	Title     string     // "" means "Policies compared"
	Commit    string     // of the program that ran the simulations, "" where it is unknown
	Seeds     []uint64   // of the runs behind every Spread
	Scenarios []Scenario // one or more, in the order in which they are offered
}

// Scenario is one model with its clients, and the results of policies. Models that share a stock
// are a scenario each.
type Scenario struct {
	Name        string // not empty, and of no other scenario
	Description string // of the workload and the cluster, a few sentences
	Objectives  Objectives
	Seed        uint64  // of the runs whose samples and decisions are shown
	Offered     []Point // requests/s that arrived, the same for every policy, up to the last arrival
	Clairvoyant Clairvoyant
	Policies    []Result // in any order
	// Measured says that this is no simulation: lines and decisions are measured, not of a run with
	// a seed, and Attainment is the expected one.
	Measured bool
	// Remarks appear below the measures.
	Remarks []Remark
}

// Remark is a sentence with its subject.
type Remark struct{ Name, Text string }

// Objectives are what each request should meet.
type Objectives struct {
	TTFT float64 // ms, 0 for none
	ITL  float64 // ms, 0 for none
	// Attainment is the share of the requests that should meet both, a ratio in [0, 1].
	Attainment float64
}

// Point is a value at one time.
type Point struct {
	At    time.Duration // since the start of the run
	Value float64       // NaN where it is unknown
}

// Clairvoyant is the best schedule that knows every arrival in advance.
type Clairvoyant struct {
	// Cost, in cost units, and Attainment, a ratio, are those of a feasible schedule, start-up
	// times included.
	Cost, Attainment Spread
}

// Result is the result of one policy.
type Result struct {
	Name  string // not empty, and of no other policy of the scenario
	About string // the source of the rule, "" for none
	Own   bool   // it is a policy of this project
	// Unfinished says why there is no complete run, "" if there is one. Partial measurements may
	// appear beside it.
	Unfinished string
	Parameters []Parameter // tuned parameters
	Measures   Measures
	Variants   []string   // whose replicas the samples count
	Samples    []Sample   // in the order of time
	Decisions  []Decision // in the order of time
}

// Parameter is a tuned parameter of a policy.
type Parameter struct {
	Name, Value string
	Default     string
	Tried       []string // Value among them
}

// Sample is the state of one model at the end of one interval. An unknown number is NaN: the
// latencies where no request finished.
type Sample struct {
	At       time.Duration      // since the start of the run
	Queued   float64            // requests that wait
	TTFT     float64            // 90th percentile of the requests that finished in the interval [ms]
	ITL      float64            // 90th percentile of the requests that finished in the interval [ms]
	Replicas []scaling.Replicas // Ready replicas, one number for each of Result.Variants
}

// Decision is a change of the replicas that a policy wants.
type Decision struct {
	At       time.Duration    // since the start of the run
	Variant  string           // one of Result.Variants
	From, To scaling.Replicas // replicas
	Reason   string           // one sentence
}

// Measures are the measures of a policy. A zero Spread is unknown.
type Measures struct {
	Attainment              Spread // share of the requests that met both objectives, a ratio
	Cost                    Spread // cost units
	Goodput                 Spread // requests/s that met both objectives
	ReplicaHours            Spread
	TTFTP50, TTFTP90        Spread // ms
	TTFTP99                 Spread // ms
	ITLP50, ITLP90, ITLP99  Spread // ms
	Violation               Spread // share of the time in which too few requests met their objectives, a ratio
	ScaleEvents, ColdStarts Spread // counts
	Failed                  Spread // requests that did not finish, whatever the cause
	Lost                    Spread // requests lost with a replica that was removed
}
