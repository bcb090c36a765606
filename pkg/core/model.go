package core

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// Model holds the profiles of one model, by accelerator.
type Model struct {
	Name     string // unique in a System
	Profiles []Profile
}

// Profile holds the measurements of a model on one accelerator.
type Profile struct {
	Accelerator string // its name; once in a Model
	Count       int    // accelerators of one replica; 0 is 1
	// MaxBatch is the number of requests that fit in a batch when each has AtTokens
	// output tokens. Where either is 0, batches hold one request.
	MaxBatch, AtTokens int
	Service            analyzer.ServiceModel
	// Capacity is the greatest rate in requests/s of one replica within the objectives, where it is
	// known without the queueing model. Then Service, MaxBatch and AtTokens are not read, and
	// allocations have neither a batch nor a latency. 0 is unknown.
	Capacity float64
}

// BatchLimit returns the number of requests that fit in a batch when each has outputTokens output
// tokens: MaxBatch x AtTokens / outputTokens, rounded down, at least 1.
func (p Profile) BatchLimit(outputTokens float64) int {
	limit := math.Floor(float64(p.MaxBatch) * float64(p.AtTokens) / outputTokens)
	return int(min(max(limit, 1), math.MaxInt32))
}

// ServiceClass is a named set of objectives with a priority.
type ServiceClass struct {
	Name     string // unique in a System
	Priority int    // lower is more important
	Targets  []Target
}

// Target holds the objectives of one model in one class; 0 is no objective.
type Target struct {
	Model string  // once in a class
	TTFT  float64 // ms
	// TTFTPercentile selects the TTFT: the mean (0), or the TTFT that this share of the requests,
	// in (0, 1), does not exceed. The rules Published accept only means.
	TTFTPercentile float64
	ITL            float64 // ms, mean
	TPS            float64 // output tokens/s of all replicas together
}
