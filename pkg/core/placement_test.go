package core

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// a100 is llama-8b on an A100, with the published parameters.
func a100() Placement {
	return Placement{
		Server: Server{
			Name: "chat", Class: "Premium", Model: "llama-8b",
			Load:    Load{ArrivalRate: 10, InputTokens: 128, OutputTokens: 128},
			Current: Allocation{Accelerator: "A100", Replicas: 1, Cost: 40},
		},
		Target:      Target{Model: "llama-8b", ITL: 24, TTFT: 500},
		Accelerator: Accelerator{Name: "A100", Type: "NVIDIA-A100-PCIE-80GB", Cost: 40},
		Profile: Profile{
			Accelerator: "A100", MaxBatch: 64, AtTokens: 128,
			Service: analyzer.FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1},
		},
	}
}

func create(t *testing.T, p Placement, rules Rules) Allocation {
	t.Helper()
	a, err := CreateAllocation(p, rules)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestReplicasKeepTheObjectives(t *testing.T) {
	p := a100()
	a := create(t, p, Correct)
	if a.ITL > p.Target.ITL || a.TTFT > p.Target.TTFT {
		t.Errorf("got ITL %g and TTFT %g ms, want at most %g and %g", a.ITL, a.TTFT, p.Target.ITL, p.Target.TTFT)
	}
	if a.Saturated(p.Server.Load.ArrivalRate) {
		t.Errorf("%d replicas of %g requests/s are saturated by %g", a.Replicas, a.MaxRate, p.Server.Load.ArrivalRate)
	}
	if one := a.Limit(a.Replicas - 1); !one.Saturated(p.Server.Load.ArrivalRate) {
		t.Errorf("%d replicas would do, got %d", one.Replicas, a.Replicas)
	}
}

func TestALoadThatFillsReplicasTakesNoOneMore(t *testing.T) {
	p := a100()
	rate := create(t, p, Correct).MaxRate
	for n := 1; n <= 4; n *= 2 { // doubling is exact
		p.Server.Load.ArrivalRate = float64(n) * rate
		if a := create(t, p, Correct); a.Replicas != n || a.Saturated(p.Server.Load.ArrivalRate) {
			t.Errorf("got %d replicas for %d times what one serves, saturated %t", a.Replicas, n, a.Saturated(p.Server.Load.ArrivalRate))
		}
	}
}

func TestCostCountsAcceleratorsAndUnitsCountCards(t *testing.T) {
	p := a100()
	p.Profile.Count = 3
	p.Accelerator.Multiplicity = 2
	a := create(t, p, Correct)
	if want := 40.0 * 3 * float64(a.Replicas); a.Cost != want {
		t.Errorf("got cost %g, want %g: multiplicity is in the accelerator's cost", a.Cost, want)
	}
	if a.Units != 6 {
		t.Errorf("got %d cards for a replica, want 3 accelerators of 2", a.Units)
	}
	p.Accelerator.Type = ""
	if a := create(t, p, Correct); a.Type != "A100" {
		t.Errorf("got type %q, want the accelerator's name", a.Type)
	}
}

func TestIdleServersKeepTheirMinimumAndAccelerator(t *testing.T) {
	for _, load := range []Load{{InputTokens: 128, OutputTokens: 128}, {ArrivalRate: 5, InputTokens: 128}} {
		p := a100()
		p.Server.Load = load
		if a := create(t, p, Correct); a.Replicas != 0 || a.Accelerator != "A100" || a.Cost != 0 {
			t.Errorf("load %+v, no minimum: got %+v, want no replicas on the A100", load, a)
		}
		p.Server.MinReplicas = 2
		published, correct := create(t, p, Published), create(t, p, Correct)
		if published.Replicas != 2 || correct.Replicas != 2 {
			t.Errorf("load %+v: got %d and %d replicas, want the minimum of 2", load, published.Replicas, correct.Replicas)
		}
		if want := 5.2 + 0.1; math.Abs(published.TTFT-want) > 1e-9 {
			t.Errorf("published: got TTFT %g, want gamma + delta = %g", published.TTFT, want)
		}
		if want := 5.2 + 0.1*128; math.Abs(correct.TTFT-want) > 1e-9 {
			t.Errorf("correct: got TTFT %g, want gamma + delta x 128 tokens = %g", correct.TTFT, want)
		}
		if want := 20.58 + 0.41; math.Abs(correct.ITL-want) > 1e-9 && load.OutputTokens > 0 {
			t.Errorf("correct: got ITL %g, want alpha + beta = %g", correct.ITL, want)
		}
	}
}

func TestThroughputTargetIsADemand(t *testing.T) {
	p := a100()
	p.Target = Target{TPS: 3000}
	// 3000 tokens/s at 128 tokens are 23.4 requests/s; the load is 10.
	want := 3000.0 / 128
	if a := create(t, p, Correct); a.Demand != want {
		t.Errorf("correct: got demand %g, want %g", a.Demand, want)
	}
	p.Server.Load.ArrivalRate = 100
	if a := create(t, p, Correct); a.Demand != 100 {
		t.Errorf("correct, more load: got demand %g, want that of the load", a.Demand)
	}
	published := create(t, p, Published)
	if published.Demand != want {
		t.Errorf("published, more load: got demand %g, want %g, as published", published.Demand, want)
	}
	if correct := create(t, p, Correct); published.MaxRate > 0.91*correct.MaxRate {
		t.Errorf("published: got a greatest rate of %g, want a tenth less than %g", published.MaxRate, correct.MaxRate)
	}
}

func TestPercentileTargetTakesMoreReplicasThanTheMean(t *testing.T) {
	p := a100()
	p.Target = Target{TTFT: 60}
	mean := create(t, p, Correct)
	p.Target.TTFTPercentile = 0.99
	if tail := create(t, p, Correct); tail.Replicas <= mean.Replicas {
		t.Errorf("got %d replicas for the 99th percentile, %d for the mean: want more", tail.Replicas, mean.Replicas)
	}
}

func TestWhatCannotBeServedSaysWhy(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Placement)
		want   string
	}{
		{"load not known", func(p *Placement) { p.Server.Load.Unknown = true }, "the load is not known"},
		{"negative load", func(p *Placement) { p.Server.Load.ArrivalRate = -1 }, "want 0 or more"},
		{"load not a number", func(p *Placement) { p.Server.Load.ArrivalRate = math.NaN() }, "want 0 or more"},
		{"objective out of reach", func(p *Placement) { p.Target.ITL = 20 }, "ITL"},
		{"less than one output token", func(p *Placement) { p.Server.Load.OutputTokens = 0.5 }, "OutputTokens"},
		{"beyond any fleet", func(p *Placement) { p.Server.Load.ArrivalRate = 1e9 }, "at most 1000000 are planned"},
		{"cost not a number", func(p *Placement) { p.Accelerator.Cost = math.NaN() }, "Accelerator.Cost is NaN, want 0 to 1e+12"},
		{"negative cost", func(p *Placement) { p.Accelerator.Cost = -40 }, "Accelerator.Cost is -40, want"},
		{"cost without end", func(p *Placement) { p.Accelerator.Cost = math.Inf(1) }, "Accelerator.Cost is +Inf, want"},
		{"negative present cost", func(p *Placement) { p.Server.Current.Cost = -1e6 }, "Server.Current.Cost is -1e+06, want"},
		{"negative present replicas", func(p *Placement) { p.Server.Current.Replicas = -4 }, "Server.Current.Replicas is -4, want 0 to 1000000"},
		{"negative minimum", func(p *Placement) { p.Server.MinReplicas, p.Server.Load.ArrivalRate = -5, 0 }, "Server.MinReplicas is -5, want"},
		{"minimum beyond any fleet", func(p *Placement) { p.Server.MinReplicas = math.MaxInt }, "want 0 to 1000000"},
		{"negative batch", func(p *Placement) { p.Server.MaxBatch = -4 }, "Server.MaxBatch is -4, want 0 or more"},
		{"negative multiplicity", func(p *Placement) { p.Accelerator.Multiplicity = -2 }, "Accelerator.Multiplicity is -2, want"},
		{"negative count", func(p *Placement) { p.Profile.Count = -1 }, "Profile.Count is -1, want"},
		{"negative measured batch", func(p *Placement) { p.Profile.MaxBatch = -64 }, "Profile.MaxBatch is -64, want"},
		{"negative measured tokens", func(p *Placement) { p.Profile.AtTokens = -128 }, "Profile.AtTokens is -128, want"},
		{"negative throughput", func(p *Placement) { p.Target.TPS = -4 }, "Target.TPS is -4, want"},
		{"beyond any batch", func(p *Placement) { p.Server.MaxBatch = 2 << 20 }, "batches of 2097152 requests: want at most 1048576"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := a100()
			test.change(&p)
			for _, rules := range []Rules{Correct, Published} {
				a, err := CreateAllocation(p, rules)
				var infeasible *InfeasibleError
				if !errors.As(err, &infeasible) || infeasible.Server != "chat" || infeasible.Accelerator != "A100" {
					t.Fatalf("got %+v, %v, want an InfeasibleError of chat on A100", a, err)
				}
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %q, want it to say %q", err, test.want)
				}
			}
		})
	}
	p := a100()
	p.Target.ITL = 20
	_, err := CreateAllocation(p, Correct)
	var target *analyzer.TargetError
	if !errors.As(err, &target) || math.Abs(target.Best-20.99) > 0.01 {
		t.Errorf("got %v, want a TargetError with the best ITL, 20.99 ms", err)
	}
}

