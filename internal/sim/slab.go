package sim

import "time"

// request is a request that arrived and has not ended.
type request struct {
	arrived   time.Duration
	submitted time.Duration // to a replica
	first     time.Duration // when its first token was put out, 0 before
	input     int32         // tokens
	output    int32         // tokens
	queued    bool          // waits in a replica, outside its batch
	pod       *pod          // nil while it is held
	live      bool
	retry     bool          // an attempt of a client that came back
	leaves    time.Duration // when its client loses patience, 0 for never
	alike     float64       // draw in (0, 1], 0 if its prompt begins like no other

	stage  stage         // how far it is through prefill and decode
	source *pod          // the prefill replica that keeps its KV cache until it has moved, else nil
	passed time.Duration // when prefill was done with it
	moved  time.Duration // time of the transfer of its KV cache to the decode replica
	waited bool          // it waited for a replica to be ready
}

// slab keeps requests by slot. Slots are reused, so its size is the largest number of requests in
// flight, not the length of the trace.
type slab struct {
	slots []request
	free  []uint32
}

func (s *slab) add(r request) uint32 {
	r.live = true
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		s.slots[slot] = r
		return slot
	}
	s.slots = append(s.slots, r)
	return uint32(len(s.slots) - 1)
}

func (s *slab) at(slot uint32) *request { return &s.slots[slot] }

func (s *slab) release(slot uint32) {
	s.slots[slot] = request{}
	s.free = append(s.free, slot)
}

// of calls do with the slot of every request that the pod holds, or whose KV cache the pod keeps or
// receives, in slot order.
func (s *slab) of(p *pod, do func(slot uint32)) {
	for i := range s.slots {
		if s.slots[i].live && (s.slots[i].pod == p || s.slots[i].source == p) {
			do(uint32(i))
		}
	}
}
