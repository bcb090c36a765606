package emulator

import (
	"sync"
	"sync/atomic"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// streamsPerToken limits the system calls of many streams: with fewer open, every token is sent by
// itself; from that number on two tokens at a time, from twice that number on three, and so on. The
// first token and the end are never delayed, and the metrics pages do not change.
const streamsPerToken = 1000

// stream carries the progress of a call from the fleet to the goroutine that answers the
// client.
type stream struct {
	open *atomic.Int64 // number of open streams; nil = wake only for the end
	wake chan struct{} // capacity 1

	mu    sync.Mutex
	state progress // guarded by mu
}

// progress is the progress of a call.
type progress struct {
	tokens  int // generated so far
	done    bool
	err     error           // why it failed, when done
	request serving.Request // as sent to the replica, when done without err
}

var _ receiver = (*stream)(nil)

// newStream returns the stream of one answer. open counts the open streams; nil for an answer that
// is sent whole.
func newStream(open *atomic.Int64) *stream {
	return &stream{open: open, wake: make(chan struct{}, 1)}
}

func (s *stream) produced(tokens int) {
	wake := s.open != nil && (tokens == 1 || tokens%int(1+s.open.Load()/streamsPerToken) == 0)
	s.set(wake, func(p *progress) { p.tokens = tokens })
}

func (s *stream) finished(request serving.Request) {
	s.set(true, func(p *progress) { p.done, p.request = true, request })
}

func (s *stream) failed(err error) {
	s.set(true, func(p *progress) { p.done, p.err = true, err })
}

func (s *stream) set(wake bool, change func(*progress)) {
	s.mu.Lock()
	change(&s.state)
	s.mu.Unlock()
	if !wake {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) progress() progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}