func TestPredictNeedsReplicasThatCarryTheRate(t *testing.T) {
	p := a100()
	want := create(t, p, Correct)
	got, err := Predict(p, Correct, want.Replicas, p.Server.Load.ArrivalRate)
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want what was created, %+v", got, err, want)
	}
	if idle, err := Predict(p, Correct, 2, 0); err != nil || idle.Replicas != 2 || idle.TTFT >= want.TTFT {
		t.Errorf("without load: got %+v, %v, want 2 replicas with a lower TTFT", idle, err)
	}
	for _, replicas := range []int{-1, 0, maxReplicas + 1} {
		if _, err := Predict(p, Correct, replicas, 1); err == nil {
			t.Errorf("%d replicas: got no error", replicas)
		}
	}
	if _, err := Predict(p, Correct, 1, 1e6); err == nil {
		t.Error("a million requests/s on one replica: got no error")
	}
}

// TestMoreLoadOrTighterObjectivesNeverTakeFewerReplicas draws placements and
// compares each with a harder one.
func TestMoreLoadOrTighterObjectivesNeverTakeFewerReplicas(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	for range 300 {
		p := a100()
		p.Profile.MaxBatch = 1 + rng.IntN(96)
		p.Profile.Service = analyzer.FourParameter{
			Alpha: 2 + 20*rng.Float64(), Beta: rng.Float64(), Gamma: 10 * rng.Float64(), Delta: 0.2 * rng.Float64(),
		}
		if rng.IntN(2) == 0 {
			p.Profile.Service = analyzer.ThreeParameter{
				Alpha: 2 + 20*rng.Float64(), Beta: 0.05 * rng.Float64(), Gamma: 1e-4 * rng.Float64(),
			}
		}
		p.Server.Load = Load{ArrivalRate: 50 * rng.Float64(), InputTokens: float64(rng.IntN(1000)), OutputTokens: float64(1 + rng.IntN(400))}
		p.Target = Target{ITL: 10 + 60*rng.Float64(), TTFT: 50 + 1000*rng.Float64()}
		harder := p
		harder.Server.Load.ArrivalRate *= 1 + rng.Float64()
		tighter := p
		tighter.Target.ITL *= 0.8 + 0.2*rng.Float64()
		tighter.Target.TTFT *= 0.8 + 0.2*rng.Float64()
		for _, rules := range []Rules{Correct, Published} {
			easy, err := CreateAllocation(p, rules)
			if err != nil {
				continue
			}
			for _, hard := range []Placement{harder, tighter} {
				a, err := CreateAllocation(hard, rules)
				if err != nil {
					continue
				}
				compared++
				if a.Replicas < easy.Replicas {
					t.Fatalf("seed %d: %+v takes %d replicas, the harder %+v %d", seed, p, easy.Replicas, hard, a.Replicas)
				}
			}
		}
	}
	if compared < 400 {
		t.Errorf("only %d pairs were compared", compared)
	}
}

