package cycle

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// BenchmarkThousandVariants decides on fleets of 1,000 variants with each engine, and reports the
// CPU time of a cycle in ms. A third of the models grow and a third shrink. All have every
// histogram and a history, percentile objectives, large batches and ample KV caches. Cycles are a
// minute apart, so that no result is reused.
func BenchmarkThousandVariants(b *testing.B) {
	engines := []struct {
		name   string
		engine settings.Engine
		method settings.Method
	}{
		{"saturation", settings.Saturation, settings.Spare},
		{"tokens", settings.Saturation, settings.Tokens},
		{"model", settings.Queueing, settings.Tokens},
		{"hybrid", settings.Hybrid, settings.Tokens},
		{"hybrid with spare capacity", settings.Hybrid, settings.Spare},
		{"published", settings.Published, settings.Spare},
	}
	for _, e := range engines {
		for _, fleet := range []thousand{
			{name: "each of a model", each: 1, batch: 256},
			{name: "four of a model", each: 4, batch: 256},
			{name: "batches of 1024", each: 1, batch: 1024},
			{name: "out of reach", each: 4, batch: 256, objective: scaling.Objective{TTFT: 5, ITL: 10}},
			{name: "short of accelerators", each: 4, batch: 256, limited: true},
		} {
			b.Run(e.name+"/"+fleet.name, func(b *testing.B) {
				how := settingsOf(e.engine, e.method)
				how.Sizing.TTFTPercentile, how.Sizing.ITLPercentile = 0.95, 0.95
				cases, setup := fleet.live(how)
				i := 0
				b.ResetTimer()
				began := cpu(b)
				for b.Loop() {
					setup.Decide(cases[i%len(cases)])
					i++
				}
				b.ReportMetric(float64((cpu(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// thousand is a fleet of 1,000 variants.
type thousand struct {
	name      string
	each      int // variants of a model
	batch     int // requests
	objective scaling.Objective
	limited   bool // the only accelerators are those of the fleet at its start
}

// live returns the last cycles of half an hour, and their setup.
func (f thousand) live(how settings.Model) ([]Case, Setup) {
	const variants, tick, cycles, kept = 1000, time.Minute, 30, 4
	if f.objective.Set() {
		how.Objective = f.objective
	}
	how.Limited = f.limited
	setup := Setup{Models: map[scaling.ModelKey]settings.Model{}, Interval: tick}
	sites := make([]*site, variants/f.each)
	free := scaling.Accelerators(0)
	for i := range sites {
		sites[i] = f.site(i, how, tick, cycles*tick)
		setup.Models[modelOf(i)] = how
		for _, c := range sites[i].created {
			free += scaling.Accelerators(len(c))
		}
	}
	if f.limited {
		setup.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{{Accelerator: "v0", Total: 8 * free}, {Accelerator: "v1", Total: 8 * free}}}
	}
	var cases []Case
	past, r := memory.History{}, rand.New(rand.NewPCG(1, 1))
	for n := range cycles {
		t := time.Duration(n) * tick
		c := Case{Now: now.Add(t), History: past}
		for i, s := range sites {
			s.serve(t)
			c.Snapshots = append(c.Snapshots, measured(s.observe(t), modelOf(i), r))
		}
		if n >= cycles-kept {
			cases = append(cases, c)
		}
		verdict := setup.Decide(c)
		past = verdict.History
		for i, s := range sites {
			for j, v := range c.Snapshots[i].Variants {
				to := past[v.Key].Desired
				for scaling.Replicas(len(s.created[j])) < to {
					s.created[j] = append(s.created[j], t)
				}
				s.created[j] = s.created[j][:to]
			}
		}
	}
	return cases, setup
}

func modelOf(i int) scaling.ModelKey {
	return scaling.ModelKey{Namespace: fmt.Sprintf("ns%d", i), ID: "m"}
}

// site returns the i-th model, whose load grows, stays or falls.
func (f thousand) site(i int, how settings.Model, tick, length time.Duration) *site {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	s := &site{settings: how, tick: tick, window: tick, startUp: 2 * time.Minute, noise: r, spread: 0.05}
	for j := range f.each {
		v := siteVariant(fmt.Sprintf("v%d", j), 10*(1+float64(j)), 1+float64(j)*0.7+r.Float64()/10, scaling.Replicas(max(1, 8/(1+j))))
		v.Profile.MaxBatchSize, v.StartUp, v.Bounds.Max = f.batch, s.startUp, 32
		s.variants, s.created = append(s.variants, v), append(s.created, make([]time.Duration, v.Replicas.Current))
	}
	trend, base := float64(i%3-1)*(0.5+r.Float64()), 50+60*r.Float64()
	s.rate = func(t time.Duration) float64 { return max(1, base*(1+trend*float64(t)/float64(length))) }
	return s
}

// measured returns snap as one of another model, with every reading present.
func measured(snap scaling.Snapshot, key scaling.ModelKey, r *rand.Rand) scaling.Snapshot {
	const tokens = 1e6 // of a KV cache
	snap.Model = key
	for i := range snap.Variants {
		snap.Variants[i].Key.Namespace, snap.Variants[i].Model = key.Namespace, key
	}
	for i := range snap.Replicas {
		one := &snap.Replicas[i]
		one.Variant.Namespace, one.KVCapacity = key.Namespace, scaling.Measured(tokens, scaling.Fresh)
		one.KVCacheUsage.Value *= siteKV / tokens
		one.KVCacheUsageNow.Value *= siteKV / tokens
	}
	snap.Replicas = snap.Sorted()
	load := &snap.Load
	load.PrefixHits = scaling.Measured(0.3+0.2*r.Float64(), scaling.Fresh)
	load.TTFTBuckets = spreadAround(load.TTFT.Value, load.ArrivalRate.Value)
	load.RequestITLBuckets = spreadAround(load.ITL.Value, load.ArrivalRate.Value)
	load.ITLBuckets = spreadAround(load.ITL.Value, load.ArrivalRate.Value*siteOutput)
	return snap
}

// spreadAround returns a histogram with 22 buckets, half of it below a latency in ms.
func spreadAround(ms, rate float64) scaling.Histogram {
	h := scaling.Histogram{State: scaling.Fresh, Total: rate}
	for bound := 1.0; len(h.Buckets) < 22; bound *= 2 {
		h.Buckets = append(h.Buckets, scaling.Bucket{Bound: bound, Rate: rate * bound / (bound + ms)})
	}
	return h
}

// cpu returns the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
