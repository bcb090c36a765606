package analyzer

import "math"

// states are the stationary weights of a queue that serves at rate r_n with n
// requests in it, at r_N with more, and holds up to N + queue requests: a
// birth-death chain with
//
//	T_n = T_(n-1) arrival / r_n
//
// Its slices are never modified.
type states struct {
	rate    []float64 // r_1 .. r_N, in the unit of the arrival rate
	inverse []float64 // 1/r_1 .. 1/r_N
	queue   int       // places beyond N, at least 0
	ordered bool      // the rates do not decrease
}

// newStates returns the states for one or more rates, which are positive and finite. It keeps
// rates.
func newStates(rates []float64, queue int) states {
	s := states{rate: rates, inverse: make([]float64, len(rates)), queue: queue, ordered: true}
	for i, r := range rates {
		s.inverse[i] = 1 / r
		if i > 0 && r < rates[i-1] {
			s.ordered = false
		}
	}
	return s
}

// full returns r_N, the rate with N or more requests.
func (s states) full() float64 { return s.rate[len(s.rate)-1] }

// head holds the weights of the states 0..N relative to the likeliest of them, so that nothing
// overflows and only negligible weights underflow.
type head struct {
	none  float64 // T_0
	below float64 // T_1 + ... + T_(N-1)
	first float64 // 1 T_1 + ... + (N-1) T_(N-1)
	last  float64 // T_N
}

// head returns the weights at an arrival rate. It goes from the likeliest state to both ends, with
// one multiplication for each state and weights of at most 1. It ends at weights of at most least.
func (s states) head(arrival, least float64) head {
	if !s.ordered {
		return s.headByLogarithms(arrival)
	}
	n, mode := len(s.rate), s.mode(arrival)
	var h head
	switch mode {
	case 0:
		h.none = 1
	case n:
		h.last = 1
	default:
		h.below, h.first = 1, float64(mode)
	}
	if mode > 0 {
		t, k, perArrival := 1.0, float64(mode), 1/arrival
		for i := mode - 1; i > 0 && t > least; i-- {
			t *= s.rate[i] * perArrival
			k--
			h.below += t
			h.first += k * t
		}
		if t > least {
			h.none = t * s.rate[0] * perArrival
		}
	}
	if mode < n {
		t, k := 1.0, float64(mode)
		for i := mode; i < n-1 && t > least; i++ {
			t *= arrival * s.inverse[i]
			k++
			h.below += t
			h.first += k * t
		}
		if t > least {
			h.last = t * arrival * s.inverse[n-1]
		}
	}
	return h
}

// mode returns the likeliest of the states 0..N for ordered rates: the last one whose r_n is at
// most the arrival rate.
func (s states) mode(arrival float64) int {
	low, high := 0, len(s.rate)
	for low < high {
		middle := (low + high) / 2
		if s.rate[middle] <= arrival {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// headByLogarithms returns head for rates in any order, whose weights may rise and fall more than
// once.
func (s states) headByLogarithms(arrival float64) head {
	if arrival == 0 {
		return head{none: 1}
	}
	each := math.Log(arrival)
	weight, top := 0.0, 0.0
	for _, inverse := range s.inverse {
		weight += each + math.Log(inverse)
		top = max(top, weight)
	}
	h := head{none: math.Exp(-top)}
	weight = -top
	last := len(s.inverse) - 1
	for i, inverse := range s.inverse[:last] {
		weight += each + math.Log(inverse)
		t := math.Exp(weight)
		h.below += t
		h.first += float64(i+1) * t
	}
	h.last = math.Exp(weight + each + math.Log(s.inverse[last]))
	return h
}

// balance holds sums and means over the weights of all states. Weights are relative.
type balance struct {
	accepted float64 // weight of the states in which an arrival finds room
	queueing float64 // of these, weight of the states in which an arrival waits

	idle      float64 // share of the time without a request
	busy      float64 // the rest
	blocking  float64 // share of the arrivals that find no room
	admitted  float64 // the rest
	waiting   float64 // mean requests that wait
	inService float64 // mean requests in service
	found     float64 // mean of min(n+1, N) over the n that admitted arrivals find
}

// balance returns the balance at an arrival rate of at least 0.
func (s states) balance(arrival float64) balance {
	return newBalance(s.head(arrival, 0), newGeometric(arrival, s.full(), s.queue), float64(len(s.rate)))
}

// negligible is a weight relative to the likeliest state that changes no digit of a mean over a
// million states.
const negligible = 1e-30

// means returns balance without negligible weights, for means over all states.
func (s states) means(arrival float64) balance {
	return newBalance(s.head(arrival, negligible), newGeometric(arrival, s.full(), s.queue), float64(len(s.rate)))
}

// newBalance joins the states up to n with those of the queue behind them. All terms of its sums
// are positive.
func newBalance(h head, g geometric, n float64) balance {
	none, below, first := h.none*g.scale, h.below*g.scale, h.first*g.scale
	open, blocked := h.last*g.open, h.last*g.last
	b := balance{accepted: none + below + open, queueing: open}
	total := b.accepted + blocked
	b.idle = none / total
	b.busy = (below + open + blocked) / total
	b.blocking = blocked / total
	b.admitted = b.accepted / total
	b.waiting = h.last * g.moment / total
	b.inService = (first + n*(open+blocked)) / total
	b.found = (first + below + none + n*open) / b.accepted
	return b
}
