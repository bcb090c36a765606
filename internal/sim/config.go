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
	Start  time.Time // start of virtual time; zero means 2025-01-01 00:00 UTC
	Models []Model   // one or more
	Nodes  []Nodes   // nodes of the accelerators with a limited stock; the others never run out

	// Sync is the time between two looks of the scaler at the decisions that it carries out, 15s
	// for a HorizontalPodAutoscaler. 0 carries them out at once.
	Sync time.Duration
	// Tolerance is the ratio, in [0, 1), by which a decision may differ from the replicas of the
	// target without being carried out: 0.1 for a HorizontalPodAutoscaler with its defaults. It
	// does not apply to decisions from or to zero.
	Tolerance float64
	// Faults go wrong during the run. Their random draws are seeded like the rest.
	Faults []fault.Fault
	// ScrapeInterval is the scrape interval of the metrics store. Default 15s.
	ScrapeInterval time.Duration
	// MissedScrapes is the share of the scrapes that fail, a ratio in [0, 1).
	MissedScrapes float64
	// Interval is the length of the intervals in which the run is measured. Default 1m.
	Interval time.Duration
	// Duration is when arrivals and the counting of cost end. 0 means with the last arrival.
	Duration time.Duration
	// Tail is how long the run follows requests after that. Default 10m.
	Tail time.Duration
	// From is when judging begins: no Report has the requests that arrive before it, or the cost
	// before it, except as Before. Intervals have everything. Default 0.
	From time.Duration
	// Bin is the length of the Bins of a Report. Default 10m.
	Bin time.Duration

	// OnInterval gets every interval of every model. OnDecision gets every target whose replicas
	// differ from the last one, or from the current replicas if it is the first. Nil ignores them.
	OnInterval func(Interval)
	OnDecision func(at time.Duration, target Target)

	// check is called after every event, with all replicas up to date.
	check func(*world) error
}

// Model is a model with its clients and its variants.
type Model struct {
	Key scaling.ModelKey
	// Requests arrive in the order of time. The sequence is consumed once.
	Requests iter.Seq2[workload.Request, error]
	SLO      SLO
	Routing  Routing
	// Hold is how long the gateway keeps a request while no replica is ready; 0 rejects it at once.
	// A gateway that holds requests exports its queue.
	Hold     time.Duration
	Patience Patience
	Prefix   Prefix
	Transfer Transfer  // for a model with variants of RolePrefill
	Variants []Variant // one or more
}

// Patience is how long clients wait for their requests. When its patience is over, a client takes
// back a request that waits at the gateway, or in the queue of a replica without a token yet: the
// request is a miss, and counts as abandoned. A request in a batch goes on. The zero value is
// patience without end.
type Patience struct {
	// Mean and Deviation describe the lognormal that is drawn from for each request; >= 0. Mean 0
	// means patience without end.
	Mean, Deviation time.Duration
	// Retry is the share of the clients with lost patience that come back, a ratio in [0, 1). They
	// come back after an exponential time with the mean After, >= 0, with a request of the same
	// lengths and patience drawn anew. It stays one request of the user, and a miss: the retry is
	// load for the fleet, and only Retried counts it.
	Retry float64
	After time.Duration
}

// Prefix says how much prompts share with earlier ones. The zero value shares nothing.
type Prefix struct {
	// Share is the share of the prompts that begin like an earlier one, in [0, 1]. Part is the
	// share of such a prompt that a replica has in its cache once it has seen one, in [0, 1).
	Share, Part float64
	// Warm is the number of prompts that fill the cache of a new replica to 1 - 1/e: after n
	// prompts, the cache has the shared part of another one with probability 1 - exp(-n/Warm). 0
	// fills it at once. Replicas of the start are warm.
	Warm float64
}

// SLO is the objective of each request of a model. 0 asks for nothing.
type SLO struct {
	TTFT float64 `json:"ttft"` // ms, >= 0
	ITL  float64 `json:"itl"`  // ms, mean over the tokens of the request, >= 0
	// Attainment is the share of the requests of an interval that must meet both objectives, else
	// the interval is in violation; a ratio in [0, 1].
	Attainment float64 `json:"attainment"`
}

// Variant is one way to serve a model.
type Variant struct {
	// Spec is what the autoscaler knows of the variant. The run fills in Model, Replicas and
	// StartUp.
	Spec     scaling.Variant
	Profile  serving.Profile
	StartUp  StartUp
	Replicas scaling.Replicas // at the start, Ready at once; >= 0
	// Weight is the variant's part of the requests of a Weighted gateway, relative to the other
	// variants, >= 0; 0 means 1.
	Weight float64
	// Grace is how long a removed replica may take to finish its requests; 0 kills it at once. The
	// default of Kubernetes is 30s.
	Grace time.Duration
	// Replica makes a replica of the variant. Nil means a serving.Replica with Profile.
	Replica func() (Replica, error)
}

// StartUp is the distribution of the time from when a replica gets its node to when it is ready:
// lognormal, or constant where Deviation is 0.
type StartUp struct {
	Mean      time.Duration // >= 0
	Deviation time.Duration // standard deviation, >= 0
}

// Draw returns a time with the mean and the standard deviation of s.
func (s StartUp) Draw(rng *rand.Rand) time.Duration {
	z := rng.NormFloat64() // always drawn, so that later draws do not depend on s
	if s.Deviation == 0 || s.Mean == 0 {
		return s.Mean
	}
	cv := s.Deviation.Seconds() / s.Mean.Seconds()
	variance := math.Log1p(cv * cv)
	return time.Duration(float64(s.Mean) * math.Exp(math.Sqrt(variance)*z-variance/2))
}

// Nodes describes the nodes with one type of accelerator. A replica takes its accelerators from one
// node.
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
