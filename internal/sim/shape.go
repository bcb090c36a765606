package sim

import "math/bits"

// Shape counts the arrivals since the start of the run of about the same lengths: within a factor
// of two of each other.
type Shape struct {
	Requests     uint64
	InputTokens  uint64 // sum over the requests
	OutputTokens uint64
}

func (s Shape) minus(o Shape) Shape {
	return Shape{s.Requests - o.Requests, s.InputTokens - o.InputTokens, s.OutputTokens - o.OutputTokens}
}

// shapeSides is the number of powers of two in the range of a length: MaxTokens
// of package workload has 24 bits.
const shapeSides = 24

// Shapes counts the arrivals of a model by their lengths, in a fixed order.
type Shapes [shapeSides * shapeSides]Shape

// add counts a request.
func (s *Shapes) add(input, output int) {
	side := func(tokens int) int { return min(bits.Len(uint(tokens)), shapeSides) - 1 }
	one := &s[side(input)*shapeSides+side(output)]
	one.Requests++
	one.InputTokens += uint64(input)
	one.OutputTokens += uint64(output)
}
