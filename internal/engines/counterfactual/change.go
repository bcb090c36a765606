package counterfactual

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Loaded returns c with the load of a model times factor, > 0; see the package comment.
func Loaded(setup cycle.Setup, c cycle.Case, of scaling.ModelKey, factor float64) cycle.Case {
	loaded := timesLoad(c, of, factor)
	if factor >= 1 {
		return loaded
	}
	was, is := meanLatencies(setup, c, of), meanLatencies(setup, loaded, of)
	faster := func(l scaling.Load, of scaling.Role) scaling.Load {
		before, known := was[of]
		if now, still := is[of]; known && still {
			l.TTFT, l.ITL = shorter(l.TTFT, now.TTFT, before.TTFT), shorter(l.ITL, now.ITL, before.ITL)
		}
		return l
	}
	return withSnapshot(loaded, of, func(s scaling.Snapshot) scaling.Snapshot {
		s.Load, s.Roles = faster(s.Load, ""), slices.Clone(s.Roles)
		for i, r := range s.Roles {
			s.Roles[i].Load = faster(r.Load, r.Role)
		}
		return s
	})
}

// shorter returns r times is/was, at most r; r itself where it is unknown or was is 0.
func shorter(r scaling.Reading, is, was float64) scaling.Reading {
	if r.Known() && was > 0 {
		r.Value *= min(1, is/was)
	}
	return r
}

// meanLatencies returns the mean latency over requests that the profiles expect of the Ready
// replicas of each part of a model. A part without expected requests, or with an overloaded
// replica, has no entry.
func meanLatencies(setup cycle.Setup, c cycle.Case, of scaling.ModelKey) map[scaling.Role]scaling.Latency {
	setup = withSettings(setup, of, func(s *settings.Model) { s.Sizing = queueing.Options{} })
	ready, roles := map[scaling.VariantKey]float64{}, map[scaling.VariantKey]scaling.Role{}
	for _, snapshot := range c.Snapshots {
		for _, v := range snapshot.Variants {
			ready[v.Key], roles[v.Key] = float64(v.Replicas.Ready), v.PartOf(snapshot.Variants).Role
		}
	}
	type sum struct {
		scaling.Latency
		requests   float64
		overloaded bool
	}
	sums := map[scaling.Role]sum{}
	for _, e := range setup.Expect(c, of) {
		one, n := sums[roles[e.Variant]], e.Rate*ready[e.Variant]
		one.overloaded = one.overloaded || e.Overloaded
		one.TTFT, one.ITL, one.requests = one.TTFT+n*e.TTFT, one.ITL+n*e.ITL, one.requests+n
		sums[roles[e.Variant]] = one
	}
	out := map[scaling.Role]scaling.Latency{}
	for role, one := range sums {
		if one.requests > 0 && !one.overloaded {
			out[role] = scaling.Latency{TTFT: one.TTFT / one.requests, ITL: one.ITL / one.requests}
		}
	}
	return out
}

// timesLoad multiplies the readings of a model that grow with load.
func timesLoad(c cycle.Case, of scaling.ModelKey, factor float64) cycle.Case {
	times := func(r scaling.Reading) scaling.Reading { return set(r, r.Value*factor) }
	return withSnapshot(c, of, func(s scaling.Snapshot) scaling.Snapshot {
		grown := func(l scaling.Load) scaling.Load {
			l.ArrivalRate, l.GatewayQueue = times(l.ArrivalRate), times(l.GatewayQueue)
			return l
		}
		s.Load, s.Roles = grown(s.Load), slices.Clone(s.Roles)
		for i, r := range s.Roles {
			s.Roles[i].Load = grown(r.Load)
		}
		s.Replicas = slices.Clone(s.Replicas)
		for i, r := range s.Replicas {
			for _, one := range readings(&r) {
				*one = times(*one)
			}
			s.Replicas[i] = overflowed(r)
		}
		return s
	})
}

// set returns r with another value, at most scaling.Largest; an unknown reading stays as it is.
func set(r scaling.Reading, value float64) scaling.Reading {
	if r.Known() {
		r.Value = min(scaling.Largest, value)
	}
	return r
}

