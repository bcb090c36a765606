package sim

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Config describes a run.
type Config struct {
	Seed   uint64
	Start  time.Time // of virtual time; zero means 2025-01-01 00:00 UTC
	Models []Model   // one or more
	Nodes  []Nodes   // of the accelerators whose stock is limited; the others never run out

	// Sync is the time between two looks at the decisions by the scaler that carries them
	// out, 15s for a HorizontalPodAutoscaler. 0 carries them out at once.
	Sync time.Duration
	// Tolerance is the part by which a decision may differ from what the target asks
	// for without being carried out, in [0, 1): 0.1 for a HorizontalPodAutoscaler with
	// its defaults. From and to zero it does not count.
	Tolerance float64
	// Faults are what goes wrong. What they draw is seeded like the rest.
	Faults []fault.Fault
	// ScrapeInterval is that of the metrics store. Default 15s.
	ScrapeInterval time.Duration
	// MissedScrapes is the part of the scrapes that fail, a ratio in [0, 1).
	MissedScrapes float64
	// Interval is the length of the stretches in which the run is measured.
	// Default 1m.
	Interval time.Duration
	// Duration ends arrivals and the counting of cost. 0 ends them with the last
	// arrival.
	Duration time.Duration
	// Tail is for how long requests are followed after that. Default 10m.
	Tail time.Duration
	// From begins what is judged: requests that arrive before it, and what replicas
	// cost before it, are in no Report. Intervals have everything. Default 0.
	From time.Duration
	// Bin is the length of the Bins of a Report. Default 10m.
	Bin time.Duration

	// OnInterval is told of every interval of every model, OnDecision of every
	// target that differs from the one before it. Nil ignores them.
	OnInterval func(Interval)
	OnDecision func(at time.Duration, target Target)

	// check is called after every event, with all replicas up to date.
	check func(*world) error
}

// Model is a model with its users and its variants.
type Model struct {
	Key scaling.ModelKey
	// Requests arrive in the order of time. The sequence is consumed once.
	Requests iter.Seq2[workload.Request, error]
	SLO      SLO
	Routing  Routing
	// Hold is for how long the gateway keeps a request while no replica is ready;
	// 0 rejects it at once. A gateway that holds requests exports its queue.
	Hold     time.Duration
	Patience Patience
	Prefix   Prefix
	Transfer Transfer  // of a model with variants of RolePrefill
	Variants []Variant // one or more
}

// Patience is for how long clients wait for their requests. A client whose request
// still waits when its patience is over, at the gateway or in the queue of a replica
// and without a token, takes it back: it is a miss, and counts as abandoned. What is
// in a batch by then goes on. The zero value is patience without end.
type Patience struct {
	// Mean and Deviation are those of a lognormal, drawn for each request; >= 0. Mean 0
	// is without end.
	Mean, Deviation time.Duration
	// Retry is the part of the clients that leave and come back, a ratio in [0, 1).
	// They come back after a time that is exponential with the mean After, >= 0, with
	// a request of the same lengths and patience drawn anew. The user's request stays
	// one, and a miss: what came back is load for the fleet, and in no count but
	// Retried.
	Retry float64
	After time.Duration
}

// Prefix is what prompts share with earlier ones. The zero value shares nothing.
type Prefix struct {
	// Share is the part of the prompts that begin like an earlier one, and Part what
	// of such a prompt is in the cache of a replica that has seen it, ratios in [0, 1]
	// and [0, 1).
	Share, Part float64
	// Warm is how many prompts fill the cache of a new replica to 1 - 1/e: after n of
	// them a prompt that begins like an earlier one is found with probability
	// 1 - exp(-n/Warm). 0 fills it at once. Replicas of the start are warm.
	Warm float64
}

// SLO is what each request of a model should meet. 0 asks for nothing.
type SLO struct {
	TTFT float64 `json:"ttft"` // ms, >= 0
	ITL  float64 `json:"itl"`  // ms, mean over the tokens of the request, >= 0
	// Attainment is the part of the requests of an interval that must meet both
	// for it not to be in violation, a ratio in [0, 1].
	Attainment float64 `json:"attainment"`
}

// Variant is one way to serve a model.
type Variant struct {
	// Spec is what the autoscaler knows of it. Model, Replicas and StartUp are
	// filled in by the run.
	Spec     scaling.Variant
	Profile  serving.Profile
	StartUp  StartUp
	Replicas scaling.Replicas // at the start, Ready at once; >= 0
	// Weight is the part of the requests that a Weighted gateway sends to the variant,
	// relative to that of the others, >= 0; 0 means 1.
	Weight float64
	// Grace is how long a removed replica may take to finish what it holds; 0
	// kills it at once. Kubernetes gives 30s by default.
	Grace time.Duration
	// Replica makes what serves, nil means a serving.Replica with Profile.
	Replica func() (Replica, error)
}

// StartUp is the distribution of the time from when a replica is placed on a
// node to when it is ready: lognormal, or constant where Deviation is 0.
type StartUp struct {
	Mean      time.Duration // >= 0
	Deviation time.Duration // standard deviation, >= 0
}

// Draw returns a time with the mean and the standard deviation of s.
func (s StartUp) Draw(rng *rand.Rand) time.Duration {
	z := rng.NormFloat64() // drawn in any case, so that what follows does not depend on it
	if s.Deviation == 0 || s.Mean == 0 {
		return s.Mean
	}
	cv := s.Deviation.Seconds() / s.Mean.Seconds()
	variance := math.Log1p(cv * cv)
	return time.Duration(float64(s.Mean) * math.Exp(math.Sqrt(variance)*z-variance/2))
}

// Nodes are the nodes with one type of accelerator. A replica takes its
// accelerators from one node.
type Nodes struct {
	Accelerator string               // as in scaling.Variant
	Count       int                  // nodes, >= 0
	GPUs        scaling.Accelerators // per node, >= 1
}

// withDefaults returns c with every unset duration filled in.
func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{
		{&c.ScrapeInterval, 15 * time.Second},
		{&c.Interval, time.Minute},
		{&c.Tail, 10 * time.Minute},
		{&c.Bin, 10 * time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	if c.Start.IsZero() {
		c.Start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return c
}
