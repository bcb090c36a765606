package lab

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Scenario is a fleet and its workload.
type Scenario struct {
	Name        string // identifies it within a plan
	Description string // one sentence
	Workload    Source
	Models      []Model // one or more
	// Target is the wanted attainment, a ratio in (0, 1].
	Target float64
	// Quotas are the accelerators that namespaces own. Only this project's policies keep to them.
	Quotas []scaling.Quota
	// Schedule holds the freeze windows. Only this project's policies keep to them.
	Schedule schedule.Schedule
	// Fleet has the settings of all runs. The lab fills in Seed, Start, Models, Sync and the
	// functions.
	Fleet sim.Config
}

// Model is a model of a scenario.
type Model struct {
	// Share is the part of the workload that asks for this model, > 0,
	// relative to the other models.
	Share float64
	// Priority is the priority of the model's service class, 1 to 100, lower is more important; 0
	// means no class and comes last. Only this project's policies use it.
	Priority int
	// Sized sets the first replicas: the cheapest variant has as many as the first ten minutes of
	// load need, whatever the variants say.
	Sized bool
	// Percentile has this project's policies hold the objectives at the percentile of the
	// attainment; else they use the manager's default percentiles.
	Percentile bool
	// Spec is the model without its Requests.
	Spec sim.Model
}

// fitted is a scenario after a look at its workload.
type fitted struct {
	Scenario
	survey Survey
	// from is the begin of the judged part.
	from     time.Duration
	measured map[scaling.VariantKey]Measured
}

// look says how fit looks at a scenario before its runs.
type look struct {
	seed  uint64
	until time.Duration // end of the surveyed part of the workload, 0 for all of it
	from  time.Duration // begin of the judged part
	bench bool          // measure every variant; those of a Sized model in any case
	known Benchmarks    // measurements that need not be repeated; nil has none
}

