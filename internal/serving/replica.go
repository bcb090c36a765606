package serving

import (
	"fmt"
	"math"
	"time"
)

// Options are the options of a driver; the zero value reports everything.
type Options struct {
	Milestones bool // leave out Token and Step events, whose number grows with the tokens
}

// Replica is one serving replica. Make it with New.
type Replica struct {
	profile    Profile
	milestones bool

	now      time.Duration // the latest time that the driver has given
	free     time.Duration // begin of the next step, if none is under way and there is work
	stepping bool
	stepEnd  time.Duration

	running    []sequence // in the order of admission, at most MaxBatchSize
	waiting    queue
	freeBlocks int32
	blockSize  int32 // tokens

	stats  Stats
	events []Event // not yet taken by Advance
}

// New returns an idle replica at offset 0, or an error if profile is not valid.
func New(profile Profile, o Options) (*Replica, error) {
	if err := profile.Validate(); err != nil {
		return nil, fmt.Errorf("profile %q: %w", profile.Name, err)
	}
	return &Replica{
		profile:    profile,
		milestones: o.Milestones,
		running:    make([]sequence, 0, min(profile.MaxBatchSize, 256)),
		freeBlocks: int32(profile.Blocks()),
		blockSize:  int32(profile.BlockSize),
	}, nil
}

// Profile returns the profile of the replica.
func (r *Replica) Profile() Profile { return r.profile }

// Accepts returns what Submit would return for req now, and changes nothing.
func (r *Replica) Accepts(req Request) Refusal {
	p := &r.profile
	if req.InputTokens < 1 || req.OutputTokens < 1 || req.CachedTokens < 0 || req.CachedTokens >= req.InputTokens {
		return InvalidRequest
	}
	if req.InputTokens > p.MaxModelLen || req.OutputTokens > p.MaxModelLen-req.InputTokens {
		return TooLong
	}
	if req.OutputTokens > p.MaxOutput(req.InputTokens) {
		return TooLarge
	}
	if p.MaxQueue > 0 && r.Load() >= p.MaxBatchSize+p.MaxQueue {
		return QueueFull
	}
	return Accepted
}

// Submit submits a request at offset now and returns Accepted or the reason of its refusal. A now
// before the latest time so far counts as that time.
func (r *Replica) Submit(now time.Duration, req Request) Refusal {
	r.runUntil(now)
	r.stats.Submitted++
	if refusal := r.Accepts(req); refusal != Accepted {
		r.stats.Refused++
		r.emit(Event{At: r.now, ID: req.ID, Kind: Refused, Refusal: refusal})
		return refusal
	}
	if !r.busy() {
		r.free = max(r.free, r.now)
	}
	r.waiting.pushBack(sequence{
		id: req.ID, arrived: r.now,
		input: int32(req.InputTokens), output: int32(req.OutputTokens), cached: int32(req.CachedTokens),
	})
	return Accepted
}

// Abort cancels a live request at offset now and frees its blocks at once. It returns false
// when no live request has that id.
func (r *Replica) Abort(now time.Duration, id uint64) bool {
	r.runUntil(now)
	for i := range r.running {
		if s := &r.running[i]; s.id == id {
			r.abort(s)
			r.running = append(r.running[:i], r.running[i+1:]...)
			return true
		}
	}
	for i := range r.waiting.len() {
		if s := r.waiting.at(i); s.id == id {
			r.abort(s)
			r.waiting.remove(i)
			return true
		}
	}
	return false
}

func (r *Replica) abort(s *sequence) {
	r.freeBlocks += s.blocks
	r.stats.Aborted++
	r.emit(Event{At: r.now, ID: s.id, Kind: Aborted, Tokens: s.generated})
}

// Next returns the time of the next action: the end of the present step, the beginning of the next
// one, or the present if there are events to take. False means idle.
func (r *Replica) Next() (at time.Duration, ok bool) {
	if len(r.events) > 0 {
		return r.now, true
	}
	if r.stepping {
		return r.stepEnd, true
	}
	return r.free, r.busy()
}

// Advance processes everything that is due at or before now, appends the events since the
// last Advance to buf in the order of time, and returns it. With enough room in buf it does
// not allocate.
func (r *Replica) Advance(now time.Duration, buf []Event) []Event {
	r.runUntil(now)
	for !r.stepping && r.busy() && r.free <= r.now {
		r.beginStep()
		r.runUntil(now)
	}
	buf = append(buf, r.events...)
	r.events = r.events[:0]
	return buf
}

// Stats returns a snapshot as of the last call with a time.
func (r *Replica) Stats() Stats {
	s := r.stats
	s.GenerationTokens = s.FirstTokens + s.InterTokens
	s.Running, s.Waiting = len(r.running), r.waiting.len()
	s.Blocks = r.profile.Blocks()
	s.UsedBlocks = s.Blocks - int(r.freeBlocks)
	return s
}

// Load returns the number of running and waiting requests.
func (r *Replica) Load() int { return len(r.running) + r.waiting.len() }

func (r *Replica) busy() bool { return len(r.running) > 0 || r.waiting.len() > 0 }

// runUntil ends every step that is due at or before now, and begins those that are due before now.
// It leaves a step that begins at now to Advance, because more input of that instant may come.
func (r *Replica) runUntil(now time.Duration) {
	r.now = max(r.now, now)
	for {
		if r.stepping {
			if r.stepEnd > r.now {
				return
			}
			r.endStep()
		}
		if !r.busy() || r.free >= r.now {
			return
		}
		if r.equalSteps(); r.free >= r.now {
			return
		}
		r.beginStep()
	}
}

func (r *Replica) emit(e Event) { r.events = append(r.events, e) }

// duration converts ms to the nearest whole nanosecond.
func duration(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }
