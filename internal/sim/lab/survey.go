package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// hour is the length of the workload on which policies are tuned.
const hour = time.Hour

// opening is how much of a workload the first replicas are sized for.
const opening = 10 * time.Minute

// Survey is what one pass over a workload tells.
type Survey struct {
	Requests int           // that were read
	Span     time.Duration // from the start to the last of them
	// Busiest is when the hour with the most requests begins, in steps of ten
	// minutes.
	Busiest time.Duration
	// Lengths are the mean lengths in tokens.
	Lengths policy.Workload
	Opening float64 // requests/s of the first ten minutes, or of Span if that is shorter
	Peak    float64 // requests/s of the busiest ten minutes, Opening at least

	sample []workload.Request // every n-th
}

// survey reads a workload until a time, and until its first request; 0 reads all
// of it. A workload without requests is an error.
func survey(ctx context.Context, s Source, seed uint64, until time.Duration) (Survey, error) {
	const largest = 4096 // of a sample: twice what is kept at least
	var (
		o      Survey
		recent tally
		first  int // requests within opening
		every  = 1
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
		recent.add(request.At)
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
	o.Busiest = recent.busiest
	o.Lengths.InputTokens /= float64(o.Requests)
	o.Lengths.OutputTokens /= float64(o.Requests)
	if seconds := min(opening, o.Span).Seconds(); seconds > 0 {
		o.Opening = float64(first) / seconds
	}
	o.Peak = max(o.Opening, float64(recent.fullest)/opening.Seconds())
	return o, nil
}

// perHour is the number of bins of a tally, of ten minutes each.
const perHour = int(hour / opening)

// tally counts the requests of the last hour as it slides along.
type tally struct {
	bins    [perHour]int  // one after the other, as a ring
	last    int           // the bin of the last request, from the start of the workload
	inHour  int           // requests in all bins
	fullest int           // requests that any bin ever had
	most    int           // that inHour ever was
	busiest time.Duration // the start of the hour that had them
}

// add counts a request that arrives no earlier than those before it.
func (t *tally) add(at time.Duration) {
	bin := int(at / opening)
	if bin-t.last >= perHour { // nothing arrived for an hour
		*t = tally{last: bin, fullest: t.fullest, most: t.most, busiest: t.busiest}
	}
	for t.last < bin {
		t.last++
		t.inHour -= t.bins[t.last%perHour]
		t.bins[t.last%perHour] = 0
	}
	t.bins[bin%perHour]++
	t.fullest = max(t.fullest, t.bins[bin%perHour])
	if t.inHour++; t.inHour > t.most {
		t.most, t.busiest = t.inHour, time.Duration(max(0, bin-perHour+1))*opening
	}
}

// everyOther keeps the first, the third and so on, in place.
func everyOther(sample []workload.Request) []workload.Request {
	kept := sample[:0]
	for i := 0; i < len(sample); i += 2 {
		kept = append(kept, sample[i])
	}
	return kept
}
