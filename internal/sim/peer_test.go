package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// watcher is a rule that keeps what it was shown and wants three replicas.
type watcher struct{ shown []policy.Observation }

func (*watcher) Interval() time.Duration { return 20 * time.Second }

func (r *watcher) Decide(_ time.Time, in policy.Observation) []policy.Target {
	r.shown = append(r.shown, in)
	return []policy.Target{{Variant: in.Variants[0].Key, Replicas: 3, Reason: "three"}}
}

// TestPeerSeesWhatItsRuleReads overloads one replica, so that requests wait in
// it, and compares what the rule is shown with the load that was made.
func TestPeerSeesWhatItsRuleReads(t *testing.T) {
	rule := &watcher{}
	c := testConfig(simtest.Chat(t, "constant(14,10m)", 1))
	c.Models[0].Variants[0].Profile.MaxBatchSize = 16
	c.Models[0].Variants[0].StartUp.Mean = 5 * time.Minute
	var decided []Target
	c.OnDecision = func(_ time.Duration, target Target) { decided = append(decided, target) }
	peer := NewPeer(PeerOptions{
		Name: "watcher", Interval: rule.Interval(), Rules: map[scaling.ModelKey]policy.Autoscaler{c.Models[0].Key: rule},
		Measured: func(scaling.VariantKey) policy.Benchmark { return policy.Benchmark{Rate: 7} },
	})
	if _, err := Run(t.Context(), c, peer); err != nil {
		t.Fatal(err)
	}
	if want := (Target{Variant: c.Models[0].Variants[0].Spec.Key, Replicas: 3, Reason: "watcher", Detail: "three"}); !slices.Equal(decided, []Target{want}) {
		t.Errorf("decided %+v, want %+v once", decided, want)
	}
	last := rule.shown[10] // at 220 s: one replica serves, two start
	v := last.Variants[0]
	ready := 0
	for _, p := range v.Pods {
		if p.Ready {
			ready++
			// 161 input tokens in the mean wait with each request.
			if mean := p.QueuedTokens.Value / p.QueueLength.Value; mean < 100 || mean > 250 {
				t.Errorf("%s: %v tokens in a queue of %v", p.Name, p.QueuedTokens, p.QueueLength)
			}
		}
	}
	if len(v.Pods) != 3 || ready != 1 || v.Benchmark.Rate != 7 || v.KVTokens != 65536 || v.BatchedTokens != 2048 {
		t.Errorf("the rule is shown %+v, want three pods of which one is ready, and what is known of a replica", v)
	}
	if got := v.ArrivalRate.Value; got < 10 || got > 18 {
		t.Errorf("the arrival rate of the variant is %v, want about 14", v.ArrivalRate)
	}
	if last.Load.TTFTP90.Value < 1000 || !last.Load.ITLP90.Known() || last.Load.UncachedTokens.Value < 10_000 {
		t.Errorf("the load is shown as %+v, want long waits and a backlog of tokens", last.Load)
	}
	// More than the batch of the one replica, and not what its page said last: of 11
	// looks every 20 s at pages of every 15 s, some lie between two pages.
	between := 0
	for _, o := range rule.shown[:11] {
		scraped := 0.0
		for _, p := range o.Variants[0].Pods {
			scraped += p.Running.Or(0) + p.QueueLength.Or(0)
		}
		if o.Variants[0].InFlight.Value != scraped {
			between++
		}
	}
	if v.InFlight.Value <= 16 || between < 5 {
		t.Errorf("%v are in flight, and %d of 11 looks differ from the pages; want more than 16, and most", v.InFlight, between)
	}
	rate := 0.0
	for _, s := range last.Load.Shapes {
		rate += s.Rate
		if s.InputTokens < 1 || s.OutputTokens < 1 {
			t.Errorf("shape %+v: want lengths", s)
		}
	}
	if rate < 9 || rate > 19 || len(last.Load.Shapes) < 5 {
		t.Errorf("%d shapes with %g requests/s in all, want several and about 14", len(last.Load.Shapes), rate)
	}
	if rule.shown[0].Load.Shapes != nil {
		t.Error("the first decision is shown arrivals since a decision before it")
	}
}
