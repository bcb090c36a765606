package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Fit is the measured pace of the replicas of a variant, summed up over samples. Package profile
// learns the time of a step from it. The zero value has seen nothing. It is a value: no method
// changes it.
type Fit struct {
	Of    Subject   `json:"of,omitzero"`
	At    time.Time `json:"at,omitzero"` // of the last sample
	Bands []Band    `json:"bands,omitempty"`
	// Over is the ITL in an overload, when more requests waited than there were replicas. It is
	// measured only while there is no usable profile and too little in Bands.
	Over Sums `json:"over,omitzero"`
	// Odd is the number of windows, of about the last ten, whose samples were far off the earlier
	// ones. Such samples are left out while Odd is below SamplesEnough.
	Odd float64 `json:"odd,omitempty"`
	// Generated counts the tokens that the replicas generated, computed from started requests and
	// the mean output length. Reported counts the intervals between tokens that they reported. Both
	// are sums of tokens/s over about the last ten windows. Generated is larger where an interval
	// covers several tokens.
	Generated float64 `json:"generated,omitempty"`
	Reported  float64 `json:"reported,omitempty"`
	// Shared is a prior from other namespaces, not a measurement of these replicas. It is not
	// stored.
	Shared Shared `json:"shared,omitzero"`
}

// Shared is the fit of replicas in another namespace that run the same model on the same
// accelerators with the same pod template. The zero value is none.
type Shared struct {
	Bands []Band `json:"bands,omitempty"`
	// Namespaces is the number of other namespaces with such replicas; Bands are those of the
	// median one.
	Namespaces int `json:"namespaces,omitempty"`
}

// Known reports whether there is a shared fit.
func (s Shared) Known() bool { return len(s.Bands) > 0 }

// Subject describes the replicas that a Fit measured, by the present scale target: during a
// rollout, even a paused one, older replicas count as new ones. The model is not part of it,
// because the Past that holds the Fit names it.
type Subject struct {
	Accelerator string               `json:"accelerator,omitempty"` // canonical type, "" while unknown
	GPUs        scaling.Accelerators `json:"gpus,omitempty"`        // accelerators of a replica, 0 while unknown
	Template    string               `json:"template,omitempty"`    // see Variant.Template; "" while unknown
}

// guessed is the number of windows that all earlier samples count for after the image or the
// arguments of the engine change: enough to be believed until new samples arrive, and so few that
// four new windows weigh as much.
const guessed = SamplesEnough + 1

// For returns what f says about the replicas of v: nothing on other accelerators, and little with
// another template. A value that is unknown now counts as unchanged.
func (f Fit) For(v scaling.Variant) Fit {
	if v.Missing != "" {
		return f // its template is unknown, and so the accelerators may be
	}
	was := f.Of
	is := Subject{cmp.Or(v.Accelerator, was.Accelerator), cmp.Or(v.GPUsPerReplica, was.GPUs), cmp.Or(v.Template, was.Template)}
	changed := func(was, is string) bool { return was != "" && was != is }
	switch {
	case changed(was.Accelerator, is.Accelerator) || was.GPUs != 0 && was.GPUs != is.GPUs:
		f = Fit{}
	case changed(was.Template, is.Template):
		f = f.atMost(guessed)
	}
	f.Of = is
	return f
}

// atMost returns f with its weight limited to the given windows.
func (f Fit) atMost(windows float64) Fit {
	k := windows / f.samples()
	if !(k < 1) {
		return f
	}
	return f.Faded(k)
}

// Faded returns f with the weight of all samples multiplied by k.
func (f Fit) Faded(k float64) Fit {
	f.Bands = slices.Clone(f.Bands)
	for i, b := range f.Bands {
		f.Bands[i] = Band{Of: b.Of, ITL: b.ITL.times(k), TTFT: b.TTFT.times(k)}
	}
	f.Over = f.Over.times(k)
	return f
}

// samples returns the number of windows that f counts for.
func (f Fit) samples() float64 {
	itl, _ := f.Sums()
	return itl.Samples + f.Over.Samples
}

// Band sums up the samples at similar batch sizes: from 2^Of to twice that.
type Band struct {
	Of   int  `json:"of"`
	ITL  Sums `json:"itl"`
	TTFT Sums `json:"ttft"`
}

