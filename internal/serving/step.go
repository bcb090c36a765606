package serving

import "time"

// load is the work of one step; doc.go has the formula for its time.
type load struct {
	decoding int32 // requests that compute one token to generate the next
	prefill  int32 // tokens of prompt, or recomputed after a preemption
	begins   bool  // a prompt begins in this step
}

func (p *Profile) stepTime(l load) time.Duration {
	fixed := 0.0
	if l.decoding > 0 {
		fixed = p.AlphaMS
	}
	if l.begins {
		fixed = max(fixed, p.GammaMS)
	}
	pass := fixed + p.DeltaMS*float64(l.prefill)
	if l.prefill > 0 {
		pass = max(pass, p.PrefillFloorMS)
	}
	return duration(pass + p.BetaMS*float64(l.decoding))
}

// beginStep assigns the tokens of the step and sets its end.
func (r *Replica) beginStep() {
	l, budget, preempted := r.scheduleRunning()
	if !preempted {
		r.admit(&l, budget)
	}
	r.stepEnd = r.free + r.profile.stepTime(l)
	r.stepping = true
}

// scheduleRunning gives every running request its tokens, oldest first, and
// preempts from the youngest end when blocks run out.
func (r *Replica) scheduleRunning() (l load, budget int32, preempted bool) {
	budget = int32(r.profile.MaxBatchedTokens)
	for i := 0; i < len(r.running) && budget > 0; i++ {
		s := &r.running[i]
		if s.decoding && s.computed < s.blocks*r.blockSize { // the common case: one token, and room for it
			s.chunk = 1
			budget--
			l.decoding++
			continue
		}
		chunk := min(s.input+s.generated-s.computed, budget)
		for need := r.blocksFor(s, chunk); need > 0; need = r.blocksFor(s, chunk) {
			if need <= r.freeBlocks {
				r.freeBlocks -= need
				s.blocks += need
				break
			}
			preempted = true
			r.preemptYoungest()
			if i == len(r.running) {
				return l, budget, true // it was the youngest itself
			}
		}
		s.chunk = chunk
		budget -= chunk
		if s.decoding {
			l.decoding++
		} else {
			l.prefill += chunk
		}
	}
	return l, budget, preempted
}

// admit moves requests from the queue to the batch while there is room for
// their first chunk.
func (r *Replica) admit(l *load, budget int32) {
	for r.waiting.len() > 0 && len(r.running) < r.profile.MaxBatchSize && budget > 0 {
		s := r.waiting.at(0)
		s.computed = s.cached
		chunk := min(s.input+s.generated-s.computed, budget)
		need := r.blocksFor(s, chunk)
		if need > r.freeBlocks {
			return
		}
		r.freeBlocks -= need
		s.blocks += need
		s.chunk = chunk
		budget -= chunk
		l.prefill += chunk
		l.begins = true
		r.countAdmission(s)
		r.running = append(r.running, r.waiting.popFront())
	}
}

func (r *Replica) countAdmission(s *sequence) {
	r.emit(Event{At: r.free, ID: s.id, Kind: Admitted, Tokens: s.generated})
	if s.admitted {
		return
	}
	s.admitted = true
	r.stats.PrefixQueries += uint64(s.input)
	r.stats.PrefixHits += uint64(s.cached)
}

// blocksFor returns how many blocks s lacks to compute chunk more tokens.
func (r *Replica) blocksFor(s *sequence, chunk int32) int32 {
	short := s.computed + chunk - s.blocks*r.blockSize
	if short <= 0 {
		return 0
	}
	return (short + r.blockSize - 1) / r.blockSize
}

// preemptYoungest returns the request that was admitted last to the head of the queue. It is
// computed again from its cached prefix on.
func (r *Replica) preemptYoungest() {
	last := len(r.running) - 1
	s := r.running[last]
	r.running = r.running[:last]
	r.emit(Event{At: r.free, ID: s.id, Kind: Preempted, Tokens: s.computed})
	r.freeBlocks += s.blocks
	r.stats.Preemptions++
	s.blocks, s.computed, s.chunk, s.decoding = 0, 0, 0, false
	r.waiting.pushFront(s)
}

// endStep records the computed tokens, generates tokens and removes finished requests.
func (r *Replica) endStep() {
	computed, kept := int32(0), 0
	for i := range r.running {
		s := &r.running[i]
		computed += s.chunk
		if s.chunk > 0 && r.book(s) {
			r.finish(s)
			continue
		}
		if kept != i {
			r.running[kept] = *s
		}
		kept++
	}
	r.running = r.running[:kept]
	r.stepping = false
	r.free = r.stepEnd
	r.stats.Steps++
	if !r.milestones {
		r.emit(Event{At: r.stepEnd, Kind: Step, Tokens: computed})
	}
}

// book adds the chunk of s to its computed tokens and, when nothing is left to compute, generates
// one token. It reports whether that was the last.
func (r *Replica) book(s *sequence) (last bool) {
	s.computed += s.chunk
	s.chunk = 0
	if s.computed < s.input+s.generated {
		return false
	}
	s.decoding = true
	s.generated++
	if s.generated > 1 {
		r.stats.InterTokens++
		r.stats.ITL += r.stepEnd - s.last
		if !r.milestones {
			r.emit(Event{At: r.stepEnd, ID: s.id, Kind: Token, Tokens: s.generated})
		}
	} else {
		r.bookFirst(s)
	}
	s.last = r.stepEnd
	return s.generated == s.output
}

func (r *Replica) bookFirst(s *sequence) {
	r.stats.PromptTokens += uint64(s.input)
	r.stats.CachedTokens += uint64(s.cached)
	r.stats.FirstTokens++
	r.stats.TTFT += r.stepEnd - s.arrived
	r.emit(Event{At: r.stepEnd, ID: s.id, Kind: FirstToken, Tokens: 1})
}

func (r *Replica) finish(s *sequence) {
	r.freeBlocks += s.blocks
	r.stats.Finished++
	r.stats.FinishedInput += uint64(s.input)
	r.stats.FinishedOutput += uint64(s.output)
	r.emit(Event{At: r.stepEnd, ID: s.id, Kind: Finished, Tokens: s.generated})
}
