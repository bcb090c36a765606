package collectortest_test

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
)

// t0 is the instant of the test fleets.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestServedFleetIsMeasuredAsWritten(t *testing.T) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 2, 3)
	source.Serve(fleet, collectortest.Page{
		Interval: 15 * time.Second, KVCacheUsage: 0.5, QueueLength: 2, Running: 7, CacheTokens: 16000,
		Completions: 3, InFlightGrowth: 1, Input: 100, Output: 200, TTFT: 80, ITL: 10, PrefixHits: 0.25, GatewayQueue: 4,
	})
	got := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{}).Collect(t.Context(), fleet)
	if len(got) != 2 || len(got[1].Replicas) != 3 {
		t.Fatalf("got %+v, want 2 models with 3 replicas", got)
	}
	r, load := got[1].Replicas[2], got[1].Load
	for name, pair := range map[string][2]float64{
		"usage": {r.KVCacheUsage.Or(-1), 0.5}, "queue": {r.QueueLengthNow.Or(-1), 2}, "running": {r.Running.Or(-1), 7},
		"capacity": {r.KVCapacity.Or(-1), 16000}, "arrivals": {load.ArrivalRate.Or(-1), 4}, "input": {load.InputTokens.Or(-1), 100},
		"output": {load.OutputTokens.Or(-1), 200}, "ttft": {load.TTFT.Or(-1), 80}, "itl": {load.ITL.Or(-1), 10},
		"gateway": {load.GatewayQueue.Or(-1), 4},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
}
