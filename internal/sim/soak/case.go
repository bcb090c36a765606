package soak

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// The names of the engines of a case.
const (
	Spare        = "saturation" // spare capacity
	Tokens       = "tokens"
	Queueing     = "queueing"
	Hybrid       = "hybrid"
	HybridTokens = "hybrid-tokens"
)

// Engines returns the names.
func Engines() []string { return []string{Spare, Tokens, Queueing, Hybrid, HybridTokens} }

// Case is one model with its fleet, load and faults. All fields are plain, so that text holds them
// and [Reduce] makes them simpler.
type Case struct {
	Engine        string
	Length        time.Duration
	Tick          time.Duration // between cycles
	Variants      []Variant
	Input, Output float64 // tokens of a request
	TTFT, ITL     float64 // objective, ms

	ScaleUpStabilization, ScaleDownStabilization time.Duration
	ScaleDownStartUps                            float64 `json:",omitempty"`
	MaxScaleUpStep, MaxScaleDownStep             scaling.Replicas
	Retention                                    time.Duration // until an idle model goes to zero; 0 is never

	Spread    string        // of the gateway, as plant.Spread
	Gateway   bool          // it holds requests that replicas cannot take
	Patience  time.Duration // of clients
	Tolerance float64       // of the scaler

	Load   []Segment
	Faults []Fault
}

// Variant is one way to serve the model.
type Variant struct {
	Name     string
	Cost     float64
	Speed    float64          // relative to an 8B model on an L40S
	Memory   float64          // KV cache, relative to what a full batch holds
	Min, Max scaling.Replicas // Max 0 is none
	Replicas scaling.Replicas // at the start
	StartUp  time.Duration
	Weight   float64
}

// Segment is a stretch of load: from one rate to another, or between the two and back in every
// Period. The last one goes on.
type Segment struct {
	For      time.Duration
	From, To float64 // requests/s
	Period   time.Duration
}

// Fault is a fault.Fault with the name of its variant.
type Fault struct {
	Kind          fault.Kind
	Variant       string
	At, For       time.Duration
	Replicas      scaling.Replicas
	Share         float64
	Wait          time.Duration
	Period, Ready time.Duration
	Step          time.Duration
}

// namespace is the namespace of every object of a case.
const namespace = "ns"

// batch is the most requests that a replica computes together.
const batch = 64

// key returns the key of a variant by its name.
func key(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: namespace, Name: name} }

// fault returns f for a plant.
func (f Fault) fault() fault.Fault {
	out := fault.Fault{
		Kind: f.Kind, At: f.At, For: f.For, Replicas: f.Replicas, Share: f.Share, Wait: f.Wait, Period: f.Period, Ready: f.Ready, Step: f.Step,
	}
	if f.Variant != "" {
		out.Variant = key(f.Variant)
	}
	return out
}

// Rate returns the requests/s at an offset.
func (c Case) Rate(at time.Duration) float64 {
	last := 0.0
	for _, s := range c.Load {
		if at >= s.For {
			at, last = at-s.For, s.To
			continue
		}
		if s.Period > 0 {
			return s.From + (s.To-s.From)*(1-math.Cos(2*math.Pi*at.Seconds()/s.Period.Seconds()))/2
		}
		return s.From + (s.To-s.From)*at.Seconds()/s.For.Seconds()
	}
	return last
}

