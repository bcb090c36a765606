package serving

import "time"

// sequence is a request inside the machine: 56 bytes, less than one cache line of a CPU. An int32
// holds its counts because a Profile limits them to 2^30.
type sequence struct {
	id        uint64
	arrived   time.Duration
	last      time.Duration // time of its latest token
	input     int32         // prompt [tokens]
	output    int32         // to generate [tokens]
	cached    int32         // of input, found in the prefix cache [tokens]
	computed  int32         // tokens whose keys and values are in the cache
	generated int32         // tokens generated; a preemption keeps it
	blocks    int32         // KV cache blocks held
	chunk     int32         // tokens computed in the present step
	decoding  bool
	admitted  bool // has been in the batch at least once
}

// queue is a double-ended queue of sequences on a ring. The zero value is empty.
type queue struct {
	ring []sequence // length 0 or a power of two
	head int
	n    int
}

func (q *queue) len() int { return q.n }

// at returns the i-th sequence from the front, 0 <= i < len.
func (q *queue) at(i int) *sequence { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *queue) pushBack(s sequence) {
	q.grow()
	q.n++
	*q.at(q.n - 1) = s
}

func (q *queue) pushFront(s sequence) {
	q.grow()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.n++
	*q.at(0) = s
}

func (q *queue) popFront() sequence {
	s := *q.at(0)
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return s
}

// remove takes the i-th sequence out and keeps the order of the others. It moves the
// shorter part, so removing the oldest request is cheap.
func (q *queue) remove(i int) {
	if i < q.n/2 {
		for ; i > 0; i-- {
			*q.at(i) = *q.at(i - 1)
		}
		q.popFront()
		return
	}
	for ; i < q.n-1; i++ {
		*q.at(i) = *q.at(i + 1)
	}
	q.n--
}

func (q *queue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]sequence, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}