// readings returns the readings of a replica that grow with load.
func readings(s *scaling.ReplicaSample) [5]*scaling.Reading {
	return [5]*scaling.Reading{&s.KVCacheUsage, &s.KVCacheUsageNow, &s.QueueLength, &s.QueueLengthNow, &s.Running}
}

// overflowed returns a sample in which the requests without room in the KV cache wait.
func overflowed(s scaling.ReplicaSample) scaling.ReplicaSample {
	running := s.Running.Or(0)
	for _, one := range []struct{ usage, queue *scaling.Reading }{{&s.KVCacheUsage, &s.QueueLength}, {&s.KVCacheUsageNow, &s.QueueLengthNow}} {
		if usage := one.usage.Or(0); usage > 1 {
			*one.usage, *one.queue = set(*one.usage, 1), set(*one.queue, one.queue.Value+running*(1-1/usage))
			s.Running = set(s.Running, min(s.Running.Value, running/usage))
		}
	}
	return s
}

// Later returns the input of a cycle that runs later by the given time, after the plan v, with
// unchanged readings and replicas.
func Later(c cycle.Case, v cycle.Verdict, by time.Duration) cycle.Case {
	c.Now, c.History = c.Now.Add(by), v.History
	c.Snapshots = slices.Clone(c.Snapshots)
	for i := range c.Snapshots {
		c.Snapshots[i].At = c.Snapshots[i].At.Add(by)
	}
	return c
}

// withSnapshot returns c with the snapshot of a model changed.
func withSnapshot(c cycle.Case, of scaling.ModelKey, change func(scaling.Snapshot) scaling.Snapshot) cycle.Case {
	c.Snapshots = slices.Clone(c.Snapshots)
	for i, s := range c.Snapshots {
		if s.Model == of {
			c.Snapshots[i] = change(s)
		}
	}
	return c
}

// withVariants returns c with the variants of a model changed.
func withVariants(c cycle.Case, of scaling.ModelKey, change func(*scaling.Variant)) cycle.Case {
	return withSnapshot(c, of, func(s scaling.Snapshot) scaling.Snapshot {
		s.Variants = slices.Clone(s.Variants)
		for i := range s.Variants {
			change(&s.Variants[i])
		}
		return s
	})
}

// withSettings returns setup with the settings of a model changed.
func withSettings(setup cycle.Setup, of scaling.ModelKey, change func(*settings.Model)) cycle.Setup {
	s, ok := setup.Models[of]
	if !ok {
		s = settings.Default()
	}
	change(&s)
	models := make(map[scaling.ModelKey]settings.Model, len(setup.Models)+1)
	maps.Copy(models, setup.Models)
	models[of] = s
	setup.Models = models
	return setup
}

// Unpaced returns setup with a model whose decisions no limit of pace holds. Its retention period
// stays.
func Unpaced(setup cycle.Setup, of scaling.ModelKey) cycle.Setup {
	return withSettings(setup, of, func(s *settings.Model) { s.Pacing = constrain.Pacing{Zero: s.Pacing.Zero} })
}

// unlimited returns setup with a model that is not limited by accelerators.
func unlimited(setup cycle.Setup, of scaling.ModelKey) cycle.Setup {
	return withSettings(setup, of, func(s *settings.Model) { s.Limited = false })
}

// restedFor is how long a fleet at rest has been unchanged: longer than any wait for a start-up or
// a removal, and than any hold after a change, except the hold after a move that saved nothing.
const restedFor = time.Hour

