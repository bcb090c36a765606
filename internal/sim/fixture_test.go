package sim

import (
	"iter"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// testProfile has a KV cache of 20 GB.
func testProfile() serving.Profile { return simtest.Profile(65536) }

func testModel(requests iter.Seq2[workload.Request, error]) Model {
	return Model{
		Key: scaling.ModelKey{Namespace: "ns", ID: "m"}, Requests: requests,
		SLO: SLO{TTFT: 1000, ITL: 60, Attainment: 0.9}, Routing: LeastLoaded, Hold: 10 * time.Minute,
		Variants: []Variant{testVariant("a")},
	}
}

func testVariant(name string) Variant {
	return Variant{
		Spec: scaling.Variant{
			Key: scaling.VariantKey{Namespace: "ns", Name: name}, Accelerator: "L40S",
			GPUsPerReplica: 1, Cost: 2, Bounds: scaling.Unbounded(),
		},
		Profile: testProfile(), StartUp: StartUp{Mean: 30 * time.Second}, Replicas: 1, Grace: 30 * time.Second,
	}
}

func testConfig(requests iter.Seq2[workload.Request, error]) Config {
	return Config{Seed: 1, Models: []Model{testModel(requests)}}
}

func testEngine(p saturation.Thresholds) *Engine {
	how := settings.Default()
	how.Saturation = p
	return NewEngine(EngineOptions{Name: "saturation", Policy: func(scaling.ModelKey) settings.Model { return how }})
}

// scripted wants what it is told at each decision, and the last of it for ever.
type scripted struct {
	every   time.Duration
	targets [][]Target
	seen    func(View)
	n       int
}

func (s *scripted) Name() string            { return "scripted" }
func (s *scripted) Interval() time.Duration { return s.every }

func (s *scripted) Decide(v View) ([]Target, error) {
	if s.seen != nil {
		s.seen(v)
	}
	if len(s.targets) == 0 {
		return nil, nil
	}
	s.n++
	return s.targets[min(s.n, len(s.targets))-1], nil
}

// hold leaves everything as it is.
func hold() *scripted { return &scripted{every: 15 * time.Second} }
