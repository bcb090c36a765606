package queueing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// telltale is the logarithm of how many times as much a replica must get by the one
	// way of sharing as by the other to tell them apart: 1.65 times, as of three
	// replicas that become five.
	telltale = 0.5
	// follows is the part of that by which what a replica gets must have changed for
	// requests to be shared out by variant, and up to one less that of which they are
	// not.
	follows = 0.6
	// unlike is how many times as much as another a replica must get at least that is said
	// to get more by its variant, however few or many there are.
	unlike = 2
	// filled is for how many times as long as a request takes a replica has to be Ready to
	// compute as many as it will.
	filled = 2
	// enough is how many requests a variant computes from which on what it gets can be
	// compared with what it got.
	enough = 10
)

// filling reports whether a replica became Ready so lately that it does not compute as
// many requests yet as it will.
func filling(snap scaling.Snapshot, all []flow) bool {
	return slices.ContainsFunc(snap.Variants, func(v scaling.Variant) bool {
		i := slices.IndexFunc(all, func(f flow) bool { return f.variant == v.Key })
		newest := v.Replicas.NewestReady
		if i < 0 || newest.IsZero() {
			return false
		}
		return all[i].oldest.Sub(newest) < time.Duration(filled*all[i].takes*float64(time.Millisecond))
	})
}

// measured returns the flows with how long requests take by what is measured: in a batch
// the prefills of others lengthen the ITL of each beyond what the profiles say.
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

// queuing returns the flows with what the replicas get in the place of what they complete:
// what arrives beyond that queues, so that each gets as much more as waits in it. It returns
// false where nothing does.
func queuing(all []flow, rate float64) ([]flow, bool) {
	waits := 0.0
	for _, f := range all {
		rate -= f.completes * f.ready
		if f.queued() {
			waits += f.waits * f.ready
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

// atCounts returns shares as they are with the replicas of now: those by variant are of
// more or fewer replicas then.
func atCounts(past scaling.Shares, all []flow) scaling.Shares {
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

// followed says of shares that were seen while nothing waits whether they are of variants
// or of replicas, once replicas came or went since other such shares: they are of variants
// if what one gets changed as if its variant had got the same. Of two variants with n and m
// replicas then and n' and m' now, a replica of the first gets beside one of the second
//
//	(n / n') (m' / m) times as much as before if it is by variant, and as much if not
func followed(past, now scaling.Shares, all []flow) scaling.Shares {
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

// refuted reports whether requests were taken to be shared out by variant, by which replicas would get unlike
// now, and they get alike.
func refuted(past scaling.Shares, all []flow) bool {
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

// sameReplicas reports whether the shares of now were seen with as many replicas.
func sameReplicas(before, now []scaling.Share) bool {
	return !slices.ContainsFunc(now, func(s scaling.Share) bool {
		return !slices.ContainsFunc(before, func(p scaling.Share) bool { return p.Variant == s.Variant && p.Replicas == s.Replicas })
	})
}

// compared returns by how much of what is to be expected of shares by variant those of now
// differ from those before: about 1 if they are by variant, 0 if not. It is false while
// too few replicas came or went to tell.
func compared(before, now []scaling.Share) (way float64, told bool) {
	seen := map[scaling.VariantKey]scaling.Share{}
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

// treatedUnlike reports whether replicas of one variant get and hold many more requests
// than those of another, and not to fill their KV caches alike: one holds as many in its
// queue as half of what it computes, or has the fuller cache too. The other counts with
// what it may have beside what it has at this moment.
func treatedUnlike(all []flow) bool {
	byGet := func(a, b flow) int { return cmp.Compare(a.completes, b.completes) }
	least, most := slices.MinFunc(all, byGet), slices.MaxFunc(all, byGet)
	few := least.running * least.ready
	least.running = (few + 2*math.Sqrt(few) + 3) / least.ready // of a Poisson distribution, at most
	return most.completes >= unlike*1000*least.running/least.takes &&
		most.running+most.waits >= unlike*(least.running+least.waits) &&
		(most.waits >= most.running/unlike || most.usage >= unlike*least.usage)
}

// part is the part of the requests that each variant that runs gets where they are shared
// out by variant.
func part(sized []sizing, shares scaling.Shares) map[scaling.VariantKey]float64 {
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

// split asks each variant for its part of the demand where requests are shared out by
// variant, and for what waits in it: what others have to spare takes nothing off it. It
// returns in words what the parts are.
func split(a *scaling.Analysis, sized []sizing, load load, snap scaling.Snapshot, past Memory) string {
	if !past.Traffic.Shares.ByVariant {
		return ""
	}
	parts, lead := part(sized, past.Traffic.Shares), scaling.Lead(snap.Variants, past.Interval)
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
	return "; requests are shared out by variant, whatever replicas each has (" + strings.Join(told, ", ") + "), so that each has to carry its part"
}
