package clairvoyant

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// slack is how far below the sums of package serving a bound stays, which
// rounds every step to a nanosecond.
const slack = 1e-6

// law is what serving a request takes on one variant, at least.
type law struct {
	key     scaling.VariantKey
	profile serving.Profile
	slo     sim.SLO
	price   float64 // cost units per ms of a replica
	cache   float64 // tokens of the KV cache
}

// laws returns those of a model's variants. A variant whose replicas are not
// described by a profile has none, which is an error.
func laws(m sim.Model) ([]law, error) {
	out := make([]law, len(m.Variants))
	for i, v := range m.Variants {
		if v.Replica != nil {
			return nil, fmt.Errorf("clairvoyant: variant %s of model %s makes its replicas itself: want one that has a profile only", v.Spec.Key, m.Key)
		}
		out[i] = law{
			key: v.Spec.Key, profile: v.Profile, slo: m.SLO,
			price: v.Spec.Cost / float64(time.Hour.Milliseconds()),
			cache: float64(v.Profile.Blocks() * v.Profile.BlockSize),
		}
	}
	return out, nil
}

// work is the replica-time of one request in ms, by what it is for.
type work struct {
	prompt float64 // of its input tokens
	begin  float64 // its share of gamma, where shares are 1/(D+B)
	tokens float64 // of its output tokens after the first
	batch  float64 // its shares of alpha where they are 1/D
	even   float64 // where they are 1/(D+B)
	memory float64 // where they are h/K
}

// mixture weighs the shares; its weights add up to 1.
type mixture struct{ batch, even, memory float64 }

// mixtures are those that a bound tries.
var mixtures = [...]mixture{
	{batch: 1}, {even: 1}, {memory: 1}, {batch: 0.5, memory: 0.5}, {even: 0.5, memory: 0.5}, {batch: 0.8, memory: 0.2},
}

// prefill and decode return what w comes to under a mixture, in ms.
func (w work) prefill(m mixture) float64 { return w.prompt + m.even*w.begin }

func (w work) decode(m mixture) float64 {
	return w.tokens + m.batch*w.batch + m.even*w.even + m.memory*w.memory
}

// least returns the least replica-time of a request that meets its objectives
// here, of which at most beside run at any time, itself included; false if it
// cannot meet them even alone.
func (l *law) least(r workload.Request, beside int) (work, bool) {
	p := &l.profile
	in, steps := float64(r.InputTokens), float64(r.OutputTokens-1)
	switch {
	case r.OutputTokens > p.MaxOutput(r.InputTokens),
		l.slo.TTFT > 0 && p.GammaMS+p.DeltaMS*in > l.slo.TTFT*(1+slack),
		l.slo.ITL > 0 && steps > 0 && min(p.AlphaMS+p.BetaMS, p.GammaMS+p.DeltaMS*(in+1)) > l.slo.ITL*(1+slack):
		return work{}, false
	}
	return l.takes(r, beside), true
}

// takes is least for any request.
func (l *law) takes(r workload.Request, beside int) work {
	p := &l.profile
	in, steps := float64(r.InputTokens), float64(r.OutputTokens-1)
	again := p.DeltaMS * (in + 1) // a prompt after a preemption, at least
	most := float64(max(1, min(beside, p.MaxBatchSize)))
	w := work{
		prompt: p.DeltaMS * in,
		begin:  p.GammaMS / most,
		tokens: p.BetaMS * steps,
		even:   p.AlphaMS / most * steps,
		memory: p.AlphaMS * steps * (in + float64(r.OutputTokens)/2) / l.cache,
	}
	jensen, marginal := l.jensen(most)
	w.batch = jensen * steps
	marginal = p.BetaMS + max(marginal, p.AlphaMS*(in+float64(r.OutputTokens))/l.cache)
	if again < marginal {
		w.tokens, w.batch, w.even, w.memory = steps*min(p.BetaMS, again), 0, 0, 0
	}
	return w
}

// jensen returns the least mean share of alpha in a decoding step of a request
// that meets its ITL, in ms, and by how much one step less would lessen the sum
// of them.
func (l *law) jensen(most float64) (mean, marginal float64) {
	p := &l.profile
	mean = p.AlphaMS / most
	marginal = mean
	room := l.slo.ITL - p.AlphaMS
	if l.slo.ITL == 0 || p.BetaMS == 0 {
		return mean, marginal
	}
	if room <= 0 {
		return mean, math.Inf(1)
	}
	// k steps out of q cost f(k) = alpha*beta*k*k/(S*q - alpha*k) in all.
	share := p.AlphaMS * p.BetaMS / room
	return max(mean, share*(1-slack)), max(marginal, share*(2*l.slo.ITL-p.AlphaMS)/room)
}

// window is from when to when a request can be in a replica if it meets its
// objectives.
type window struct {
	from, first, last time.Duration // arrival, and when its first and last token are due
}

// never is after every run.
const never = time.Duration(math.MaxInt64)

// windowOf returns the window of a request. Without an objective it has no end.
func windowOf(r workload.Request, slo sim.SLO) window {
	w := window{from: r.At, first: never, last: never}
	if slo.TTFT > 0 {
		w.first = r.At + millis(slo.TTFT)
		if slo.ITL > 0 || r.OutputTokens == 1 {
			w.last = w.first + millis(slo.ITL*float64(r.OutputTokens-1))
		}
	}
	return w
}

func millis(ms float64) time.Duration {
	return time.Duration(math.Ceil(ms*(1+slack)*1e6)) + 1
}
