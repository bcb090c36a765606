package throttle

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Refusals counts how often callers were refused, by address or by name. Each may be
// refused burst times at once, and once more every interval. It is safe for concurrent use.
type Refusals struct {
	clock    clock.PassiveClock
	burst    int
	interval time.Duration

	mu    sync.Mutex
	spent map[string]time.Time // when a caller has the whole burst back
}

// maxCallers bounds the remembered callers. All further callers count as one.
const maxCallers = 4096

// NewRefusals returns Refusals without any caller.
func NewRefusals(clk clock.PassiveClock, burst int, interval time.Duration) *Refusals {
	return &Refusals{clock: clk, burst: burst, interval: interval, spent: map[string]time.Time{}}
}

// TooMany reports whether a caller was refused so often that it gets no answer now.
func (r *Refusals) TooMany(caller string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	return r.spent[r.key(caller)].Sub(now) > time.Duration(r.burst-1)*r.interval
}

// Add counts one refusal of a caller.
func (r *Refusals) Add(caller string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if len(r.spent) >= maxCallers {
		maps.DeleteFunc(r.spent, func(_ string, until time.Time) bool { return !until.After(now) })
	}
	caller = r.key(caller)
	until := r.spent[caller]
	if until.Before(now) {
		until = now
	}
	// Concurrent requests may be refused beyond the burst. A caller that continues still
	// waits for only one interval.
	until = until.Add(r.interval)
	if last := now.Add(time.Duration(r.burst) * r.interval); until.After(last) {
		until = last
	}
	r.spent[caller] = until
}

// key returns the key under which a caller is counted. The lock is held.
func (r *Refusals) key(caller string) string {
	if _, ok := r.spent[caller]; !ok && len(r.spent) >= maxCallers {
		return "" // for all callers beyond maxCallers
	}
	return caller
}
