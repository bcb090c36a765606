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
// while n requests decode and so many input tokens are computed.
type Speed struct {
	Step    float64 // ms, > 0
	Request float64 // ms per request, > 0
	Token   float64 // ms per input token, > 0
	KV      float64 // tokens of the KV cache, >= 1
}

// law is what data sheets do not say. It is the same for all models and accelerators.
type law struct {
	reads    float64 // part of the bandwidth that reading parameters and KV caches reaches
	computes float64 // part of the operations that computing prompts reaches
	layer    float64 // ms of a layer beside reading
	request  float64 // ms of a request in a step beside reading
}

// fitted is the law by measured profiles. The parts of the data sheet are those that engines are
// known to reach.
var fitted = law{reads: 0.8, computes: 0.5, layer: 0.085, request: 0.015}

// The standard deviations of the coefficients, as ratios, by measured profiles of models that the
// fit left out.
const (
	StepOff    = 0.8
	RequestOff = 2.2
	TokenOff   = 0.7
)

const (
	// busy is the number of requests up to which the experts that a step of a mixture reads are
	// counted.
	busy = 32
	// reserved is the memory of each accelerator that an engine keeps for computing, in GB.
	reserved = 2
	// taken is the part of the memory that an engine takes: vLLM's default.
	taken = 0.9
)

// Of returns the speed of a model on so many accelerators for requests that hold context tokens of
// the KV cache in the mean. memory is the part of the memory that an engine takes, 0 for the usual
// one. Of fails where the parameters do not fit into that.
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

// Range returns the computed time of a step for the regressors 1, n and input tokens, in ms, and
// the factor by which the measured time is longer or shorter at most, with a probability in (0, 1).
// The error is a factor because coefficients are positive.
func (s Speed) Range(x [3]float64, probability float64) (ms, factor float64) {
	off := 0.0
	for i, c := range [3]float64{s.Step, s.Request, s.Token} {
		ms += x[i] * c
		part := x[i] * c * [3]float64{StepOff, RequestOff, TokenOff}[i]
		off += part * part
	}
	return ms, math.Exp(math.Sqrt2 * math.Erfinv(probability) * math.Sqrt(math.Log1p(off/(ms*ms))))
}

// token returns the part of the KV cache that one token holds, in GB.
func (m Model) token() float64 { return m.KV * m.KVBits / 8 / 1e9 }

// of returns the speed of a replica with n accelerators into which everything fits.
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
