package analyzer

// RequestSize is the mean size of a request, in tokens. Means need not be whole.
type RequestSize struct {
	InputTokens  float64 // tokens/request, at least 0; 0 is a request without prefill
	OutputTokens float64 // tokens/request, at least 1
}

// Validate returns an *InputError that names the first field out of its range.
func (r RequestSize) Validate() error {
	if err := notNegative("RequestSize.InputTokens", r.InputTokens); err != nil {
		return err
	}
	if !finite(r.OutputTokens) || r.OutputTokens < 1 {
		return &InputError{Field: "RequestSize.OutputTokens", Value: r.OutputTokens, Want: "at least 1 token"}
	}
	return nil
}

// ServiceModel says how long one replica takes for a request while batch requests
// are computed together. Times are in ms; batch is at least 1 and may lie between
// whole numbers.
//
// Every time must be finite, not negative, and affine in batch with a slope of at least 0: the
// analyzer computes means at the mean concurrency, which is exact for such times. Implementations
// are immutable; many goroutines call their methods.
type ServiceModel interface {
	// Prefill returns the time to compute the prompt.
	Prefill(batch float64, r RequestSize) float64
	// Decode returns the time between two output tokens, the ITL.
	Decode(batch float64, r RequestSize) float64
	// FirstToken returns the time from entering the batch to the first output token: the TTFT
	// without the wait.
	FirstToken(batch float64, r RequestSize) float64
	// Total returns the time from entering the batch to the last output token.
	Total(batch float64, r RequestSize) float64
	// Validate returns an *InputError that names the first parameter out of its
	// range.
	Validate() error
}

// FourParameter is the published service model with linear prefill and decode:
//
//	prefill = Gamma + Delta x input tokens x batch    (0 without input)
//	decode  = Alpha + Beta x batch
//	total   = prefill + (output tokens - 1) x decode
//
// The prefill yields the first output token. A request without input and with one
// output token takes one decode.
type FourParameter struct {
	Alpha float64 // ms, at least -Beta
	Beta  float64 // ms per concurrent request, at least 0
	Gamma float64 // ms, at least 0
	Delta float64 // ms per input token and concurrent request, at least 0
}

var _ ServiceModel = FourParameter{}

// Prefill implements ServiceModel.
func (m FourParameter) Prefill(batch float64, r RequestSize) float64 {
	if r.InputTokens == 0 {
		return 0
	}
	return m.Gamma + m.Delta*r.InputTokens*batch
}

// Decode implements ServiceModel.
func (m FourParameter) Decode(batch float64, _ RequestSize) float64 {
	return m.Alpha + m.Beta*batch
}

// FirstToken implements ServiceModel: the prefill yields the first token.
func (m FourParameter) FirstToken(batch float64, r RequestSize) float64 {
	return m.Prefill(batch, r)
}

// Total implements ServiceModel.
func (m FourParameter) Total(batch float64, r RequestSize) float64 {
	decodes := r.OutputTokens - 1
	if r.InputTokens == 0 && r.OutputTokens == 1 {
		decodes = 1
	}
	return m.Prefill(batch, r) + decodes*m.Decode(batch, r)
}

// Validate implements ServiceModel.
func (m FourParameter) Validate() error {
	if !finite(m.Alpha) || m.Alpha < -m.Beta {
		return &InputError{Field: "FourParameter.Alpha", Value: m.Alpha, Want: "a finite number of at least -Beta"}
	}
	return firstNegative("FourParameter",
		named{"Beta", m.Beta}, named{"Gamma", m.Gamma}, named{"Delta", m.Delta})
}

// ThreeParameter is the published service model in which the time of a step has a part for
// computing tokens and a part for reading the KV cache:
//
//	step    = Alpha + batch x (Beta x (in + out)/(out + 1) + Gamma x (in + out/2))
//	prefill = step + (Beta + Gamma) x in    (0 without input)
//	decode  = step + Beta + Gamma x (in + out/2)
//	total   = prefill + out x decode
//
// with in and out the input and output tokens. The first output token comes from
// the first decode.
type ThreeParameter struct {
	Alpha float64 // ms per step, at least 0
	Beta  float64 // ms per token computed, at least 0
	Gamma float64 // ms per token read from the KV cache, at least 0
}

var _ ServiceModel = ThreeParameter{}

// step returns the mean time in ms of one step of the engine.
func (m ThreeParameter) step(batch float64, r RequestSize) float64 {
	in, out := r.InputTokens, r.OutputTokens
	return m.Alpha + batch*(m.Beta*(in+out)/(out+1)+m.Gamma*(in+out/2))
}

// Prefill implements ServiceModel.
func (m ThreeParameter) Prefill(batch float64, r RequestSize) float64 {
	if r.InputTokens == 0 {
		return 0
	}
	return m.step(batch, r) + (m.Beta+m.Gamma)*r.InputTokens
}

// Decode implements ServiceModel.
func (m ThreeParameter) Decode(batch float64, r RequestSize) float64 {
	return m.step(batch, r) + m.Beta + m.Gamma*(r.InputTokens+r.OutputTokens/2)
}

// FirstToken implements ServiceModel: one decode follows the prefill.
func (m ThreeParameter) FirstToken(batch float64, r RequestSize) float64 {
	return m.Prefill(batch, r) + m.Decode(batch, r)
}

// Total implements ServiceModel.
func (m ThreeParameter) Total(batch float64, r RequestSize) float64 {
	return m.Prefill(batch, r) + r.OutputTokens*m.Decode(batch, r)
}

// Validate implements ServiceModel.
func (m ThreeParameter) Validate() error {
	return firstNegative("ThreeParameter",
		named{"Alpha", m.Alpha}, named{"Beta", m.Beta}, named{"Gamma", m.Gamma})
}

// named is a parameter with its name.
type named struct {
	name  string
	value float64
}

// firstNegative returns the error of the first parameter that is not a finite
// number of at least 0.
func firstNegative(of string, params ...named) error {
	for _, p := range params {
		if !finite(p.value) || p.value < 0 {
			return notNegative(of+"."+p.name, p.value)
		}
	}
	return nil
}
