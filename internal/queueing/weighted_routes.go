package queueing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// telltale is the logarithm of the least ratio of what a replica gets by variant and not by
	// variant that tells the two apart: 1.65, as where three replicas become five.
	telltale = 0.5
	// follows is the part of the change expected by variant beyond which requests count as shared
	// by variant. Below 1 - follows they count as not shared by variant.
	follows = 0.6
	// unlike is the least ratio of the requests of two replicas that shows sharing by variant,
	// whatever the numbers of replicas.
	unlike = 2
	// filled is the time after Ready in which a replica fills up, in times of a request.
	filled = 2
	// enough is the least number of running requests of a variant for comparing what it gets now
	// with what it got before.
	enough = 10
)

// filling reports whether a replica became Ready so recently that it is still filling up.
func filling(snap scaling.Snapshot, all []flow) bool {
	return slices.ContainsFunc(snap.Variants, func(v scaling.Variant) bool {
		newest := v.Replicas.NewestReady
		i := slices.IndexFunc(all, func(f flow) bool { return f.variant == v.Key })
		if i < 0 || newest.IsZero() || newest.Sub(snap.At) > snap.Window { // or of another clock
			return false
		}
		return all[i].oldest.Sub(newest) < time.Duration(filled*all[i].takes*float64(time.Millisecond))
	})
}

// measured returns the flows with the time of a request corrected by the measured ITL, by a factor
// of 0.5 to 2: in a batch the prefills of other requests lengthen each ITL beyond the profile.
func measured(all []flow, itl scaling.Reading) []flow {
	ended, sum := 0.0, 0.0
	for _, f := range all {
		ended += f.completes * f.ready
		sum += f.completes * f.ready * f.itl
	}
	if itl.State != scaling.Fresh || !(itl.Value > 0 && sum > 0) {
		return all
	}
	longer := min(2, max(0.5, itl.Value*ended/sum))
	out := slices.Clone(all)
	for i := range out {
		out[i].completes, out[i].takes = out[i].completes/longer, out[i].takes*longer
	}
	return out
}

// queuing returns the flows with what the replicas get in place of what they complete: the part of
// the arrival rate that they do not complete goes to replicas with a queue, in proportion to its
// length. It returns false where nothing queues. The arrival rate is that at the replicas that report.
func queuing(all []flow, rate float64) ([]flow, bool) {
	waits := 0.0
	for _, f := range all {
		rate -= f.completes * f.report
		if f.queued() {
			waits += f.waits * f.report
		}
	}
	if !(rate > 0 && waits > 0) {
		return nil, false
	}
	out := slices.Clone(all)
	for i, f := range all {
		if f.queued() {
			out[i].completes += rate * f.waits / waits
		}
	}
	return out, true
}

// atCounts converts shares to the present numbers of replicas: the weight of a replica depends on
// them where requests are shared by variant.
func atCounts(past memory.Shares, all []flow) memory.Shares {
	if !past.ByVariant {
		return past
	}
	parts, got, ready := map[scaling.VariantKey]float64{}, 0.0, replicas(all)
	for _, s := range past.Of {
		if slices.ContainsFunc(all, func(f flow) bool { return f.variant == s.Variant }) {
			parts[s.Variant] = s.Weight * s.Replicas
			got += parts[s.Variant]
		}
	}
	past.Of = slices.Clone(past.Of)
	for i, s := range past.Of {
		for _, f := range all {
			if f.variant == s.Variant && got > 0 {
				past.Of[i].Weight, past.Of[i].Replicas = parts[s.Variant]/got*ready/f.ready, f.ready
			}
		}
	}
	return past
}

// followed returns the shares now, seen while no queue builds up, with the decision whether
// requests are shared by variant. It decides after replicas came or went: requests are shared by
// variant if what a replica gets changed as if its variant had got the same part, and replicas are
// treated unlike. With n and m replicas of two variants then, and n' and m' now, a replica of the
// first gets, relative to one of the second,
//
//	(n / n') (m' / m) times as much as before if it is by variant, and as much if not
func followed(past, now memory.Shares, all []flow) memory.Shares {
	now.ByVariant, now.Since = past.ByVariant, past.Since
	few := slices.ContainsFunc(all, func(f flow) bool { return f.running*f.ready < enough })
	if few || !sameReplicas(past.Of, now.Of) { // else they are means of before and after
		return now
	}
	switch way, told := compared(now.Since, now.Of); {
	case len(now.Since) == 0, sameReplicas(now.Since, now.Of):
		now.Since = now.Of
	case !told:
	case way > follows && way < 1+follows && treatedUnlike(all):
		now.ByVariant, now.Since = true, now.Of
	case way < 1-follows:
		now.ByVariant, now.Since = false, now.Of
	}
	return now
}

// refuted reports whether the replicas get alike although sharing by variant would treat them
// unlike now.
func refuted(past memory.Shares, all []flow) bool {
	if !past.ByVariant {
		return false
	}
	before := atCounts(past, all)
	byGet := func(a, b flow) int { return cmp.Compare(a.completes, b.completes) }
	if slices.MaxFunc(all, byGet).completes > likeness*slices.MinFunc(all, byGet).completes {
		return false
	}
	least, most := math.Inf(1), 0.0
	for _, f := range all {
		if weight, seen := before.Weight(f.variant); seen {
			least, most = min(least, weight), max(most, weight)
		}
	}
	return most > unlike*likeness*least
}

