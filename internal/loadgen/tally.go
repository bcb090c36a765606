package loadgen

import (
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// tally counts the results of requests. It is safe for concurrent use.
type tally struct {
	slo   SLO
	start time.Time

	mu       sync.Mutex
	total    Summary // only counts; summary fills in the other fields
	inFlight int

	ttft, itl, gaps, e2e, lag *sample

	since    time.Time // the previous progress
	previous int       // requests then
	interval Interval  // its counts; its latencies are sums
	itls     int       // completed in it with an ITL
}

func newTally(slo SLO, seed uint64, start time.Time) *tally {
	return &tally{
		slo: slo, start: start, since: start,
		total: Summary{Errors: map[Kind]int{}, Examples: map[Kind]string{}},
		ttft:  newSample(sampleBound, seed),
		itl:   newSample(sampleBound, seed+1),
		gaps:  newSample(sampleBound, seed+2),
		e2e:   newSample(sampleBound, seed+3),
		lag:   newSample(sampleBound, seed+4),
	}
}

// begin counts a request that is due, and reports whether it may be sent.
func (t *tally) begin(r workload.Request, maxInFlight int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Requests++
	if t.inFlight >= maxInFlight {
		t.fail(NotSent, "more requests were under way than --max-in-flight allows")
		t.judge(false)
		return false
	}
	t.inFlight++
	t.total.Sent++
	t.total.InputTokens += r.InputTokens
	return true
}

// end counts the result of a request that was sent.
func (t *tally) end(r *result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	t.total.OutputTokens += r.tokens
	t.lag.add(milliseconds(r.lag))
	for _, gap := range r.gaps {
		t.gaps.add(gap)
	}
	switch r.kind {
	case "":
		t.complete(r)
		t.judge(r.meets(t.slo))
	case Interrupted:
		t.total.Interrupted++
		if r.late(t.slo) {
			t.judge(false)
		}
	default:
		t.fail(r.kind, r.err.Error())
		t.judge(false)
	}
}

func (t *tally) complete(r *result) {
	t.total.Completed++
	t.interval.Completed++
	t.ttft.add(milliseconds(r.ttft))
	t.e2e.add(milliseconds(r.e2e))
	t.interval.TTFT += milliseconds(r.ttft)
	if itl, ok := r.itl(); ok {
		t.itl.add(milliseconds(itl))
		t.interval.ITL += milliseconds(itl)
		t.itls++
	}
}

func (t *tally) fail(kind Kind, example string) {
	t.total.Failed++
	t.interval.Failed++
	t.total.Errors[kind]++
	if t.total.Examples[kind] == "" {
		t.total.Examples[kind] = example
	}
}

func (t *tally) judge(met bool) {
	t.total.Judged++
	t.interval.Judged++
	if met {
		t.total.Met++
		t.interval.Met++
	}
}

// progress returns the progress of the run and begins a new interval.
func (t *tally) progress(now time.Time) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.interval
	last.Duration = now.Sub(t.since)
	last.Rate = per(float64(t.total.Requests-t.previous), last.Duration.Seconds())
	last.TTFT = per(last.TTFT, float64(last.Completed))
	last.ITL = per(last.ITL, float64(t.itls))
	t.since, t.previous, t.interval, t.itls = now, t.total.Requests, Interval{}, 0
	return Progress{
		Elapsed:    now.Sub(t.start),
		Requests:   t.total.Requests,
		InFlight:   t.inFlight,
		Completed:  t.total.Completed,
		Failed:     t.total.Failed,
		Judged:     t.total.Judged,
		Attainment: per(float64(t.total.Met), float64(t.total.Judged)),
		Last:       last,
	}
}

// summary returns the Summary when no request is under way. Requests became due until sent, and the
// last answer came at end; a single request has no rate.
func (t *tally) summary(sent, end time.Time) Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.total
	s.SLOTTFT, s.SLOITL = milliseconds(t.slo.TTFT), milliseconds(t.slo.ITL)
	if s.Judged > 0 {
		attainment := float64(s.Met) / float64(s.Judged)
		s.Attainment = &attainment
	}
	s.TTFT, s.ITL, s.Gaps = t.ttft.distribution(), t.itl.distribution(), t.gaps.distribution()
	s.E2E, s.SendLag = t.e2e.distribution(), t.lag.distribution()
	s.Duration = end.Sub(t.start).Seconds()
	if s.Requests > 1 {
		s.Rate = per(float64(s.Sent), sent.Sub(t.start).Seconds())
	}
	s.InputRate = per(float64(s.InputTokens), s.Duration)
	s.OutputRate = per(float64(s.OutputTokens), s.Duration)
	return s
}

// per returns a/b, or 0 when b is 0.
func per(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