func TestAKnownCapacityIsNotComputed(t *testing.T) {
	known := func(capacity float64) Placement {
		p := a100()
		p.Profile = Profile{Accelerator: "A100", Count: 2, Capacity: capacity}
		return p
	}
	a := create(t, known(2.5), Correct)
	want := Allocation{
		Accelerator: "A100", Type: "NVIDIA-A100-PCIE-80GB", Units: 2, Replicas: 4, Wanted: 4, Cost: 320, MaxRate: 2.5, Demand: 10, Value: a.Value,
	}
	if a != want {
		t.Errorf("got %+v, want %+v", a, want)
	}
	if a, err := Predict(known(2.5), Correct, 3, 7); err != nil || a.Replicas != 3 || a.MaxRate != 2.5 || a.Demand != 7 {
		t.Errorf("3 replicas at 7 requests/s: got %+v, %v", a, err)
	}
	idle := known(2.5)
	idle.Server.Load, idle.Server.MinReplicas = Load{}, 1
	if a := create(t, idle, Correct); a.Replicas != 1 || a.MaxRate != 2.5 {
		t.Errorf("without load: got %+v", a)
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := CreateAllocation(known(bad), Correct); err == nil || !strings.Contains(err.Error(), "Profile.Capacity") {
			t.Errorf("a capacity of %g: got %v, want an error that names it", bad, err)
		}
	}
}