// sameReplicas reports whether every variant of now had the same number of replicas before.
func sameReplicas(before, now []memory.Share) bool {
	return !slices.ContainsFunc(now, func(s memory.Share) bool {
		return !slices.ContainsFunc(before, func(p memory.Share) bool { return p.Variant == s.Variant && p.Replicas == s.Replicas })
	})
}

// compared returns the change of shares from before to now, as a part of the change expected with
// sharing by variant: about 1 if requests are shared by variant, 0 if not. It returns false while
// too few replicas came or went to tell.
func compared(before, now []memory.Share) (way float64, told bool) {
	seen := map[scaling.VariantKey]memory.Share{}
	for _, s := range before {
		seen[s.Variant] = s
	}
	var changed, expected float64
	for i, a := range now {
		for _, b := range now[i+1:] {
			was, also := seen[a.Variant], seen[b.Variant]
			if was.Replicas*also.Replicas*a.Replicas*b.Replicas == 0 {
				continue
			}
			if by := math.Log(was.Replicas / a.Replicas * b.Replicas / also.Replicas); math.Abs(by) > telltale {
				expected += by * by
				changed += by * math.Log(a.Weight/b.Weight*also.Weight/was.Weight)
			}
		}
	}
	return changed / max(expected, telltale*telltale), expected > 0
}

// treatedUnlike reports whether replicas of one variant get and hold many more requests than those
// of another for a reason other than an even use of KV caches: their queue is at least half of
// their batch, or their caches are at least twice as full. The replicas with fewer requests count
// with the upper bound of a Poisson distribution, not with the present number.
func treatedUnlike(all []flow) bool {
	byGet := func(a, b flow) int { return cmp.Compare(a.completes, b.completes) }
	least, most := slices.MinFunc(all, byGet), slices.MaxFunc(all, byGet)
	few := least.running * least.ready
	least.running = (few + 2*math.Sqrt(few) + 3) / least.ready // of a Poisson distribution, at most
	return most.completes >= unlike*1000*least.running/least.takes &&
		most.running+most.waits >= unlike*(least.running+least.waits) &&
		(most.waits >= most.running/unlike || most.usage >= unlike*least.usage)
}

// part returns the part of the requests that each variant with replicas gets where requests are
// shared by variant.
func part(sized []sizing, shares memory.Shares) map[scaling.VariantKey]float64 {
	got, all := map[scaling.VariantKey]float64{}, 0.0
	for _, s := range shares.Of {
		if slices.ContainsFunc(sized, func(o sizing) bool {
			_, current := o.replicas()
			return o.variant.Key == s.Variant && current > 0
		}) {
			got[s.Variant] = s.Weight * s.Replicas
			all += got[s.Variant]
		}
	}
	for v := range got {
		got[v] /= all
	}
	return got
}

// split adds a ceiling for each variant where requests are shared by variant: its part of the
// demand and what waits in it, since spare replicas of other variants do not help. It returns the
// parts in words.
func split(a *scaling.Analysis, sized []sizing, load load, snap scaling.Snapshot, past Memory) string {
	if !past.Traffic.Shares.ByVariant {
		return ""
	}
	parts, lead := part(sized, past.Traffic.Shares), memory.Lead(snap.Variants, past.Interval)
	waits := map[scaling.VariantKey]float64{}
	for _, s := range snap.Sorted() {
		waits[s.Variant] += s.Waiting().Or(0)
	}
	var told []string
	for _, s := range sized {
		of, seen := parts[s.variant.Key]
		if !seen || s.rate <= 0 {
			continue
		}
		ready, current := s.replicas()
		waiting, serve := waits[s.variant.Key]+of*snap.Load.GatewayQueue.Or(0), s.rate*max(ready, current)
		asked := present(of*load.rate, waiting, s.rate, s.most*max(ready, current), serve, lead)
		if waiting > ready && current <= ready && asked <= serve && past.Backlog.Stands(snap.At, standsFor*snap.Window) && !snap.Young() {
			asked = contradicting(asked, waiting, serve)
		}
		c := scaling.Ceiling{Name: "the part of " + s.variant.Key.Name, Unit: a.Unit, Demand: max(asked, of*load.forecast.Rate)}
		for _, o := range sized {
			l := scaling.Limit{Variant: o.variant.Key}
			if o.variant.Key == s.variant.Key {
				l.PerReplica = s.rate
			}
			c.Variants = append(c.Variants, l)
		}
		a.Ceilings, a.Apart = append(a.Ceilings, c), true
		told = append(told, fmt.Sprintf("%.0f %% to %s", 100*of, s.variant.Key.Name))
	}
	if !a.Apart {
		return ""
	}
	return "; requests are shared out by variant, whatever replicas each has (" + first(told) + "), so that each has to carry its part"
}
