package zoo

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// stock is a few replicas and two traces.
func stock(t *testing.T) Stock {
	t.Helper()
	replica := func(model, accelerator string, gpus scaling.Accelerators, alpha, beta, delta float64, kv int) Replica {
		return Replica{Model: model, GPUs: gpus, Cost: 2.5 * float64(gpus), Profile: serving.Profile{
			Name: fmt.Sprintf("%s/%s/tp%d", model, accelerator, gpus), Accelerator: accelerator, AlphaMS: alpha, BetaMS: beta, GammaMS: 10, DeltaMS: delta,
			MaxBatchSize: 256, MaxBatchedTokens: 2048, KVCacheTokens: kv, BlockSize: 16, MaxModelLen: kv,
		}}
	}
	s := Stock{Replicas: []Replica{
		replica("one/phi-4", "A100", 1, 18, 0.05, 0.1, 234_320), replica("two/phi-4-fp8-dynamic", "H100", 1, 4.8, 0.014, 0.04, 300_864),
		replica("three/llama-70b-instruct", "H100", 4, 12.6, 0.067, 0.086, 2_052_368), replica("four/codellama-34b-instruct-hf", "H100", 1, 26, 0.06, 0.1, 40_592),
	}}
	log := lab.Record{Name: "log.csv"}
	for i := range 7200 {
		if i/600%3 != 1 { // silent for ten minutes of thirty
			log.Requests = append(log.Requests, workload.Request{At: time.Duration(i) * time.Second, InputTokens: 200 + i%1000, OutputTokens: 20 + i%300})
		}
	}
	var curve []workload.Segment
	for i := range 144 {
		curve = append(curve, workload.Constant{Rate: 1000 + 500*math.Sin(float64(i)/23), Duration: 10 * time.Minute})
	}
	p, err := workload.NewProfile(curve...)
	if err != nil {
		t.Fatal(err)
	}
	s.Traces = []lab.Record{log, {Name: "curve.csv", Curve: p}}
	return s
}

// TestEveryCaseIsAScenario draws many cases: each is read back from its text as a scenario
// that the lab accepts.
func TestEveryCaseIsAScenario(t *testing.T) {
	s := stock(t)
	kinds, small, large := map[string]int{}, 0, 0
	for i := range 200 {
		c := Draw(7, i, s)
		if _, err := c.Scenario(s); err != nil {
			text, _ := c.Text()
			t.Fatalf("case %d: %v\n%s", i, err, text)
		}
		most := MaxRequests * 1.01
		if c.Drawn.Constant {
			most *= 2
		}
		if got := float64(c.Drawn.Requests); got > most {
			t.Errorf("case %d, %s: %g requests, want %g at most", i, c.Description, got, most)
		}
		kinds[c.Drawn.Traffic]++
		if c.Drawn.Replicas < 3 {
			small++
		}
		if c.Drawn.Replicas > 60 {
			large++
		}
	}
	for _, kind := range []string{logs, mixed, curves, constant, day, steps, ramps, flash, onOff, bursts} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
	if small == 0 || large == 0 {
		t.Errorf("%d small fleets and %d large ones, want both", small, large)
	}
}

// TestCasesHaveTheRequestsThatWereDrawn counts what arrives, in all and in the part that is
// judged.
func TestCasesHaveTheRequestsThatWereDrawn(t *testing.T) {
	s := stock(t)
	s.Requests = 5000
	for i := range 40 {
		c := Draw(8, i, s)
		scenario, err := c.Scenario(s)
		if err != nil {
			t.Fatal(err)
		}
		got, judged, want := 0.0, 0.0, float64(c.Drawn.Requests)
		for request, err := range scenario.Workload.Open(1) {
			if err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
			if got++; request.At >= lab.FirstPart(c.Drawn.Window) {
				judged++
			}
		}
		if off := math.Abs(got - want); off > 0.1*want+6*8*math.Sqrt(want) { // bursts of cv 8 scatter 8 times as much
			t.Errorf("case %d, %s: %g requests, %g were drawn", i, c.Description, got, want)
		}
		if judged < 0.1*got {
			t.Errorf("case %d, %s: %g of %g requests are judged", i, c.Description, judged, got)
		}
	}
}

// TestACaseIsAFunctionOfItsSeedAndIndex draws cases twice, in another order.
func TestACaseIsAFunctionOfItsSeedAndIndex(t *testing.T) {
	s := stock(t)
	first := map[int]Case{}
	for i := range 20 {
		first[i] = Draw(3, i, s)
	}
	for i := 19; i >= 0; i-- {
		if diff := cmp.Diff(first[i], Draw(3, i, s)); diff != "" {
			t.Errorf("case %d: %s", i, diff)
		}
	}
	one, err := first[5].Text()
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := Draw(4, 5, s).Text(); other == one {
		t.Error("two seeds draw the same case")
	}
}