// Sums are the sums of a linear fit of three coefficients that minimizes relative errors: over
// samples with regressors x0, x1, x2 and a measurement y, the sums of xi xj/y² and of xi/y.
type Sums struct {
	Samples float64 `json:"looks,omitempty"` // windows
	// Squares is the sum of the squared weights of the windows. It is smaller beside Samples the more
	// windows there were, since older windows weigh less.
	Squares float64 `json:"squares,omitempty"`

	XX00 float64 `json:"xx00,omitempty"`
	XX01 float64 `json:"xx01,omitempty"`
	XX02 float64 `json:"xx02,omitempty"`
	XX11 float64 `json:"xx11,omitempty"`
	XX12 float64 `json:"xx12,omitempty"`
	XX22 float64 `json:"xx22,omitempty"`
	X0   float64 `json:"x0,omitempty"`
	X1   float64 `json:"x1,omitempty"`
	X2   float64 `json:"x2,omitempty"`
}

// Plus returns s with one more sample, which counts for the given windows. Earlier samples lose weight
// where Samples would exceed most.
func (s Sums) Plus(x [3]float64, y, windows, most float64) Sums {
	if sum := s.Samples + windows; sum > most {
		s = s.times(max(0, most-windows) / s.Samples)
	}
	for i := range x {
		x[i] /= y
	}
	sample := Sums{
		Samples: 1, XX00: x[0] * x[0], XX01: x[0] * x[1], XX02: x[0] * x[2], XX11: x[1] * x[1], XX12: x[1] * x[2], XX22: x[2] * x[2],
		X0: x[0], X1: x[1], X2: x[2],
	}.times(windows)
	sample.Squares = windows // the samples of one window are of the same tokens
	return s.And(sample)
}

// And returns the sums over the samples of s and o.
func (s Sums) And(o Sums) Sums {
	return Sums{
		Samples: s.Samples + o.Samples, Squares: s.Squares + o.Squares,
		XX00: s.XX00 + o.XX00, XX01: s.XX01 + o.XX01, XX02: s.XX02 + o.XX02,
		XX11: s.XX11 + o.XX11, XX12: s.XX12 + o.XX12, XX22: s.XX22 + o.XX22,
		X0: s.X0 + o.X0, X1: s.X1 + o.X1, X2: s.X2 + o.X2,
	}
}

// times returns the sums with the weight of every sample multiplied by k.
func (s Sums) times(k float64) Sums {
	return Sums{
		Samples: k * s.Samples, Squares: k * k * s.Squares,
		XX00: k * s.XX00, XX01: k * s.XX01, XX02: k * s.XX02,
		XX11: k * s.XX11, XX12: k * s.XX12, XX22: k * s.XX22,
		X0: k * s.X0, X1: k * s.X1, X2: k * s.X2,
	}
}

// Unbiased returns the sums corrected for noise in y, whose relative variance is given: the noise
// raises the mean of 1/y by that part, and the mean of 1/y² by three times as much.
func (s Sums) Unbiased(variance float64) Sums {
	out := s.times(1 / (1 + 3*variance))
	out.Samples, out.Squares = s.Samples, s.Squares
	k := 1 / (1 + variance)
	out.X0, out.X1, out.X2 = k*s.X0, k*s.X1, k*s.X2
	return out
}

// Matrix returns the sums of xi xj/y².
func (s Sums) Matrix() [3][3]float64 {
	return [3][3]float64{{s.XX00, s.XX01, s.XX02}, {s.XX01, s.XX11, s.XX12}, {s.XX02, s.XX12, s.XX22}}
}

// Vector returns the sums of xi/y.
func (s Sums) Vector() [3]float64 { return [3]float64{s.X0, s.X1, s.X2} }

// SamplesEnough is the least number of windows for a Fit to count.
const SamplesEnough = 3

// Informed reports whether f has enough samples outside of overloads.
func (f Fit) Informed() bool {
	itl, _ := f.Sums()
	return itl.Samples >= SamplesEnough
}

// Sums returns the sums of the ITL and of the TTFT over all bands.
func (f Fit) Sums() (itl, ttft Sums) {
	for _, b := range f.Bands {
		itl, ttft = itl.And(b.ITL), ttft.And(b.TTFT)
	}
	return itl, ttft
}
