package queueing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// load is the load of a model.
type load struct {
	rate    float64 // requests/s that arrive
	backlog float64 // requests that wait
	// running are the requests that replicas compute now, as far as they say so, of
	// each variant and in all.
	running   map[scaling.VariantKey]float64
	inBatches float64
	// unsure lists the replicas that do not say, Fresh, how many requests wait: they
	// count as full when others could go. Sorted by variant, pod.
	unsure []scaling.ReplicaSample
	// input and output are tokens per request, input without those found in the
	// prefix cache, output at least 1; prompt is input with them. All are 0 while they
	// are not known because nothing arrives or waits.
	input, output, prompt float64
	forecast              Forecast // of the rate
	doubt                 string   // why the load of the model is not known well enough to shrink, "" if it is
	stale                 bool     // the doubt is about a reading that is not Fresh
}

// asked describes how much of the load is to be served, where that is demand in requests/s.
func (l load) asked(demand float64) string {
	now := fmt.Sprintf("%.3g arrive, %.0f wait", l.rate, l.backlog)
	f := l.forecast
	if f.Rate < demand || f.Rate == 0 {
		return fmt.Sprintf("%.3g requests/s are to be served (%s)", demand, now)
	}
	if f.Headroom > 0 {
		return fmt.Sprintf("%.3g requests/s are to be served (%s), with headroom of %.0f %%: a replica ordered now is Ready in %s",
			demand, now, 100*f.Headroom, f.Lead.Round(time.Second))
	}
	return fmt.Sprintf("%.3g requests/s are expected in %s (%s now; %.2g more a minute have come for %s; a replica ordered now is Ready in %s)",
		f.Rate, f.In.Round(time.Second), now, f.Growth, f.Over.Round(time.Second), f.Lead.Round(time.Second))
}

// none reports whether there is nothing to size with.
func (l load) none() bool { return l.output == 0 }

// measure reads the load from a Snapshot, or says what is missing.
func measure(snap scaling.Snapshot) (load, string) {
	if !snap.Load.ArrivalRate.Known() {
		if snap.Fault != "" {
			return load{}, snap.Fault
		}
		return load{}, fmt.Sprintf("the arrival rate is %s", snap.Load.ArrivalRate.State)
	}
	l := load{rate: snap.Load.ArrivalRate.Value, running: map[scaling.VariantKey]float64{}}
	l.doubtful("arrival rate", snap.Load.ArrivalRate)
	l.backlog = snap.Load.GatewayQueue.Or(0)
	if snap.Load.GatewayQueue.State != scaling.NotApplicable {
		l.doubtful("gateway queue", snap.Load.GatewayQueue)
	}
	for _, s := range snap.Sorted() {
		waiting := s.Waiting()
		l.backlog += waiting.Or(0)
		l.running[s.Variant] += s.Running.Or(0)
		l.inBatches += s.Running.Or(0)
		if waiting.State != scaling.Fresh {
			l.unsure = append(l.unsure, s)
		}
	}
	input, output := snap.Load.InputTokens, snap.Load.OutputTokens
	if l.rate == 0 && l.backlog == 0 && (l.inBatches == 0 || !input.Known() || !output.Known()) {
		return l, ""
	}
	if !input.Known() || !output.Known() {
		return load{}, fmt.Sprintf("requests arrive and their lengths are not known: input tokens %s, output tokens %s", input.State, output.State)
	}
	l.doubtful("input tokens", input)
	l.doubtful("output tokens", output)
	l.input, l.output, l.prompt = input.Value*(1-min(1, snap.Load.PrefixHits.Or(0))), max(1, output.Value), input.Value
	return l, ""
}

// doubtful notes a reading that is not Fresh, the alphabetically first of all so
// that their order does not matter.
func (l *load) doubtful(name string, r scaling.Reading) {
	if r.State == scaling.Fresh {
		return
	}
	if doubt := fmt.Sprintf("the %s is %s", name, r.State); l.doubt == "" || doubt < l.doubt {
		l.doubt, l.stale = doubt, true
	}
}

// namedAtMost is how many pods a sentence names.
const namedAtMost = 3

// unsurePods names the replicas that are unsure.
func (l load) unsurePods() string {
	var pods []string
	for _, s := range l.unsure {
		pods = append(pods, s.Pod)
	}
	slices.Sort(pods)
	return first(pods)
}

// first lists the first texts, and the number of the others.
func first(texts []string) string {
	return scaling.FirstOf(texts, namedAtMost, func(text string) string { return text })
}

// smoothed returns the load with the mean lengths of the last minutes, and with the mean rate of
// the last three windows. If the last window differs from that mean by more than noise, its own
// rate is kept. Without the mean, a rate that moves by a tenth from cycle to cycle orders one
// replica in ten too many.
func (l load) smoothed(snap scaling.Snapshot, past Memory) load {
	if input, output, known := past.Traffic.Means.Lengths(); known && !l.none() && l.prompt > 0 {
		missed := l.input / l.prompt // not found in prefix caches
		l.prompt, l.input, l.output = input, input*missed, max(1, output)
	}
	points := past.Traffic.Arrivals.Apart(windowsInMean, past.Interval)
	if l.none() {
		return l
	}
	if points == nil || !points[0].At.Equal(snap.At) {
		return l
	}
	sum := 0.0
	for _, p := range points {
		sum += p.Rate
	}
	rate := sum / windowsInMean
	if math.Abs(l.rate-rate) <= deviations*math.Sqrt(rate/points[0].Over.Seconds()) {
		l.rate = rate
	}
	return l
}

const (
	// windowsInMean is the number of windows in the mean of a rate.
	windowsInMean = 3
	// deviations is by how many standard deviations of Poisson arrivals a window must differ from
	// the mean to be more than noise.
	deviations = 2
)
