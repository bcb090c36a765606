package scalefromzero

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestABacklogThatGrowsWhileReplicasStartIsBoughtOnce: after a restart of the cluster all replicas
// are starting, and they suffice for the load. However long they take, the orders never exceed 4/3
// of what the arrival rate needs; the third is for the backlog.
func TestABacklogThatGrowsWhileReplicasStartIsBoughtOnce(t *testing.T) {
	const rate, each = 3.6, 0.5 // requests/s; batches of 10, 20 s a request
	for _, usual := range []time.Duration{0, 2 * time.Minute, 10 * time.Minute} {
		for _, takes := range []time.Duration{2 * time.Minute, 4 * time.Minute, 10 * time.Minute, time.Hour} {
			for _, patience := range []time.Duration{time.Minute, 24 * time.Hour} { // of clients
				for _, measured := range []bool{true, false} {
					t.Run(fmt.Sprintf("usual start-up %s, this time %s, clients wait %s, rate measured %t", usual, takes, patience, measured), func(t *testing.T) {
						in := asleep(0)
						in.Snapshot.Variants = in.Snapshot.Variants[:1]
						v := &in.Snapshot.Variants[0]
						v.StartUp, v.Replicas = usual, scaling.ReplicaCounts{Observed: true, Current: 8, Pending: 8}
						in.History = memory.History{}
						if measured {
							in.Snapshot.Load.ArrivalRate = scaling.Measured(rate, scaling.Fresh)
						}
						backlog := memory.Backlog{}
						for at := 15 * time.Second; at < takes; at += 15 * time.Second {
							waiting := rate * min(at, patience).Seconds()
							in.Snapshot.At, in.Snapshot.Load.GatewayQueue = noon.Add(at), scaling.Measured(waiting, scaling.Fresh)
							follow(&in, Decide(in))
							backlog = backlog.Then(waiting, in.Snapshot.At, 30*time.Second)
							past := in.History[v.Key]
							past.Backlog = backlog
							in.History[v.Key] = past
							v.Replicas.Current = past.Desired
							v.Replicas.Pending = past.Desired
						}
						// 15 s of arrivals wait at the first look.
						most := scaling.Replicas(math.Ceil((4./3*rate + rate*15/clearLeast.Seconds()) / each))
						if v.Replicas.Current > most {
							t.Errorf("%d replicas are ordered, want at most %d for %g requests/s", v.Replicas.Current, most, rate)
						}
					})
				}
			}
		}
	}
}

