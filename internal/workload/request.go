package workload

import (
	"iter"
	"math/rand/v2"
	"time"
)

// MaxTokens is the largest length of a prompt or an answer, in tokens. It is far above the context
// of any model, and keeps a mistyped number from filling memory.
const MaxTokens = 10_000_000

// Request is one arrival.
type Request struct {
	At           time.Duration // since the start of the workload, >= 0
	InputTokens  int           // tokens of the prompt, in [1, MaxTokens]
	OutputTokens int           // tokens of the answer, in [1, MaxTokens]
}

// Generate returns the requests of one run of the profile p with lengths l, in order of arrival.
// The sequence is a function of p, l and the state of rng; lengths have their own random stream, so
// that arrivals do not depend on l. The sequence can be consumed once: it draws from rng.
func Generate(p Profile, l Lengths, rng *rand.Rand) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		lengths := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		for at := range p.Arrivals(rng) {
			r := Request{At: at, InputTokens: l.Input.Draw(lengths), OutputTokens: l.Output.Draw(lengths)}
			if !yield(r) {
				return
			}
		}
	}
}

// WithoutError returns requests as a sequence with errors, which are nil, like that of a trace.
func WithoutError(requests iter.Seq[Request]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		for r := range requests {
			if !yield(r, nil) {
				return
			}
		}
	}
}
