package exact

import "math"

// effort counts the work of a call of Solve and ends it at its limits.
type effort struct {
	nodes, iterations, work int
	limit                   int         // work of the whole call
	stage                   int         // work at which the present stage ends
	stop                    func() bool // may be nil
	ended                   bool
}

func newEffort(params Params) *effort {
	e := &effort{limit: params.MaxWork, stage: math.MaxInt, stop: params.Stop}
	if e.limit <= 0 {
		e.limit = math.MaxInt
	}
	return e
}

// coverer returns a coverer, with coverSteps as its limit where the effort has one.
func (e *effort) coverer() coverer {
	if e.limit == math.MaxInt {
		return coverer{}
	}
	return coverer{limit: coverSteps}
}

// spend counts a problem that c has solved. Where c ended before it knew whether any cover exists,
// the search can prove nothing more and ends too.
func (e *effort) spend(c *coverer, found bool) {
	e.work += 1 + c.steps/stepsPerWork
	if c.cut() && !found && math.IsInf(c.best, 1) {
		e.ended = true
	}
}

// stepsPerWork is the number of tried counts that equal the work of one more small problem.
const stepsPerWork = 100

// over reports whether the present stage must end.
func (e *effort) over() bool {
	return e.spent() || e.work >= e.stage
}

// spent reports whether the search must end altogether.
func (e *effort) spent() bool {
	if !e.ended && (e.work >= e.limit || e.stop != nil && e.stop()) {
		e.ended = true
	}
	return e.ended
}

// begin starts a stage that may do quota work.
func (e *effort) begin(quota int) {
	e.stage = math.MaxInt
	if quota < math.MaxInt-e.work {
		e.stage = e.work + quota
	}
}
