package queueing

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// served returns a steady fleet. Each replica computes n requests together, with the ITL that a
// slope of beta gives and a TTFT of ttft.
func served(n, beta, ttft float64) scaling.Snapshot {
	const replicas = 2
	itl := a100.Alpha + beta*n
	rate := replicas * n * 1000 / (ttft + 127*itl) // Little's law; 127 tokens follow the first
	s := snapshot(rate, variant("v", a100, replicas))
	s.Load.ITL, s.Load.TTFT = fresh(itl), fresh(ttft)
	for i := range s.Replicas {
		s.Replicas[i].Running = fresh(n)
	}
	return s
}

// promised returns the TTFT in ms that a100 promises with n requests together.
func promised(n float64) float64 { return a100.Gamma + a100.Delta*256*n }

// means returns the means after one look at s.
func means(s scaling.Snapshot) memory.Means {
	replicas, profile := settled(s)
	return memory.Means{}.Then(s, replicas, profile)
}

func corrected(s scaling.Snapshot) scaling.Profile {
	return correct(s.Variants, means(s))[0].Profile
}

func TestAProfileIsCorrectedTowardsWhatIsMeasured(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     scaling.Snapshot
		beta  float64 // the slope that the profile gets
		delta float64
	}{
		{"as promised", served(24, a100.Beta, promised(24)), a100.Beta, a100.Delta},
		{"within noise", served(24, a100.Beta*1.1, promised(24)), a100.Beta, a100.Delta},
		// The weight is 24 of 24 + 8, and a twentieth of the promised 30.42 ms is taken off.
		{"twice as steep", served(24, 2*a100.Beta, promised(24)), a100.Beta + 0.75*(a100.Beta*24-0.05*30.42)/24, a100.Delta},
		{"no request slows another", served(24, 0, promised(24)), a100.Beta / 2, a100.Delta},
		{"prefills that do not wait for each other", served(24, a100.Beta, promised(1)), a100.Beta, a100.Delta + 0.75*(promised(1)-0.95*promised(24))/(256*24)},
		{"a longer wait is none of the profile's", served(24, a100.Beta, 10*promised(24)), a100.Beta, a100.Delta},
	} {
		if got := corrected(tt.s); math.Abs(got.Beta-tt.beta) > 1e-3 || math.Abs(got.Delta-tt.delta) > 1e-5 {
			t.Errorf("%s: beta %.4f and delta %.5f, want %.4f and %.5f", tt.name, got.Beta, got.Delta, tt.beta, tt.delta)
		}
	}
}

