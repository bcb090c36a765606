package collector_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// pick returns one of several.
func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// TestNoAnswerLeadsToAReadingThatIsNoNumber asks sources that answer anything.
func TestNoAnswerLeadsToAReadingThatIsNoNumber(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	inf := math.Inf(1)
	for round := range 300 {
		source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 2, 2)
		for _, ask := range query.Questions() {
			for range random.IntN(20) {
				source.Answer(ask, query.Row{
					Quantity:  pick(random, append(slices.Clone(ask.Quantities()), query.PageTime, query.ITL)...),
					Namespace: pick(random, collectortest.Namespace, collectortest.Namespace, "", "other"),
					Pod:       pick(random, "m000-0", "m000-1", "m001-0", "m000-0-rank-0", "m001-0-rank-3", "", "gone"),
					Model:     pick(random, "m000", "m001", "", "\"}\n"),
					Job:       pick(random, collectortest.Job, "", "b"),
					Bound:     pick(random, 0, 10, 20, -1, math.NaN(), inf, -inf),
					Value:     pick(random, 0, 1, 0.5, 3, -1, math.NaN(), inf, -inf, math.MaxFloat64, 1e300, scrapedAgo(time.Second), scrapedAgo(3*time.Minute)),
				})
			}
		}
		options := collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }}
		snapshots := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)
		if len(snapshots) != 2 {
			t.Fatalf("round %d: got %d snapshots", round, len(snapshots))
		}
		for _, s := range snapshots {
			if _, err := json.Marshal(s); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			checkNumbers(t, fmt.Sprintf("round %d, %s", round, s.Model), s)
		}
	}
}

// checkNumbers checks that every reading that is known is a number.
func checkNumbers(t *testing.T, where string, s scaling.Snapshot) {
	t.Helper()
	l := s.Load
	readings := []scaling.Reading{l.ArrivalRate, l.InputTokens, l.OutputTokens, l.TTFT, l.ITL, l.PrefixHits, l.GatewayQueue}
	for _, r := range s.Replicas {
		readings = append(readings, r.KVCacheUsage, r.KVCacheUsageNow, r.QueueLength, r.QueueLengthNow, r.Running, r.KVCapacity)
		readings = append(readings, scaling.Reading{Value: r.Held, State: scaling.Fresh})
	}
	for i, r := range readings {
		if r.Known() && r != scaling.Measured(r.Value, r.State) {
			t.Errorf("%s: reading %d is %v", where, i, r)
		}
	}
	for _, h := range []scaling.Histogram{l.TTFTBuckets, l.ITLBuckets} {
		if e, ok := h.Quantile(0.9); ok && (math.IsNaN(e.Value) || math.IsInf(e.Value, 0)) {
			t.Errorf("%s: a quantile of %v from %+v", where, e, h)
		}
		for i := 1; i < len(h.Buckets); i++ {
			if !(h.Buckets[i-1].Bound < h.Buckets[i].Bound) {
				t.Errorf("%s: bounds of %+v are not ascending", where, h)
			}
		}
	}
}