// AtRest returns c with a fleet of a model that has had the given replicas of each variant for an
// hour, all Ready and with the present load: the others take over the load of a variant without
// replicas. It returns false where a variant has replicas and none of them reports its load. A
// variant without an entry has no replica. A variant whose target cannot be read stays as it is. The
// case is for an Unpaced setup.
func AtRest(c cycle.Case, of scaling.ModelKey, replicas map[scaling.VariantKey]scaling.Replicas) (cycle.Case, bool) {
	known := true
	since := c.Now.Add(-restedFor)
	out := withSnapshot(c, of, func(s scaling.Snapshot) scaling.Snapshot {
		s.Variants = slices.Clone(s.Variants)
		var samples, displaced []scaling.ReplicaSample
		for i, v := range s.Variants {
			if !v.Replicas.Observed {
				samples = append(samples, samplesOf(s.Replicas, v.Key)...)
				continue
			}
			n := replicas[v.Key]
			s.Variants[i].Replicas = scaling.ReplicaCounts{Observed: true, Current: n, Ready: n, NewestReady: earlier(v.Replicas.NewestReady, since)}
			if n == 0 {
				displaced = append(displaced, samplesOf(s.Replicas, v.Key)...)
				continue
			}
			spread, ok := spread(s.Replicas, v.Key, n)
			known = known && ok
			samples = append(samples, spread...)
		}
		s.Replicas = taken(samples, displaced)
		s.Replicas = s.Sorted()
		return s
	})
	out.History = maps.Clone(c.History)
	if out.History == nil {
		out.History = memory.History{}
	}
	for _, s := range c.Snapshots {
		if s.Model != of {
			continue
		}
		for _, v := range s.Variants {
			if !v.Replicas.Observed {
				continue
			}
			out.History[v.Key] = rested(c.History[v.Key], v, replicas[v.Key], since)
		}
	}
	return out, known
}

// earlier returns the earlier of two times; the zero time is the earliest.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// rested returns the past of a variant that has had n replicas since the given time.
func rested(p memory.Past, v scaling.Variant, n scaling.Replicas, since time.Time) memory.Past {
	p.Target, p.Model, p.Desired, p.DecidedAt, p.ProgressAt, p.WholeAt = v.Target, v.Model, n, since, since, since
	p.Change, p.MoveTo, p.MoveCost, p.Gap, p.Before = 0, 0, 0, 0, 0
	p.Counts = scaling.ReplicaCounts{Observed: true, Current: n, Ready: n}
	p.Waits, p.Unplaced, p.Podless, p.Wants = memory.Waits{There: n}, memory.Unplaced{}, memory.Unplaced{}, memory.Wants{}
	p.Called, p.Refused, p.UnseenSince, p.Failures = time.Time{}, time.Time{}, time.Time{}, memory.Failures{}
	return p
}

// samplesOf returns the samples of a variant.
func samplesOf(samples []scaling.ReplicaSample, of scaling.VariantKey) []scaling.ReplicaSample {
	return slices.DeleteFunc(slices.Clone(samples), func(s scaling.ReplicaSample) bool { return s.Variant != of })
}

// spread returns the samples of n Ready replicas of a variant, with the sum of the present
// readings; false where no replica reports.
func spread(samples []scaling.ReplicaSample, of scaling.VariantKey, n scaling.Replicas) ([]scaling.ReplicaSample, bool) {
	own := slices.DeleteFunc(samplesOf(samples, of), func(s scaling.ReplicaSample) bool { return !s.Reports() })
	if len(own) == 0 {
		return nil, false
	}
	sums := sum(own)
	out := make([]scaling.ReplicaSample, 0, n)
	for i := range int(n) {
		s := own[i%len(own)]
		if i >= len(own) {
			s.Pod, s.Pace = fmt.Sprintf("%s+%d", s.Pod, i/len(own)), scaling.Pace{}
		}
		s.Ready = true
		for k, one := range readings(&s) {
			*one = set(*one, sums[k]/float64(n))
		}
		out = append(out, s)
	}
	return out, true
}

// sum returns the sums of the readings of samples, in the order of readings.
func sum(samples []scaling.ReplicaSample) [5]float64 {
	var out [5]float64
	for _, s := range samples {
		for k, one := range readings(&s) {
			out[k] += one.Or(0)
		}
	}
	return out
}

// taken returns samples that take over the load of displaced replicas in equal parts. It converts
// KV cache usage by the sizes of the caches.
func taken(samples, displaced []scaling.ReplicaSample) []scaling.ReplicaSample {
	out := make([]scaling.ReplicaSample, 0, len(samples))
	for _, s := range samples {
		for _, d := range displaced {
			size := 1.0
			if from, to := d.KVCapacity.Or(0), s.KVCapacity.Or(0); from > 0 && to > 0 {
				size = from / to
			}
			from := readings(&d)
			for k, one := range readings(&s) {
				more := from[k].Or(0) / float64(len(samples))
				if k < 2 { // KV cache usage
					more *= size
				}
				*one = set(*one, one.Value+more)
			}
		}
		out = append(out, overflowed(s))
	}
	return out
}
