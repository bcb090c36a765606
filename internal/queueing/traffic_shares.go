package queueing

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// sharesKept is how long shares count after they were last seen. After that, another routing is
	// worth a try.
	sharesKept = 6 * time.Hour
	// telling is the mean number of requests in a batch of a variant from which on it tells how
	// many requests the variant gets.
	telling = 2
)

// flow is what one replica of a variant gets and completes, in requests/s, how long a
// request takes in it and how many wait.
type flow struct {
	variant   scaling.VariantKey
	ready     float64
	report    float64 // of the Ready replicas, those with fresh readings: the others count as their mean
	running   float64
	completes float64
	takes     float64 // ms
	itl       float64 // ms
	waits     float64
	usage     float64   // of the KV cache, a ratio
	started   float64   // requests/s that got their first token, where that is measured
	oldest    time.Time // of its readings
}

// add adds a replica of the variant, with its readings where they are fresh.
func (f *flow) add(s scaling.ReplicaSample) {
	f.ready++
	if s.Running.State != scaling.Fresh || s.Waiting().State != scaling.Fresh {
		return
	}
	if f.report == 0 || s.At.Before(f.oldest) {
		f.oldest = s.At
	}
	f.report++
	f.running += s.Running.Value
	f.waits += s.Waiting().Value
	f.started += s.Pace.Started
	f.usage += s.KVCacheUsageNow.Or(s.KVCacheUsage.Or(0))
}

// queued reports whether requests wait in the replicas.
func (f flow) queued() bool { return f.waits > 1 }

// flows computes what the replicas of each variant complete by the profiles,
//
//	completed = running / total time of a request in such a batch
//
// sorted by variant. It returns nil where fewer than half of the replicas of a variant report it, or where
// only one variant serves.
func flows(snap scaling.Snapshot) []flow {
	l := snap.Load
	if l.ArrivalRate.State != scaling.Fresh || !l.InputTokens.Known() || !l.OutputTokens.Known() {
		return nil
	}
	input, output := l.InputTokens.Value*(1-min(1, l.PrefixHits.Or(0))), max(1, l.OutputTokens.Value)
	profiles := map[scaling.VariantKey]scaling.Profile{}
	for _, v := range snap.Variants {
		profiles[v.Key] = v.Profile
	}
	var out []flow
	for _, s := range snap.Sorted() {
		if !profiles[s.Variant].Usable() {
			return nil
		}
		if n := len(out); n == 0 || out[n-1].variant != s.Variant {
			out = append(out, flow{variant: s.Variant})
		}
		last := &out[len(out)-1]
		last.add(s)
	}
	if len(out) < 2 {
		return nil
	}
	for i, f := range out {
		if 2*f.report < f.ready {
			return nil
		}
		p := profiles[f.variant]
		f.running, f.waits, f.usage, f.started = f.running/f.report, f.waits/f.report, f.usage/f.report, f.started/f.report
		takes := p.Gamma + p.Delta*input*f.running + (output-1)*(p.Alpha+p.Beta*f.running)
		if takes <= 0 {
			return nil
		}
		f.completes, f.takes = 1000*f.running/takes, takes
		f.itl = p.Alpha + p.Beta*f.running
		out[i] = f
	}
	return out
}

// started returns the flows with what the replicas started, as measured, in place of what they
// complete. It returns false where that was not measured over a whole window in which all were
// Ready, or is too little to compare.
func started(snap scaling.Snapshot, all []flow) ([]flow, bool) {
	young := snap.Young()
	out := slices.Clone(all)
	for i, f := range all {
		if young || f.started*f.ready*snap.Window.Seconds() < enough {
			return nil, false
		}
		out[i].completes = f.started
	}
	return out, true
}

// learn returns the shares with those of snap. They are first seen where requests wait in all
// replicas of some variants while the others have none: what arrives and does not go to the others
// goes to the first. From then on, while nothing waits, what the replicas complete updates them.
func learn(past memory.Shares, snap scaling.Snapshot, backlog memory.Backlog) memory.Shares {
	if snap.At.Sub(past.At) > sharesKept {
		past = memory.Shares{}
	}
	all := flows(snap)
	if all == nil || !snap.At.After(past.At) || filling(snap, all) {
		return past
	}
	full := queuedReplicas(all)
	if now, seen := started(snap, all); full == 0 && seen && refuted(past, now) {
		return remembered(memory.Shares{}, past, now, snap.At)
	}
	switch {
	case full > 0 && full < replicas(all) && backlog.Stands(snap.At, snap.Window):
		return seenQueuing(past, snap, all)
	case full == 0 && len(past.Of) > 0 && !slices.ContainsFunc(all, func(f flow) bool { return f.running < telling }):
		return followed(past, remembered(atCounts(past, all), past, all, snap.At), all)
	}
	return past
}

// seenQueuing returns the shares by what goes to the replicas in which requests wait. They are by variant
// where that is known already, or where no equal treatment of replicas explains them.
func seenQueuing(past memory.Shares, snap scaling.Snapshot, all []flow) memory.Shares {
	arriving, ok := queuing(measured(all, snap.Load.ITL), snap.Load.ArrivalRate.Value)
	byVariant := past.ByVariant || ok && treatedUnlike(arriving)
	if !byVariant {
		arriving, ok = fed(all, snap.Load.ArrivalRate.Value)
	}
	if !ok {
		return past
	}
	out := remembered(memory.Shares{}, past, arriving, snap.At)
	out.ByVariant, out.Since = byVariant, past.Since
	return out
}

