package serving

import "time"

// equalSteps does all equal steps until now at once: steps in which every running request generates one
// token, none its last, and no request joins or leaves. The result is the same as step by step.
// equalSteps does nothing where each token has an event.
func (r *Replica) equalSteps() {
	n := len(r.running)
	if !r.milestones || n == 0 || n > r.profile.MaxBatchedTokens || r.admits() {
		return
	}
	steps := r.running[0].output
	for i := range r.running {
		s := &r.running[i]
		if !s.decoding {
			return
		}
		steps = min(steps, s.output-s.generated-1)
	}
	took := r.profile.stepTime(load{decoding: int32(n)})
	if took <= 0 {
		return
	}
	steps = int32(min(int64(steps), int64((r.now-r.free)/took)))
	for r.blocksAfter(steps) > r.freeBlocks {
		steps /= 2
	}
	if steps < 1 {
		return
	}
	end := r.free + time.Duration(steps)*took
	for i := range r.running {
		s := &r.running[i]
		need := r.blocksFor(s, steps)
		r.freeBlocks -= need
		s.blocks += need
		s.generated += steps
		s.computed += steps
		r.stats.ITL += end - s.last
		s.last = end
	}
	r.stats.InterTokens += uint64(n) * uint64(steps)
	r.stats.Steps += uint64(steps)
	r.stepEnd, r.free = end, end
}

// admits reports whether the next step has room for the first waiting request, if every
// running request computes one token.
func (r *Replica) admits() bool {
	n := len(r.running)
	if r.waiting.len() == 0 || n >= r.profile.MaxBatchSize || n >= r.profile.MaxBatchedTokens {
		return false
	}
	s := *r.waiting.at(0)
	s.computed = s.cached
	return r.blocksFor(&s, min(s.input+s.generated-s.computed, int32(r.profile.MaxBatchedTokens-n))) <= r.freeBlocks
}

// blocksAfter returns the number of blocks that the running requests lack for steps more tokens
// each.
func (r *Replica) blocksAfter(steps int32) int32 {
	need := int32(0)
	for i := range r.running {
		need += r.blocksFor(&r.running[i], steps)
	}
	return need
}
