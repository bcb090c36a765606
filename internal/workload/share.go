package workload

import (
	"fmt"
	"iter"
	"math"
)

// Share is one part of a workload that is split at random, request by request, among models or to
// thin it.
type Share struct {
	Parts []float64 // relative sizes, each finite and >= 0, not all 0
	Of    int       // index of this share in Parts
	Seed  uint64    // the shares of one seed are disjoint and make up the whole
}

// Thin returns a share that keeps the given ratio of the requests, in [0, 1].
func Thin(ratio float64, seed uint64) Share {
	return Share{Parts: []float64{ratio, 1 - ratio}, Seed: seed}
}

// Take returns the requests of the share. One pass over a workload takes one share, so the source
// is read again for the next one; nothing is stored. A share of a Poisson process is a Poisson
// process.
func (s Share) Take(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		from, to, err := s.bounds()
		if err != nil {
			yield(Request{}, err)
			return
		}
		n := uint64(0)
		for request, err := range requests {
			at := uniform(s.Seed, n)
			n++
			if err == nil && (at < from || at >= to) {
				continue
			}
			if !yield(request, err) || err != nil {
				return
			}
		}
	}
}

// bounds returns the part of [0, 1) that belongs to the share.
func (s Share) bounds() (from, to float64, err error) {
	sum, before := 0.0, 0.0
	for i, part := range s.Parts {
		if !(part >= 0) || math.IsInf(part, 1) {
			return 0, 0, fmt.Errorf("splitting a workload: part %d is %s, want a finite number, 0 or more", i, number(part))
		}
		if i < s.Of {
			before += part
		}
		sum += part
	}
	if !(sum > 0) || s.Of < 0 || s.Of >= len(s.Parts) {
		return 0, 0, fmt.Errorf("splitting a workload: part %d of %d with the sum %s, want one of them and a sum above 0", s.Of, len(s.Parts), number(sum))
	}
	return before / sum, (before + s.Parts[s.Of]) / sum, nil
}

// uniform returns a number in [0, 1) for the nth request of a seed: SplitMix64 (Steele, Lea and
// Flood, OOPSLA 2014), so that a request's share does not depend on the other requests.
func uniform(seed, n uint64) float64 {
	const golden = 0x9e3779b97f4a7c15
	z := seed*0xd1342543de82ef95 + (n+1)*golden
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return float64((z^(z>>31))>>11) / (1 << 53)
}
