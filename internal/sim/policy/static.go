package policy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// StaticParams are the parameters of a fixed number of replicas.
type StaticParams struct {
	Replicas scaling.Replicas // of the model, >= 0
}

// DefaultStaticParams returns 2 replicas, the static baseline of the published
// benchmarks.
func DefaultStaticParams() StaticParams { return StaticParams{Replicas: 2} }

func (p *StaticParams) fields() []field {
	return []field{count("replicas", "replicas of the model", &p.Replicas, 0)}
}

type static struct{ p StaticParams }

// NewStatic returns a rule that keeps the replicas on the variant with the least cost, as far as
// its bounds allow, and the others at their minimum.
func NewStatic(p StaticParams) (Autoscaler, error) {
	return static{p}, check("static", p.fields())
}

// Interval returns a minute: nothing that it reads changes.
func (static) Interval() time.Duration { return time.Minute }

func (s static) Decide(_ time.Time, in Observation) []Target {
	cheapest := byCost(in.Variants)
	return each(in, func(v Variant) (scaling.Replicas, string) {
		n := v.Bounds.Min
		if v.Key == cheapest[0].Key {
			n = s.p.Replicas
		}
		n = v.Bounds.Clamp(n)
		return n, fmt.Sprintf("static: %d", n)
	})
}

// cheaper orders variants by cost, then key.
func cheaper(a, b Variant) int { return cmp.Or(cmp.Compare(a.Cost, b.Cost), a.Key.Compare(b.Key)) }
