package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// store answers the questions of the real collector from the pages of a run, as
// a Prometheus that scraped them would.
type store struct{ w *world }

func (s store) Ask(_ context.Context, r query.Request) (query.Answer, error) {
	a := query.Answer{At: s.w.at(s.w.now)}
	for _, m := range s.w.models {
		for _, v := range m.variants {
			for _, p := range slices.Concat(v.pods, v.leaving, v.gone) {
				a.Rows = append(a.Rows, s.pod(r, m, p)...)
			}
		}
		a.Rows = append(a.Rows, s.model(r, m)...)
	}
	if interval := s.w.knownInterval(); r.Ask == query.AskScrapeIntervals && interval > 0 {
		a.Rows = append(a.Rows, query.Row{Quantity: query.ScrapeInterval, Namespace: "ns", Job: "j", Value: interval.Seconds()})
	}
	return a, nil
}

// pod answers what is asked of every pod.
func (s store) pod(r query.Request, m *model, p *pod) []query.Row {
	row := func(q query.Quantity, value float64) query.Row {
		return query.Row{Quantity: q, Namespace: "ns", Pod: p.name, Job: "j", Model: m.Key.ID, Value: value}
	}
	// The look-back of a selector, of a pod whose series have not ended.
	lookback := query.ScrapeSpan
	if r.Ask == query.AskEarlierPages {
		lookback = 15 * time.Minute
	}
	recent := since(p.pages, s.w.now-lookback)
	if len(recent) == 0 || p.phase == gone && r.Ask != query.AskPace {
		return nil
	}
	last := recent[len(recent)-1]
	peak := func(value func(scraped) float64) float64 {
		inside := since(p.pages, s.w.now-r.Window)
		if len(inside) == 0 {
			return value(last)
		}
		return value(slices.MaxFunc(inside, func(a, b scraped) int { return int(1e6 * (value(a) - value(b))) }))
	}
	switch r.Ask {
	case query.AskPages, query.AskEarlierPages:
		return []query.Row{row(query.PageTime, float64(s.w.at(last.at).UnixMilli())/1000)}
	case query.AskKVCacheUsage:
		return []query.Row{row(query.KVCacheUsage, last.usage)}
	case query.AskKVCacheUsagePeak:
		return []query.Row{row(query.KVCacheUsagePeak, peak(func(p scraped) float64 { return p.usage }))}
	case query.AskQueueLength:
		return []query.Row{row(query.QueueLength, last.waiting)}
	case query.AskQueueLengthPeak:
		return []query.Row{row(query.QueueLengthPeak, peak(func(p scraped) float64 { return p.waiting }))}
	case query.AskRunning:
		return []query.Row{row(query.Running, last.running)}
	case query.AskKVCapacity:
		return []query.Row{row(query.KVCapacity, p.capacity)}
	case query.AskPace:
		if len(since(p.pages, s.w.now-r.Window)) < 2 {
			return nil
		}
		rate := func(c counter) float64 {
			grown, _ := endsOf(since(p.pages, s.w.now-r.Window), func(p *scraped) float64 { return p.counters[c] }).change(s.w.now, r.Window, true)
			return grown / r.Window.Seconds()
		}
		return []query.Row{
			row(query.Decoding, rate(itlSum)/1000), row(query.Generated, rate(interTokens)),
			row(query.Starting, rate(ttftSum)/1000), row(query.Started, rate(firstTokens)),
		}
	default:
		return nil
	}
}

// model answers what is asked of every model.
func (s store) model(r query.Request, m *model) []query.Row {
	var rows []query.Row
	row := func(q query.Quantity, value float64) {
		rows = append(rows, query.Row{Quantity: q, Namespace: "ns", Model: m.Key.ID, Value: value})
	}
	var sums [counters]float64
	var growth float64
	var ttft, itl, each buckets
	found := false
	for _, v := range m.variants {
		for _, p := range slices.Concat(v.pods, v.leaving, v.gone) {
			inside := since(p.pages, s.w.now-r.Window)
			if len(inside) < 2 {
				continue
			}
			found = true
			grown := func(value func(*scraped) float64, isCounter bool) float64 {
				change, _ := endsOf(inside, value).change(s.w.now, r.Window, isCounter)
				return change / r.Window.Seconds()
			}
			for c := range counters {
				sums[c] += grown(func(p *scraped) float64 { return p.counters[c] }, true)
			}
			growth += grown(func(p *scraped) float64 { return p.running }, false) + grown(func(p *scraped) float64 { return p.waiting }, false)
			for i := range ttft {
				ttft[i] += grown(func(p *scraped) float64 { return p.ttft[i] }, true)
				itl[i] += grown(func(p *scraped) float64 { return p.itl[i] }, true)
				each[i] += grown(func(p *scraped) float64 { return p.each[i] }, true)
			}
		}
	}
	mean := func(q query.Quantity, sum, count counter) {
		if sums[count] > 0 {
			row(q, sums[sum]/sums[count])
		}
	}
	switch {
	case r.Ask == query.AskGateway && m.Hold > 0 && len(m.pages) > 0:
		last := m.pages[len(m.pages)-1]
		row(query.GatewaySeen, float64(s.w.at(last.at).UnixMilli())/1000)
		if last.at > s.w.now-query.ScrapeSpan {
			row(query.GatewayQueue, last.held)
		}
		if counted, ok := m.counted(survey{now: s.w.now, window: r.Window}); ok {
			row(query.GatewayArrivals, counted)
		}
	case r.Ask == query.AskFlow && found:
		row(query.Completions, sums[finished])
		row(query.InFlightGrowth, growth)
	case r.Ask == query.AskMeans && found:
		mean(query.InputTokens, inputTokens, finished)
		mean(query.OutputTokens, outputTokens, finished)
		mean(query.TTFT, ttftSum, firstTokens)
		mean(query.ITL, itlSum, interTokens)
	case r.Ask == query.AskObjective && found:
		mean(query.PrefixHits, prefixHits, prefixQueries)
		rows = append(rows, bucketRows(m, query.TTFTBuckets, distribution{m.ttftBounds, ttft})...)
		rows = append(rows, bucketRows(m, query.ITLBuckets, distribution{m.itlBounds, itl})...)
		rows = append(rows, bucketRows(m, query.RequestITLBuckets, distribution{m.itlBounds, each})...)
	}
	return rows
}