// TestTheBestThatIsKnownSizesAReplica: in this order, the queueing model within the objective, the
// profile, an assumption.
func TestTheBestThatIsKnownSizesAReplica(t *testing.T) {
	profile := scaling.Profile{Source: "test", Alpha: 20, Beta: 0.4, Gamma: 5, Delta: 0.01, MaxBatchSize: 64}
	objective := scaling.Objective{TTFT: 1000, ITL: 24} // 10 requests together: 20 + 0.4 n
	for name, tt := range map[string]struct {
		change func(*Input)
		want   float64 // requests/s
		says   string
	}{
		"assumed": {func(*Input) {}, 0.5, "10 at the same time for 20s each, assumed"},
		"by its profile": {func(in *Input) {
			in.Snapshot.Variants[0].Profile = profile // 5 + 10 x 0.01 x 100 + 99 x 24 = 2.391 s
		}, 10 / 2.391, "10 at the same time for 2.4s each, by its profile"},
		"by its profile, and its lengths are not known": {func(in *Input) {
			in.Snapshot.Variants[0].Profile, in.Snapshot.Load.OutputTokens = profile, scaling.Reading{}
		}, 10 / 5, "by its profile"}, // 5 + 10 x 0.01 x 100 + 199 x 24 = 4.8 s
		"by its profile, with lengths that are remembered": {func(in *Input) {
			in.Snapshot.Variants[0].Profile = profile
			in.Snapshot.Load.InputTokens, in.Snapshot.Load.OutputTokens = scaling.Reading{}, scaling.Reading{}
			in.History[key("a")] = memory.Past{ModelPast: memory.ModelPast{Traffic: memory.Traffic{
				Lengths: memory.Lengths{Input: 100, Output: 100, At: in.Snapshot.At.Add(-time.Hour)}, Footprint: memory.Footprint{At: in.Snapshot.At},
			}}}
		}, 10 / 2.391, "by its profile"},
		"by an objective that cannot be met": {func(in *Input) {
			in.Snapshot.Variants[0].Profile, in.Objective = profile, scaling.Objective{ITL: 19}
		}, 2.5, "sized to a tenth above the best possible"}, // 20 + 0.4 n = 1.1 x 20.4: at most 6.1 together, 2.73 requests/s
		"within the objective": {func(in *Input) {
			in.Snapshot.Variants[0].Profile, in.Snapshot.Variants[0].Limits = profile, scaling.EngineLimits{MaxBatch: 64}
			in.Objective, in.Sizing = objective, queueing.Options{}
		}, 4.18, "ITL of 24 ms at the mean limits the rate"}, // 10 / 2.391, as many as meet the ITL
		"within the objective, in what its KV cache holds": {func(in *Input) {
			in.Snapshot.Variants[0].Profile, in.Snapshot.Variants[0].Limits = profile, scaling.EngineLimits{MaxBatch: 64}
			in.Objective = scaling.Objective{ITL: 40}
			in.History[key("a")] = memory.Past{Capacity: memory.TokenCapacity{PerReplica: 600}} // 3 of 200 tokens
		}, 0.95 * 3 / (0.005 + 0.003 + 99*0.0212), "95 % of what full batches complete"},
	} {
		t.Run(name, func(t *testing.T) {
			in := asleep(1)
			in.Snapshot.Load.InputTokens, in.Snapshot.Load.OutputTokens = scaling.Measured(100, scaling.Fresh), scaling.Measured(100, scaling.Fresh)
			tt.change(&in)
			m := survey(in)
			got := m.capacity(m.candidates[0])
			if math.Abs(got.rate-tt.want) > 0.1*tt.want || !strings.Contains(got.source, tt.says) {
				t.Errorf("got %.3g requests/s (%s), want %.3g (%s)", got.rate, got.source, tt.want, tt.says)
			}
		})
	}
}

// TestWhatStartsElsewhereIsNotOrderedAgain: replicas of another variant may still become Ready,
// whether started by hand or called before.
func TestWhatStartsElsewhereIsNotOrderedAgain(t *testing.T) {
	for _, elsewhere := range []scaling.Replicas{0, 2, 9} {
		in := asleep(550)
		called(&in, time.Minute, 1)
		in.Snapshot.Variants[1].Replicas = scaling.ReplicaCounts{Observed: true, Current: elsewhere, Pending: elsewhere}
		// 550 requests in 360 s need 3.1 replicas.
		if got, want := targets(Decide(in))["a"], max(1, 4-elsewhere); got != want {
			t.Errorf("%d of b start: %d of a are called, want %d", elsewhere, got, want)
		}
	}
}

// TestWhatArrivesIsSeenByHowTheBacklogGrows: without a replica the arrival rate is not measured.
func TestWhatArrivesIsSeenByHowTheBacklogGrows(t *testing.T) {
	for name, tt := range map[string]struct {
		backlog  memory.Backlog
		measured scaling.Reading
		want     float64
	}{
		"grows":                     {memory.Backlog{Waiting: 30, At: noon.Add(-30 * time.Second)}, scaling.Reading{}, 2},
		"is measured":               {memory.Backlog{Waiting: 30, At: noon.Add(-30 * time.Second)}, scaling.Measured(3, scaling.Fresh), 3},
		"falls":                     {memory.Backlog{Waiting: 100, At: noon.Add(-30 * time.Second)}, scaling.Reading{}, 0},
		"is too young":              {memory.Backlog{Waiting: 30, At: noon.Add(-14 * time.Second)}, scaling.Reading{}, 0},
		"was never seen":            {memory.Backlog{}, scaling.Reading{}, 0},
		"grows, none arrive at all": {memory.Backlog{Waiting: 30, At: noon.Add(-30 * time.Second)}, scaling.Measured(0, scaling.Fresh), 2},
	} {
		in := asleep(90)
		in.Snapshot.Load.ArrivalRate = tt.measured
		in.History[key("b")] = memory.Past{ModelPast: memory.ModelPast{Backlog: tt.backlog}}
		if got := survey(in).arriving; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g requests/s arrive, want %g", name, got, tt.want)
		}
	}
}