// fit surveys the workload of s, measures its variants and sizes its models. An error says what
// does not fit together.
func fit(ctx context.Context, s Scenario, l look) (fitted, error) {
	var f fitted
	o, err := survey(ctx, s.Workload, l.seed, l.until)
	if err != nil {
		return f, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	f = fitted{Scenario: s, survey: o, from: l.from, measured: map[scaling.VariantKey]Measured{}}
	f.Models = slices.Clone(s.Models)
	for i := range f.Models {
		m := &f.Models[i]
		m.Spec.Variants = slices.Clone(m.Spec.Variants)
		for j := range m.Spec.Variants {
			v := &m.Spec.Variants[j]
			if err := holds(*v, o.Lengths); err != nil {
				return fitted{}, fmt.Errorf("scenario %s: workload %s: %w", s.Name, s.Workload.Name, err)
			}
			v.Spec.Profile, v.Spec.Limits = speed(*v), limitsOf(*v)
			if v.Spec.Role != "" {
				// A replica of one role attains nothing alone: only its speed is known.
				f.measured[v.Spec.Key] = Measured{Profile: v.Spec.Profile}
				continue
			}
			if !l.bench && !m.Sized {
				continue
			}
			b := bench{variant: *v, slo: m.Spec.SLO, prefix: m.Spec.Prefix, sample: o.sample, mean: o.Lengths}
			f.measured[v.Spec.Key], err = knownOr(l.known, s.Name, v.Spec.Key, func() (Measured, error) { return b.ofFleet(ctx, o.Peak*m.Share/s.shares()) })
			if err != nil {
				return fitted{}, fmt.Errorf("scenario %s: variant %s: %w", s.Name, v.Spec.Key, err)
			}
		}
		if m.Sized {
			m.size(o.Opening*m.Share/s.shares(), f.measured)
		}
	}
	f.squeeze()
	return f, nil
}

// holds returns an error if a replica cannot hold a request of mean lengths.
func holds(v sim.Variant, mean policy.Workload) error {
	if v.Replica != nil {
		return nil
	}
	need := math.Ceil(mean.InputTokens + mean.OutputTokens)
	for _, limit := range []struct {
		field string
		value int
	}{{"kvCacheTokens", v.Profile.Blocks() * v.Profile.BlockSize}, {"maxModelLen", v.Profile.MaxModelLen}} {
		if need > float64(limit.value) {
			return fmt.Errorf("profile %s: %s is %d, less than one mean request of %.0f input and %.0f output tokens: want %.0f or more",
				v.Profile.Name, limit.field, limit.value, mean.InputTokens, mean.OutputTokens, need)
		}
	}
	return nil
}

// speed returns the profile that an operator writes into a VariantAutoscaling: a line, which at no
// length is below a prefill with a floor.
func speed(v sim.Variant) scaling.Profile {
	p := v.Profile
	return scaling.Profile{Source: p.Name, Alpha: p.AlphaMS, Beta: p.BetaMS, Gamma: max(p.GammaMS, p.PrefillFloorMS), Delta: p.DeltaMS, MaxBatchSize: p.MaxBatchSize}
}

// limitsOf returns the limits in the arguments of the engine.
func limitsOf(v sim.Variant) scaling.EngineLimits {
	return scaling.EngineLimits{BatchTokens: v.Profile.MaxBatchedTokens, MaxBatch: v.Profile.MaxBatchSize}
}

// size sets the first replicas of a model for an arrival rate in requests/s.
func (m *Model) size(rate float64, found map[scaling.VariantKey]Measured) {
	cheapest := m.cheapest()
	for i := range m.Spec.Variants {
		v := &m.Spec.Variants[i]
		v.Replicas = v.Spec.Bounds.Min
		if v.Spec.Key != cheapest.Spec.Key {
			continue
		}
		v.Replicas = 1
		if can := found[v.Spec.Key].Rate; can > 0 {
			v.Replicas = max(1, scaling.Replicas(math.Ceil(rate/can)))
		}
		v.Replicas = v.Spec.Bounds.Clamp(v.Replicas)
	}
}

// cheapest returns the variant with the least cost.
func (m *Model) cheapest() sim.Variant {
	return slices.MinFunc(m.Spec.Variants, func(a, b sim.Variant) int {
		return cmp.Or(cmp.Compare(a.Spec.Cost, b.Spec.Cost), a.Spec.Key.Compare(b.Spec.Key))
	})
}

// validate returns nil, or the first error of the fleet: a *sim.FieldError unless a profile is
// wrong.
func (s Scenario) validate() error {
	c := s.Fleet
	c.Models = nil
	for _, m := range s.Models {
		spec := m.Spec
		spec.Requests = func(func(workload.Request, error) bool) {}
		c.Models = append(c.Models, spec)
	}
	if err := c.Validate(); err != nil {
		return err
	}
	for i, m := range s.Models {
		if m.Sized && slices.ContainsFunc(m.Spec.Variants, func(v sim.Variant) bool { return v.Spec.Role != "" }) {
			return &sim.FieldError{Field: fmt.Sprintf("models[%d].variants", i), Value: "without their first replicas", Want: "replicas of a variant, as some have a role"}
		}
		if m.Priority < 0 || m.Priority > 100 {
			return &sim.FieldError{Field: fmt.Sprintf("models[%d].priority", i), Value: fmt.Sprint(m.Priority), Want: "1 to 100, or 0 for that of no class"}
		}
	}
	return s.validateQuotas()
}

// validateQuotas returns nil, or the error of the first quota that is negative, occurs twice or is
// about accelerators that no model uses.
func (s Scenario) validateQuotas() error {
	var pairs []string
	for _, m := range s.Models {
		for _, v := range m.Spec.Variants {
			pairs = append(pairs, v.Spec.Key.Namespace+"/"+v.Spec.Accelerator)
		}
	}
	slices.Sort(pairs)
	pairs = slices.Compact(pairs)
	seen := map[string]bool{}
	for i, q := range s.Quotas {
		field, pair := fmt.Sprintf("quotas[%d]", i), q.Namespace+"/"+q.Accelerator
		switch {
		case q.GPUs < 0:
			return &sim.FieldError{Field: field + ".gpus", Value: fmt.Sprint(q.GPUs), Want: "0 or more accelerators"}
		case seen[pair]:
			return &sim.FieldError{Field: field, Value: pair, Want: "a namespace and an accelerator not used before"}
		case !slices.Contains(pairs, pair):
			return &sim.FieldError{Field: field, Value: pair, Want: "namespace and accelerator of a variant: " + strings.Join(pairs, ", ")}
		}
		seen[pair] = true
	}
	return nil
}

// limits reports whether the scenario limits the accelerators of a model: by nodes with one of its
// accelerator types, or by a quota of its namespace.
func (s Scenario) limits(m Model) bool {
	return slices.ContainsFunc(m.Spec.Variants, func(v sim.Variant) bool {
		onNodes := slices.ContainsFunc(s.Fleet.Nodes, func(n sim.Nodes) bool { return n.Accelerator == v.Spec.Accelerator })
		return onNodes || slices.ContainsFunc(s.Quotas, func(q scaling.Quota) bool {
			return q.Namespace == v.Spec.Key.Namespace && q.Accelerator == v.Spec.Accelerator
		})
	})
}

func (s Scenario) shares() float64 {
	sum := 0.0
	for _, m := range s.Models {
		sum += m.Share
	}
	return sum
}

// span returns for how long requests arrive in a run.
func (s Scenario) span(ctx context.Context, seed uint64) (time.Duration, error) {
	if asked := cmp.Or(s.Fleet.Duration, s.Workload.Length); asked > 0 {
		return asked, nil
	}
	o, err := survey(ctx, s.Workload, seed, 0)
	if err != nil {
		return 0, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return o.Span, nil
}

// config returns the sim.Config of f with a seed.
func (f fitted) config(seed uint64) sim.Config {
	c, w := f.Fleet, f.Workload
	c.Seed, c.From, c.Bin = seed, f.from, stride
	c.Models = nil
	if w.Length > 0 && c.Duration == 0 {
		c.Duration = w.Length
	}
	for _, m := range f.Models {
		spec := m.Spec
		spec.Requests = f.open(spec.Key, seed)
		c.Models = append(c.Models, spec)
	}
	return c
}

// open returns the requests of a model with a seed.
func (f fitted) open(key scaling.ModelKey, seed uint64) iter.Seq2[workload.Request, error] {
	parts := make([]float64, len(f.Models))
	of := 0
	for i, m := range f.Models {
		parts[i] = m.Share
		if m.Spec.Key == key {
			of = i
		}
	}
	return f.Workload.Part(parts, of).Open(seed)
}
