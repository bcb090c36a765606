package prometheus

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// firstWait is the mean wait before the second attempt; each further one is twice
// as long.
const firstWait = 100 * time.Millisecond

// retry decides whether and when a question is asked again. It is safe for
// concurrent use.
type retry struct {
	clock clock.Clock
	most  int // times that a question is asked again

	mu   sync.Mutex
	rand *rand.Rand
}

// wait waits before the next attempt, after a number of attempts of which the last ended with
// failure, and reports whether to make it. It returns false at once where the wait would last
// beyond the deadline of ctx. When ctx ends during the wait it returns true, and the next attempt
// reports that.
func (r *retry) wait(ctx context.Context, attempts int, failure *Error) bool {
	if !failure.transient || attempts > r.most {
		return false
	}
	wait := max(failure.after, r.backOff(attempts))
	if end, ok := ctx.Deadline(); ok && end.Sub(r.clock.Now()) <= wait {
		return false
	}
	timer := r.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
	return true
}

// backOff returns the wait after a number of attempts: half to one and a half of its mean, so that
// questions that failed together are not repeated together.
func (r *retry) backOff(attempts int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	mean := firstWait << (attempts - 1)
	return mean/2 + time.Duration(r.rand.Int64N(int64(mean)))
}

// retryAfter reads a Retry-After header: a number of seconds or a date (RFC 9110, section 10.2.3).
// It returns 0 where there is none.
func retryAfter(header string, now time.Time) time.Duration {
	// For a number out of range ParseUint returns the largest, 68 years.
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