// fed returns the flows with what the replicas get in place of what they complete: the replicas in
// which requests wait get the part of the arrival rate that the others do not complete; it is that
// at the replicas that report. It returns false where they complete what they get: then the queue
// has another cause.
func fed(all []flow, rate float64) ([]flow, bool) {
	full := 0.0
	for _, f := range all {
		if !f.queued() {
			rate -= f.completes * f.report
		} else {
			full += f.report
		}
	}
	out := slices.Clone(all)
	for i, f := range all {
		switch {
		case !f.queued():
		case rate/full <= f.completes:
			return nil, false
		default:
			out[i].completes = rate / full
		}
	}
	return out, true
}

// queuedReplicas returns the number of replicas in which requests wait.
func queuedReplicas(all []flow) float64 {
	sum := 0.0
	for _, f := range all {
		if f.queued() {
			sum += f.ready
		}
	}
	return sum
}

func replicas(all []flow) float64 {
	sum := 0.0
	for _, f := range all {
		sum += f.ready
	}
	return sum
}

// remembered returns the weights of the flows, each the mean with its weight before where there is
// one, and the weights of variants that are not among them.
func remembered(before, beside memory.Shares, all []flow, at time.Time) memory.Shares {
	mean := 0.0
	for _, f := range all {
		mean += f.completes * f.ready
	}
	mean /= replicas(all)
	if !(mean > 0) {
		return beside
	}
	out, was, is := memory.Shares{At: at}, 0.0, 0.0
	for _, f := range all {
		if last, seen := beside.Weight(f.variant); seen {
			was, is = was+last, is+f.completes/mean
		}
		weight := max(f.completes/mean, little)
		if last, seen := before.Weight(f.variant); seen {
			weight = (weight + last) / 2
		}
		out.Of = append(out.Of, memory.Share{Variant: f.variant, Weight: weight, Replicas: f.ready})
	}
	for _, s := range beside.Of {
		if was > 0 && is > 0 {
			s.Weight *= is / was // beside the mean of those that run now
		}
		if !slices.ContainsFunc(all, func(f flow) bool { return f.variant == s.Variant }) {
			out.Of = append(out.Of, s)
		}
	}
	slices.SortFunc(out.Of, func(a, b memory.Share) int { return a.Variant.Compare(b.Variant) })
	return out
}

// asShared returns the sizings with what a replica carries under the shares that were seen. A fleet
// is full as soon as the replicas of one variant are, so that the others carry no more than their
// share of that:
//
//	carried = weight x min over the variants that run (rate / weight)
//
// A variant that does not run and would be full first reduces what the others carry: it is no
// candidate. Nor is a variant that carries no more than its share while replicas of the full
// variant can be added, unless all replicas get about the same: then requests may be shared by
// variant, and more of its replicas do not relieve the full one.
func asShared(sized []sizing, shares memory.Shares) []sizing {
	if len(shares.Of) == 0 || shares.ByVariant {
		return sized
	}
	least, known := firstFull(sized, shares)
	if !known {
		return sized
	}
	out := slices.Clone(sized)
	helpless := relieved(sized, shares, least) && !alike(sized, shares)
	for i, s := range out {
		weight, seen := shares.Weight(s.variant.Key)
		if !seen || s.rate <= 0 {
			continue
		}
		_, current := s.replicas()
		switch share := least * weight; {
		case share < s.rate*(1-little): // not of the one that is full, by rounding
			out[i].rate, out[i].most = share, s.most*share/s.rate
			out[i].fixed = s.fixed || helpless
			out[i].source += "; no more than its share of the requests, with which another variant is full"
		case current == 0 && share > s.rate*(1+little):
			out[i].fixed = true
			out[i].source += "; its share of the requests would be too large for it"
		}
	}
	return out
}

// firstFull returns the rate per weight at which the replicas of the first running variant are
// full, and whether that is known of one.
func firstFull(sized []sizing, shares memory.Shares) (least float64, known bool) {
	for _, s := range sized {
		_, current := s.replicas()
		weight, seen := shares.Weight(s.variant.Key)
		if current == 0 || !seen || s.rate <= 0 || weight <= 0 {
			continue
		}
		if full := s.rate / weight; !known || full < least {
			least, known = full, true
		}
	}
	return least, known
}

// relieved reports whether replicas can be added to a variant that is full first, at least
// requests/s per weight. They cannot while no node takes those that it has.
func relieved(sized []sizing, shares memory.Shares, least float64) bool {
	return slices.ContainsFunc(sized, func(s sizing) bool {
		_, current := s.replicas()
		weight, seen := shares.Weight(s.variant.Key)
		return current > 0 && seen && s.rate > 0 && s.rate <= least*weight*(1+little) &&
			!s.fixed && !s.variant.Paused && s.variant.Bounds.Max > s.variant.Replicas.Current && s.variant.Replicas.Unschedulable == 0
	})
}

// likeness is the largest ratio of the requests of two replicas that still counts as the same:
// shares are read from whole numbers of requests.
const likeness = 1.5

// alike reports whether the replicas of all running variants get about the same number of requests.
func alike(sized []sizing, shares memory.Shares) bool {
	var weights []float64
	for _, s := range sized {
		_, current := s.replicas()
		if weight, seen := shares.Weight(s.variant.Key); seen && current > 0 {
			weights = append(weights, weight)
		}
	}
	return len(weights) == 0 || slices.Max(weights) <= likeness*slices.Min(weights)
}
