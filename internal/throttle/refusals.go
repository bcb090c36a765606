package throttle

import (
	"maps"
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Refusals counts how often addresses were refused: each may be burst times at once,
// and once more every interval. It is safe for concurrent use.
type Refusals struct {
	clock    clock.PassiveClock
	burst    int
	interval time.Duration

	mu    sync.Mutex
	spent map[string]time.Time // when an address has its whole burst back
}

// maxAddresses bounds the addresses that are remembered. Beyond it they count as one.
const maxAddresses = 4096

// NewRefusals returns Refusals of nobody.
func NewRefusals(clk clock.PassiveClock, burst int, interval time.Duration) *Refusals {
	return &Refusals{clock: clk, burst: burst, interval: interval, spent: map[string]time.Time{}}
}

// TooMany reports whether the address of a host:port was refused too often to be
// heard now.
func (r *Refusals) TooMany(remote string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	return r.spent[r.key(remote)].Sub(now) > time.Duration(r.burst-1)*r.interval
}

// Add counts one refusal of the address of a host:port.
func (r *Refusals) Add(remote string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if len(r.spent) >= maxAddresses {
		maps.DeleteFunc(r.spent, func(_ string, until time.Time) bool { return !until.After(now) })
	}
	address := r.key(remote)
	until := r.spent[address]
	if until.Before(now) {
		until = now
	}
	// Requests that were under way together may be refused beyond the burst: who goes
	// on waits for one interval all the same.
	until = until.Add(r.interval)
	if last := now.Add(time.Duration(r.burst) * r.interval); until.After(last) {
		until = last
	}
	r.spent[address] = until
}

// key returns what an address is counted under. The lock is held by the caller.
func (r *Refusals) key(remote string) string {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	if _, ok := r.spent[address]; !ok && len(r.spent) >= maxAddresses {
		return "" // of all that are too many
	}
	return address
}
