package scaling

import (
	"cmp"
	"slices"
	"time"
)

// Fit is what was seen of the speed of the replicas of a variant: sums over looks, from
// which package profile reads how long a step takes. The zero value has seen nothing. It is
// a value: no method changes it.
type Fit struct {
	Of    Subject   `json:"of,omitzero"`
	At    time.Time `json:"at,omitzero"` // of the last look
	Bands []Band    `json:"bands,omitempty"`
	// Over is the ITL while more requests waited than there were replicas, for as long as
	// nothing else is known.
	Over Sums `json:"over,omitzero"`
}

// Subject is what the replicas are of which a Fit was seen, as the scale target has them
// now: while a rollout replaces them, or is paused, those before it count as those after it.
// The model is not in it: it is that of the Past which the Fit is part of.
type Subject struct {
	Accelerator string `json:"accelerator,omitempty"` // canonical type, "" while unknown
	GPUs        int    `json:"gpus,omitempty"`        // accelerators of a replica, 0 while unknown
	Template    string `json:"template,omitempty"`    // names what engines are started with, see Variant; "" while unknown
}

// guessed is for how many windows all that was seen counts once the image or the arguments
// of the engine have changed: enough to be believed until something else is known, and so
// few that four new windows count for as much.
const guessed = LooksEnough + 1

// For returns what f says of the replicas of v: nothing where they are on other
// accelerators, and little where their engine is another one. What is not known now has not
// changed.
func (f Fit) For(v Variant) Fit {
	if v.Missing != "" {
		return f // its template is not known, and so the accelerators may not be either
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

// atMost returns f with all that was seen counting for so many windows at most.
func (f Fit) atMost(windows float64) Fit {
	k := windows / f.looks()
	if !(k < 1) {
		return f
	}
	f.Bands = slices.Clone(f.Bands)
	for i, b := range f.Bands {
		f.Bands[i] = Band{Of: b.Of, ITL: b.ITL.times(k), TTFT: b.TTFT.times(k)}
	}
	f.Over = f.Over.times(k)
	return f
}

// looks returns for how many windows f counts.
func (f Fit) looks() float64 {
	itl, _ := f.Sums()
	return itl.Looks + f.Over.Looks
}

// Band is what was seen while about as many requests were computed together: from 2^Of
// to twice that.
type Band struct {
	Of   int  `json:"of"`
	ITL  Sums `json:"itl"`
	TTFT Sums `json:"ttft"`
}

// Sums are those of a linear fit of three coefficients, in which every look counts by
// how far it is off in relation to what was measured: of looks with regressors x0, x1, x2 and
// a measurement y, those of the products xi xj/y² and of xi/y.
type Sums struct {
	Looks float64 `json:"looks,omitempty"` // windows
	// Squares is the sum of the squares of what each window counts for: the less beside Looks
	// the more windows there were, of which the older count for less.
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

// Plus returns s with one more look that counts for so many windows; what was seen
// before counts for no more than most windows with it.
func (s Sums) Plus(x [3]float64, y, windows, most float64) Sums {
	if sum := s.Looks + windows; sum > most {
		s = s.times(max(0, most-windows) / s.Looks)
	}
	for i := range x {
		x[i] /= y
	}
	look := Sums{
		Looks: 1, XX00: x[0] * x[0], XX01: x[0] * x[1], XX02: x[0] * x[2], XX11: x[1] * x[1], XX12: x[1] * x[2], XX22: x[2] * x[2],
		X0: x[0], X1: x[1], X2: x[2],
	}.times(windows)
	look.Squares = windows // the looks of one window are of the same tokens
	return s.And(look)
}

// And returns the sums over the looks of both.
func (s Sums) And(o Sums) Sums {
	return Sums{
		Looks: s.Looks + o.Looks, Squares: s.Squares + o.Squares,
		XX00: s.XX00 + o.XX00, XX01: s.XX01 + o.XX01, XX02: s.XX02 + o.XX02,
		XX11: s.XX11 + o.XX11, XX12: s.XX12 + o.XX12, XX22: s.XX22 + o.XX22,
		X0: s.X0 + o.X0, X1: s.X1 + o.X1, X2: s.X2 + o.X2,
	}
}

// times returns the sums with every look counting so many times.
func (s Sums) times(k float64) Sums {
	return Sums{
		Looks: k * s.Looks, Squares: k * k * s.Squares,
		XX00: k * s.XX00, XX01: k * s.XX01, XX02: k * s.XX02,
		XX11: k * s.XX11, XX12: k * s.XX12, XX22: k * s.XX22,
		X0: k * s.X0, X1: k * s.X1, X2: k * s.X2,
	}
}

// Unbiased returns the sums as they are of measurements without noise, where these are off by a part
// with such a variance: the mean of 1/y is too large by it, and that of 1/y² by three times as much.
func (s Sums) Unbiased(variance float64) Sums {
	out := s.times(1 / (1 + 3*variance))
	out.Looks, out.Squares = s.Looks, s.Squares
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

// LooksEnough is how many windows have to be seen for a Fit to count.
const LooksEnough = 3

// Informed reports whether enough was seen while no more requests waited than there were
// replicas.
func (f Fit) Informed() bool {
	itl, _ := f.Sums()
	return itl.Looks >= LooksEnough
}

// Sums returns those of all bands, of the ITL and of the TTFT.
func (f Fit) Sums() (itl, ttft Sums) {
	for _, b := range f.Bands {
		itl, ttft = itl.And(b.ITL), ttft.And(b.TTFT)
	}
	return itl, ttft
}
