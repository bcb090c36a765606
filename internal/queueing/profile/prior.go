package profile

import (
	"errors"
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/roofline"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Prior is the belief about a replica of a variant that was never seen. It is computed from the
// size of its model and the data sheet of its accelerators.
type Prior struct {
	Belief
	KV    float64 // tokens of its KV cache
	model roofline.Model
	on    roofline.Accelerator
	count scaling.Accelerators
	speed roofline.Speed
}

// Computed returns the prior of a variant for requests with so many input tokens to compute and
// output tokens. It fails where the size of the model or the accelerator is unknown, and where the
// model does not fit: the error says what is missing.
func Computed(v scaling.Variant, prompt, answer float64) (Prior, error) {
	p := Prior{count: max(1, v.GPUsPerReplica)}
	if spread := v.Loaded.Accelerators; spread > 0 {
		p.count = min(p.count, spread)
	}
	var sized, known bool
	p.model, sized = roofline.Named(v.Model.ID, v.Loaded)
	p.on, known = roofline.ByName(v.Accelerator)
	var missing []error
	if !sized {
		missing = append(missing, fmt.Errorf("the name of model %q does not say its size", v.Model.ID))
	}
	switch {
	case v.Accelerator == "":
		missing = append(missing, errors.New("no accelerator is named"))
	case !known:
		missing = append(missing, fmt.Errorf("accelerator %q is not in the table", v.Accelerator))
	}
	if len(missing) > 0 {
		return Prior{}, errors.Join(missing...)
	}
	var err error
	if p.speed, err = roofline.Of(p.model, p.on, p.count, prompt+answer/2, v.Loaded.Memory); err != nil {
		return Prior{}, err
	}
	p.KV = p.speed.KV
	a, b, d := p.speed.Step, p.speed.Request, p.speed.Token
	p.Belief = Belief{
		step:  spread([3]float64{a, b, d}, [3]float64{roofline.StepOff * a, roofline.RequestOff * b, roofline.TokenOff * d}),
		first: afterStep(d),
	}
	return p, nil
}

// String says in words what the prior is computed from.
func (p Prior) String() string {
	_, off := p.speed.Range([3]float64{1, 1, 0}, 0.8)
	active := ""
	if p.model.Active < p.model.Parameters {
		active = fmt.Sprintf(" (%.3g billion active)", p.model.Active)
	}
	return fmt.Sprintf("computed from %.3g billion parameters%s of %.2g bits and the memory bandwidth of %d x %s, %.4g GB/s; may be off by a factor of %.1f",
		p.model.Parameters, active, p.model.Bits, p.count, p.on.Name, float64(p.count)*p.on.Bandwidth, off)
}

// known reports whether the prior was computed.
func (p Prior) known() bool { return p.speed.Step > 0 }

// before returns the belief about v before any of its replicas was seen: its stated profile, else
// what f shares, else the computed prior, else Unknown. shared reports whether it is what f shares.
func before(v scaling.Variant, f memory.Fit, computed Prior, prompt float64) (b Belief, shared bool) {
	b = Unknown()
	switch {
	case v.Profile.Usable():
		return Stated(v.Profile, prompt), false
	case computed.known():
		b = computed.Belief
	}
	return believed(b, f)
}

// moved returns the belief about a variant from the belief b about another of its model. from and
// to are the earlier steps of the other one and of this one: they differ as before, since both are
// off by the same factor. Where either is unknown, the variants are alike.
func (b Belief) moved(from, to [3]float64) Belief {
	if from[0] > 0 && to[0] > 0 {
		for i, is := range to {
			if before := from[i]; before > tiny {
				is *= b.step.mean[i] / before
			}
			b.step.mean[i] = is
		}
	}
	return b.widened()
}