func TestAProfileStandsWhereALatencySaysNothingOfIt(t *testing.T) {
	for name, change := range map[string]func(*scaling.Snapshot){
		"old latencies": func(s *scaling.Snapshot) { s.Load.ITL.State = scaling.Aging },
		"no requests":   func(s *scaling.Snapshot) { s.Load.ArrivalRate = fresh(0) },
		"a new replica": func(s *scaling.Snapshot) { s.Variants[0].Replicas.NewestReady = at.Add(-time.Second) },
		"no replica":    func(s *scaling.Snapshot) { s.Variants[0].Replicas.Ready = 0 },
		"a queue, and no replica says what runs": func(s *scaling.Snapshot) {
			for i := range s.Replicas {
				s.Replicas[i].QueueLengthNow, s.Replicas[i].Running = fresh(20), scaling.Reading{}
			}
		},
	} {
		s := served(24, 3*a100.Beta, promised(24))
		change(&s)
		if got := corrected(s); got != a100 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAQueueDoesNotPassForConcurrency: ten times what the replicas serve arrives, and full batches
// are slower than promised. A profile corrected by them would order a fleet that is not needed once
// the queue is gone.
func TestAQueueDoesNotPassForConcurrency(t *testing.T) {
	s := served(64, 2*a100.Beta, promised(64))
	s.Load.ArrivalRate = fresh(10 * s.Load.ArrivalRate.Value)
	for i := range s.Replicas {
		s.Replicas[i].QueueLengthNow = fresh(200)
	}
	if got := corrected(s); got != a100 {
		t.Errorf("%+v", got)
	}
}

// TestFastReplicasCountByWhatTheyServe: fast replicas serve most requests and so dominate the
// measured latency. This still holds when more slow replicas are added later.
func TestFastReplicasCountByWhatTheyServe(t *testing.T) {
	const n, output = 24.0, 128.0
	fast := a100
	fast.Alpha, fast.Beta, fast.Gamma, fast.Delta = a100.Alpha/4, a100.Beta/4, a100.Gamma/4, a100.Delta/4
	s := snapshot(1, variant("fast", fast, 2), variant("slow", a100, 2))
	for i := range s.Replicas {
		s.Replicas[i].Running = fresh(n)
	}
	// A replica that is four times as fast serves four times as many.
	itl := (4*(fast.Alpha+fast.Beta*n) + a100.Alpha + a100.Beta*n) / 5
	ttft := (4*fast.Gamma + a100.Gamma + (4*fast.Delta+a100.Delta)*256*n) / 5
	s.Load.ITL, s.Load.TTFT = fresh(itl), fresh(ttft)
	s.Load.ArrivalRate = fresh(4 * n * 1000 / (ttft + (output-1)*itl))
	learned := means(s)
	s.Variants[1].Replicas.Ready, s.Variants[1].Replicas.Current = 40, 40
	for i, v := range correct(s.Variants, learned) {
		if stated := s.Variants[i].Profile; math.Abs(v.Profile.Beta-stated.Beta) > 1e-9 || math.Abs(v.Profile.Delta-stated.Delta) > 1e-9 {
			t.Errorf("%s: beta %g and delta %g, want %g and %g as stated", v.Key.Name, v.Profile.Beta, v.Profile.Delta, stated.Beta, stated.Delta)
		}
	}
}

func TestACorrectionStaysWhileLatenciesSayNothing(t *testing.T) {
	before := served(24, 2*a100.Beta, promised(24))
	learned := means(before)
	queue := before
	queue.At = at.Add(time.Minute)
	queue.Load.ITL, queue.Load.TTFT, queue.Load.GatewayQueue = fresh(500), fresh(5000), fresh(300)
	replicas, profile := settled(queue)
	want, got := correct(before.Variants, learned)[0].Profile, correct(before.Variants, learned.Then(queue, replicas, profile))[0].Profile
	if want == a100 || math.Abs(got.Beta-want.Beta) > 1e-9 || math.Abs(got.Delta-want.Delta) > 1e-9 {
		t.Errorf("while requests wait: %+v, want %+v as before", got, want)
	}
}

func TestAReplicaThatIsReadyForTwoWindowsIsNotNew(t *testing.T) {
	s := served(24, 2*a100.Beta, promised(24))
	s.Variants[0].Replicas.NewestReady = at.Add(-2*time.Minute + time.Second)
	if got := corrected(s); got != a100 {
		t.Errorf("Ready for less than two windows: %+v, want the profile as stated", got)
	}
	s.Variants[0].Replicas.NewestReady = at.Add(-2 * time.Minute)
	if got := corrected(s); got == a100 {
		t.Error("Ready for two windows: the profile is not corrected")
	}
}

func TestSlowerTokensLeaveFewerRequestsToAReplica(t *testing.T) {
	last := math.Inf(1)
	for _, slope := range []float64{1, 1.5, 2, 3} {
		s := served(24, slope*a100.Beta, promised(24))
		per := Analyze(s, objective, Default(), Memory{Traffic: memory.Traffic{Means: means(s)}}).Variants[0].PerReplica
		if per > last || slope > 1 && per == last {
			t.Errorf("%g times the slope: %g requests/s a replica after %g", slope, per, last)
		}
		last = per
	}
}

func TestAReplicaServesNoMoreThanItsMemoryHolds(t *testing.T) {
	per := func(tokens scaling.Reading) float64 {
		s := snapshot(4, variant("v", a100, 2), variant("w", a100, 0))
		for i := range s.Replicas {
			s.Replicas[i].KVCapacity = tokens
		}
		a := Analyze(s, objective, Default(), Memory{})
		if w := a.Variants[1].PerReplica; w != Analyze(snapshot(4, variant("w", a100, 0)), objective, Default(), Memory{}).Variants[0].PerReplica {
			t.Errorf("a variant of which nothing is known serves %g", w)
		}
		return a.Variants[0].PerReplica
	}
	free := per(scaling.Reading{})
	// A request holds 256 + 64 tokens on average.
	if got := per(fresh(64 * 320)); got != free {
		t.Errorf("a cache for the whole batch: %g, want %g", got, free)
	}
	half, few, less := per(fresh(16*320)), per(fresh(4*320)), per(fresh(1))
	if !(less < few && few < half && half < free) || less <= 0 {
		t.Errorf("caches for 1, 4, 16 and 64 requests: %g, %g, %g and %g", less, few, half, free)
	}
}

// TestARequestHoldsWhatRequestsWereSeenToHold: 64 requests with an average of 320 tokens fit. Where
// answers are so uneven that each request holds twice as much, 32 fit.
func TestARequestHoldsWhatRequestsWereSeenToHold(t *testing.T) {
	most := func(past memory.Footprint) int {
		s := snapshot(4, variant("v", a100, 1))
		s.Replicas[0].KVCapacity = fresh(64 * 320)
		return withBatch(s.Variants, s, past)[0].Profile.MaxBatchSize
	}
	for _, tt := range []struct {
		name string
		past memory.Footprint
		want int
	}{
		{"never seen", memory.Footprint{}, 64},
		{"as the mean", memory.Footprint{Held: 320_000, Expected: 320_000}, 64},
		{"twice as much, of a thousand requests", memory.Footprint{Held: 640_000, Expected: 320_000}, 32},
		{"twice as much, of eight requests", memory.Footprint{Held: 2 * 8 * 320, Expected: 8 * 320}, 42}, // 64 / 1.5
		{"a common prefix: half as much", memory.Footprint{Held: 160_000, Expected: 320_000}, 64},        // the batch limits
	} {
		if got := most(tt.past); got != tt.want {
			t.Errorf("%s: %d requests, want %d", tt.name, got, tt.want)
		}
	}
}

// TestTheArgumentsOfTheEngineBoundTheBatch: an engine that is started with fewer sequences than
// vLLM's default computes no more, whatever its profile states.
func TestTheArgumentsOfTheEngineBoundTheBatch(t *testing.T) {
	for _, tt := range []struct{ stated, allowed, want int }{{0, 0, 0}, {0, 32, 32}, {64, 32, 32}, {16, 32, 16}} {
		s := snapshot(4, variant("v", a100, 1))
		s.Variants[0].Profile.MaxBatchSize, s.Variants[0].Limits.MaxBatch = tt.stated, tt.allowed
		if got := withBatch(s.Variants, s, memory.Footprint{})[0].Profile.MaxBatchSize; got != tt.want {
			t.Errorf("profile %d, arguments %d: a batch of %d, want %d", tt.stated, tt.allowed, got, tt.want)
		}
	}
	rate := func(allowed int) float64 {
		s := snapshot(4, variant("v", a100, 1))
		s.Variants[0].Profile.MaxBatchSize, s.Variants[0].Limits.MaxBatch = 0, allowed
		return Analyze(s, scaling.Objective{Class: "slow", TTFT: 60_000, ITL: 1000}, Default(), Memory{}).Variants[0].PerReplica
	}
	if free, small := rate(0), rate(8); !(small > 0 && small < free) {
		t.Errorf("%g requests/s with 8 sequences, %g by the default of the engine: want fewer", small, free)
	}
}

// TestAFullCacheDoesNotPassForASlowBatch: tokens come five times as slowly as the batch explains.
// While requests wait, preemptions may cause this, and the profile stays. While none waits, the
// slope is at most doubled.
func TestAFullCacheDoesNotPassForASlowBatch(t *testing.T) {
	s := served(24, 5*a100.Beta, promised(24))
	if got := corrected(s); got.Beta != 2*a100.Beta {
		t.Errorf("nothing waits: beta %.3f, want %.3f", got.Beta, 2*a100.Beta)
	}
	for i := range s.Replicas {
		s.Replicas[i].QueueLengthNow = fresh(10)
	}
	if got := corrected(s); got != a100 {
		t.Errorf("requests wait: %+v, want the profile as stated", got)
	}
}