// Validate returns nil, or the errors of the case.
func (c Case) Validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("soak: "+format, args...))
		}
	}
	want(slices.Contains(Engines(), c.Engine), "engine %q, want one of %v", c.Engine, Engines())
	want(c.Tick >= 15*time.Second && c.Length >= c.Tick, "cycles every %s for %s, want 15s or more, and at least one", c.Tick, c.Length)
	want(len(c.Variants) > 0 && len(c.Load) > 0, "%d variants and %d segments of load, want one or more of both", len(c.Variants), len(c.Load))
	want(c.Input >= 1 && c.Output >= 2 && c.TTFT > 0 && c.ITL > 0, "requests of %g and %g tokens within %g and %g ms", c.Input, c.Output, c.TTFT, c.ITL)
	want(c.Patience > 0, "patience is %s, want more than 0s", c.Patience)
	want(slices.Contains([]plant.Spread{plant.Even, plant.RoundRobin, plant.Weighted}, plant.Spread(c.Spread)), "spread %q", c.Spread)
	names := map[string]bool{}
	for _, v := range c.Variants {
		want(v.Name != "" && !names[v.Name], "variant name %q, want another for each", v.Name)
		names[v.Name] = true
		want(v.valid(), "variant %+v", v)
	}
	for _, s := range c.Load {
		want(s.valid(), "load %+v", s)
	}
	for _, f := range c.Faults {
		want(f.Variant == "" || names[f.Variant], "fault %+v is of no variant", f)
		if err := f.fault().Validate(); err != nil {
			errs = append(errs, fmt.Errorf("soak: fault %s: %w", f.Kind, err))
		}
	}
	return errors.Join(errs...)
}

// valid reports whether the numbers of v are in their ranges.
func (v Variant) valid() bool {
	return v.Speed > 0 && v.Memory > 0 && v.StartUp >= 0 && v.Replicas >= 0 && v.Min >= 0 && v.Cost > 0
}

// valid reports whether the times and rates of s are in their ranges.
func (s Segment) valid() bool { return s.For > 0 && s.From >= 0 && s.To >= 0 && s.Period >= 0 }

// Plant returns the case for a plant.
func (c Case) Plant() plant.Config {
	p := plant.Config{
		Model: scaling.ModelKey{Namespace: namespace, ID: "m"}, Settings: c.settings(), Load: c.Rate,
		InputTokens: c.Input, OutputTokens: c.Output, Tick: c.Tick, Spread: plant.Spread(c.Spread), Gateway: c.Gateway,
		Patience: c.Patience, Tolerance: c.Tolerance,
	}
	for _, v := range c.Variants {
		p.Variants = append(p.Variants, c.variant(v))
	}
	for _, f := range c.Faults {
		p.Faults = append(p.Faults, f.fault())
	}
	return p
}

// variant returns v for a plant: the coefficients are those of an 8B model on an L40S, divided by
// the speed.
func (c Case) variant(v Variant) plant.Variant {
	bounds := scaling.Bounds{Min: v.Min, Max: v.Max}
	if v.Max == 0 {
		bounds.Max = math.MaxInt
	}
	return plant.Variant{
		Spec: scaling.Variant{
			Key: key(v.Name), Cost: v.Cost, CostSource: scaling.CostVariant, Accelerator: v.Name, GPUsPerReplica: 1, Bounds: bounds,
			Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: v.Name},
			Profile: scaling.Profile{
				Source: "soak", Alpha: 20.58 / v.Speed, Beta: 0.41 / v.Speed, Gamma: 5.2 / v.Speed, Delta: 0.01 / v.Speed, MaxBatchSize: batch,
			},
		},
		KVTokens: math.Round(v.Memory * batch * (c.Input + c.Output/2)), StartUp: v.StartUp, Replicas: v.Replicas, Weight: v.Weight,
	}
}

func (c Case) settings() settings.Model {
	s := settings.Default()
	s.Method, s.Objective = settings.Spare, scaling.Objective{Class: "soak", Priority: 1, TTFT: c.TTFT, ITL: c.ITL}
	s.Pacing = constrain.Pacing{
		ScaleUpStabilization: c.ScaleUpStabilization, ScaleDownStabilization: c.ScaleDownStabilization,
		ScaleDownStartUps: c.ScaleDownStartUps,
		MaxScaleUpStep:    c.MaxScaleUpStep, MaxScaleDownStep: c.MaxScaleDownStep, SurplusAtOnce: c.MaxScaleDownStep == 1,
		Zero: constrain.Zero{Enabled: c.Retention > 0, Retention: c.Retention},
	}
	switch c.Engine {
	case Tokens:
		s.Method = settings.Tokens
	case Queueing:
		s.Engine = settings.Queueing
	case Hybrid:
		s.Engine = settings.Hybrid
	case HybridTokens:
		s.Engine, s.Method = settings.Hybrid, settings.Tokens
	}
	return s
}
