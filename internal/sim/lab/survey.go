package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// hour is the part of a workload that is surveyed where nothing is tuned.
const hour = time.Hour

// opening is the part of a workload for which the first replicas are sized.
const opening = 10 * time.Minute

// Survey is the result of one pass over a workload.
type Survey struct {
	Requests int           // requests read
	Span     time.Duration // from the start to the last request
	// Lengths are the mean lengths in tokens.
	Lengths policy.Workload
	Opening float64 // requests/s of the first ten minutes, or of Span if that is shorter
	Peak    float64 // requests/s of the busiest ten minutes, Opening at least

	sample []workload.Request // every n-th
}

// survey reads a workload up to until, and at least its first request; 0 reads all. A workload
// without requests is an error.
func survey(ctx context.Context, s Source, seed uint64, until time.Duration) (Survey, error) {
	const largest = 4096 // of a sample, of which at least half is kept
	var (
		o     Survey
		bin   = -1 // the last ten minutes with a request
		inBin int
		first int // requests within opening
		every = 1
	)
	for request, err := range s.Open(seed) {
		if err == nil && o.Requests%1024 == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return Survey{}, fmt.Errorf("surveying the workload: %w", err)
		}
		if until > 0 && request.At >= until && o.Requests > 0 {
			break
		}
		if now := int(request.At / opening); now != bin {
			bin, inBin = now, 0
		}
		inBin++
		o.Peak = max(o.Peak, float64(inBin)/opening.Seconds())
		if request.At < opening {
			first++
		}
		if o.Requests%every == 0 {
			o.sample = append(o.sample, request)
		}
		if len(o.sample) == largest {
			every *= 2
			o.sample = everyOther(o.sample)
		}
		o.Requests++
		o.Span = request.At
		o.Lengths.InputTokens += float64(request.InputTokens)
		o.Lengths.OutputTokens += float64(request.OutputTokens)
	}
	if o.Requests == 0 {
		return Survey{}, fmt.Errorf("the workload %s has no requests", s.Name)
	}
	o.Lengths.InputTokens /= float64(o.Requests)
	o.Lengths.OutputTokens /= float64(o.Requests)
	if seconds := min(opening, o.Span).Seconds(); seconds > 0 {
		o.Opening = float64(first) / seconds
	}
	o.Peak = max(o.Peak, o.Opening)
	return o, nil
}

// everyOther keeps the first, the third and so on, in place.
func everyOther(sample []workload.Request) []workload.Request {
	kept := sample[:0]
	for i := 0; i < len(sample); i += 2 {
		kept = append(kept, sample[i])
	}
	return kept
}
