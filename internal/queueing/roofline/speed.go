package roofline

import (
	"fmt"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Speed is how fast one replica is: a step takes
//
//	Step + Request n + Token tokens    [ms]
//
// while n requests decode and so many tokens of prompts are computed.
type Speed struct {
	Step    float64 // ms, > 0
	Request float64 // ms per request, > 0
	Token   float64 // ms per token of a prompt, > 0
	KV      float64 // tokens that the KV cache holds, >= 1
}

// law is what data sheets do not say, and the same for all.
type law struct {
	reads    float64 // part of the bandwidth that reading parameters and KV caches gets
	computes float64 // part of the operations that computing prompts gets
	layer    float64 // ms of a layer beside reading
	request  float64 // ms of a request in a step beside reading
}

// fitted is the law by measured profiles; of the parts of the data sheet those that engines
// are known to reach.
var fitted = law{reads: 0.8, computes: 0.5, layer: 0.085, request: 0.015}

// The parts by which the coefficients may be off: standard deviations, by measured profiles
// of models that were left out.
const (
	StepOff    = 0.8
	RequestOff = 2.2
	TokenOff   = 0.7
)

const (
	// busy is up to how many requests the experts of a mixture are counted that a step reads.
	busy = 32
	// reserved is what an engine keeps of each accelerator to compute in, GB.
	reserved = 2
	// taken is the part of the memory that an engine takes: vLLM's default.
	taken = 0.9
)

// Of returns the speed of a model on so many accelerators for requests that hold so many
// tokens of the KV cache in the mean. An engine takes a part of the memory, 0 for the usual
// one. It fails where the parameters do not fit into that.
func Of(m Model, on Accelerator, count scaling.Accelerators, context, memory float64) (Speed, error) {
	n := float64(max(1, count))
	if !(memory > 0) {
		memory = taken
	}
	all, room := m.Parameters*m.Bits/8, n*(on.Memory*memory-reserved) // GB
	if all >= room {
		return Speed{}, fmt.Errorf("its %.3g GB of parameters do not fit into %.3g GB on %d x %s", all, max(0, room), max(1, count), on.Name)
	}
	s := fitted.of(m, on, n, context)
	s.KV = max(1, (room-all)/m.token())
	return s, nil
}

// Range returns the time of a step that is computed for regressors 1, n and tokens of
// prompts in ms, and by which factor the time that is measured is more or less with a
// probability in (0, 1): coefficients are positive, so that what is off is a factor.
func (s Speed) Range(x [3]float64, probability float64) (ms, factor float64) {
	off := 0.0
	for i, c := range [3]float64{s.Step, s.Request, s.Token} {
		ms += x[i] * c
		part := x[i] * c * [3]float64{StepOff, RequestOff, TokenOff}[i]
		off += part * part
	}
	return ms, math.Exp(math.Sqrt2 * math.Erfinv(probability) * math.Sqrt(math.Log1p(off/(ms*ms))))
}

// token is what one token holds of the KV cache, GB.
func (m Model) token() float64 { return m.KV * m.KVBits / 8 / 1e9 }

// of returns the speed of a replica into whose n accelerators everything fits.
func (l law) of(m Model, on Accelerator, n, context float64) Speed {
	rate := n * on.Bandwidth * l.reads / 1000                   // GB/ms
	all, one := m.Parameters*m.Bits/8, m.Active*m.Bits/8        // GB
	many := all * (1 - math.Pow(1-m.Active/m.Parameters, busy)) // GB that a step reads for busy requests
	return Speed{
		Step:    one/rate + m.Layers*l.layer,
		Request: (many-one)/(busy-1)/rate + context*m.token()/rate + l.request,
		Token:   2 * m.Active / (n * on.Compute * l.computes),
	}
}
