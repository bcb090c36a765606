package throttle

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Refusals counts how often callers were refused, by address or by name: each may be
// burst times at once, and once more every interval. It is safe for concurrent use.
type Refusals struct {
	clock    clock.PassiveClock
	burst    int
	interval time.Duration

	mu    sync.Mutex
	spent map[string]time.Time // when a caller has the whole burst back
}

// maxCallers bounds the callers that are remembered. Beyond it they count as one.
const maxCallers = 4096

// NewRefusals returns Refusals of nobody.
func NewRefusals(clk clock.PassiveClock, burst int, interval time.Duration) *Refusals {
	return &Refusals{clock: clk, burst: burst, interval: interval, spent: map[string]time.Time{}}
}

// TooMany reports whether a caller was refused too often to be heard now.
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
	// Requests that were under way together may be refused beyond the burst: who goes
	// on waits for one interval all the same.
	until = until.Add(r.interval)
	if last := now.Add(time.Duration(r.burst) * r.interval); until.After(last) {
		until = last
	}
	r.spent[caller] = until
}

// key returns what a caller is counted under. The lock is held.
func (r *Refusals) key(caller string) string {
	if _, ok := r.spent[caller]; !ok && len(r.spent) >= maxCallers {
		return "" // of all that are too many
	}
	return caller
}