func bucketRows(m *model, q query.Quantity, d distribution) []query.Row {
	h := d.histogram(scaling.Fresh)
	var rows []query.Row
	for _, b := range append(h.Buckets, scaling.Bucket{Bound: math.Inf(1), Rate: h.Total}) {
		rows = append(rows, query.Row{Quantity: q, Namespace: "ns", Model: m.Key.ID, Bound: b.Bound, Value: b.Rate})
	}
	return rows
}

// fleet is what discovery would see.
func (w *world) fleet() scaling.Fleet {
	f := scaling.Fleet{At: w.at(w.now)}
	for _, v := range w.variants {
		f.Variants = append(f.Variants, w.describe(v))
		for _, p := range v.pods {
			f.Pods = append(f.Pods, scaling.Pod{Namespace: "ns", Name: p.name, Variant: v.Spec.Key, Ready: p.phase == serves})
		}
	}
	slices.SortFunc(f.Pods, func(a, b scaling.Pod) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// TestSnapshotsAreThoseOfTheCollector asks the real collector at many instants of
// runs in which replicas come and go and scrapes fail.
func TestSnapshotsAreThoseOfTheCollector(t *testing.T) {
	for _, interval := range []time.Duration{15 * time.Second, 30 * time.Second} {
		states := map[scaling.Freshness]int{}
		compared := 0
		for seed := range uint64(race.Cases(12)) { // from 6 on of models that are served in parts
			c, policy := turmoil(t, seed%6)
			if seed >= 6 {
				c, policy = partsTurmoil(t, seed%6)
			}
			policy.every = 4 * time.Minute
			c.Models = c.Models[seed%2 : seed%2+1] // the queue of a gateway without a label is anyone's
			// A clock that is off makes pages look older to the real one, which takes its own.
			c.Faults = slices.DeleteFunc(c.Faults, func(f fault.Fault) bool { return seed%6 < 3 || !f.Concerns(c.Models[0].Variants[0].Spec.Key) })
			c.Models[0].Requests = simtest.Chat(t, "gamma(3,30m,cv=3)", seed)
			c.ScrapeInterval, c.MissedScrapes = interval, []float64{0, 0.5, 0.95}[seed%3]
			events := 0
			c.check = func(w *world) error {
				if events++; events%397 != 0 {
					return nil
				}
				collected := collector.New(store{w}, clocktesting.NewFakePassiveClock(w.at(w.now)), collector.Options{
					Percentiles: func(scaling.ModelKey) bool { return true },
				}).Collect(t.Context(), w.fleet())
				for i, m := range w.models {
					got := w.snapshot(m, w.survey())
					// A model without pages is explained to the user; decisions do not read it.
					collected[i].SeenModels, collected[i].Unjoined = nil, ""
					if diff := cmp.Diff(collected[i], got, cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()); diff != "" {
						return fmt.Errorf("at %s %+v (-collector +simulator):\n%s", w.now, got.Replicas, diff)
					}
					compared++
					for _, r := range got.Replicas {
						states[r.KVCacheUsage.State]++
					}
				}
				return nil
			}
			if _, err := Run(t.Context(), c, policy); err != nil {
				t.Errorf("scrapes every %s, seed %d: %v", interval, seed, err)
			}
		}
		if !race.Enabled && (compared < 50 || states[scaling.Fresh] == 0 || states[scaling.Stale] == 0 || states[scaling.Aging] == 0 || states[scaling.Absent] == 0) {
			t.Errorf("scrapes every %s: compared %d snapshots with replicas in the states %v, want many and in all", interval, compared, states)
		}
	}
}

// TestRatesAreExtrapolatedAsPrometheusDoes shows the rule on cases worked out by
// hand: samples every 15 s in a window of a minute that ends at 60 s.
func TestRatesAreExtrapolatedAsPrometheusDoes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		e         ends
		isCounter bool
		want      float64
		ok        bool
	}{
		{"one sample", ends{firstAt: 5 * time.Second, lastAt: 5 * time.Second, n: 1}, true, 0, false},
		{"near both ends", ends{5 * time.Second, 50 * time.Second, 100, 145, 4}, true, 60, true},             // 45 * 60/45
		{"born within the window", ends{30 * time.Second, 60 * time.Second, 100, 130, 3}, true, 37.5, true},  // 30 * (30+7.5)/30
		{"a counter was 0 not long ago", ends{10 * time.Second, 55 * time.Second, 3, 48, 4}, true, 53, true}, // 45 * (45+3+5)/45
		{"a gauge may have been below 0", ends{10 * time.Second, 55 * time.Second, 3, 48, 4}, false, 60, true},
		{"a gauge falls", ends{5 * time.Second, 50 * time.Second, 20, 5, 4}, false, -20, true},
	} {
		got, ok := tt.e.change(time.Minute, time.Minute, tt.isCounter)
		if ok != tt.ok || got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%s: got %g, %t, want %g, %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
