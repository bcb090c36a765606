package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// probePatience is how long one check of a probe waits for an answer: a kubelet waits
// 1s for the three of them.
const probePatience = 250 * time.Millisecond

// refusedFor is how long a refusal counts: a watch is tried again after 60s at the
// latest (the longest back-off of client-go's Reflector, with its jitter), and one
// that is refused then too is noted again.
const refusedFor = 65 * time.Second

// watched says whether what is watched is known as it is: it has been listed, and
// the API server has refused nothing of it since. Without a permission there would be
// either nothing to decide by, or what was once. It is safe for concurrent use.
type watched struct {
	refusals *refusals
	// listed waits until everything has been listed, or ctx ends, and reports whether
	// it has.
	listed func(ctx context.Context) bool
}

// check is a healthz.Checker.
func (w *watched) check(r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), probePatience)
	defer cancel()
	listed := w.listed(ctx)
	why := w.refusals.now(listed)
	switch {
	case len(why) > 0:
		return errors.New("the API server refuses what the manager watches: " + strings.Join(why, "; "))
	case !listed:
		return errors.New("what the manager watches has not been listed yet")
	}
	return nil
}

// refusals are those of the watches of a cache. They are safe for concurrent use.
type refusals struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	listed bool // everything was listed when it was last asked
	of     map[string]refusal
}

// refusal is what the API server said when it refused.
type refusal struct {
	at  time.Time
	why string
}

// note is the handler of errors of the watches of a cache.
func (f *refusals) note(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err) // logs it
	f.failed(r.TypeDescription(), err)
}

// failed notes why a kind cannot be watched.
func (f *refusals) failed(kind string, err error) {
	if !apierrors.IsForbidden(err) {
		return // it is tried again, and holds what it has
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]refusal{}
	}
	f.of[kind] = refusal{f.clock.Now(), err.Error()}
}

// now returns what is refused, given whether everything is listed. What was refused
// before everything was listed is not refused any more.
func (f *refusals) now(listed bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if listed && !f.listed {
		clear(f.of)
	}
	f.listed = listed
	maps.DeleteFunc(f.of, func(_ string, r refusal) bool { return f.clock.Since(r.at) > refusedFor })
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(f.of)) {
		out = append(out, f.of[kind].why)
	}
	return out
}

// leadership says whether a manager leads. While none does nothing is decided, and each
// manager on its own looks as one does that another has the lead of. It is safe for
// concurrent use.
type leadership struct {
	clock    clock.PassiveClock
	reader   client.Reader // without a cache
	lease    client.ObjectKey
	duration time.Duration   // of the lease
	elected  <-chan struct{} // closed when this manager leads

	mu      sync.Mutex
	renewed time.Time // when the lease was, by its holder
	since   time.Time // since when it says so, by this clock
}

// check is a healthz.Checker. A lease that is not renewed for its duration is taken
// over; when that has passed twice, no manager can.
func (l *leadership) check(r *http.Request) error {
	select {
	case <-l.elected:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(r.Context(), probePatience)
	defer cancel()
	var lease coordinationv1.Lease
	err := client.IgnoreNotFound(l.reader.Get(ctx, l.lease, &lease)) // the first leader makes it
	var renewed time.Time
	if lease.Spec.RenewTime != nil {
		renewed = lease.Spec.RenewTime.Time
	}
	stale := l.stale(renewed, err == nil)
	switch {
	case apierrors.IsForbidden(err), err != nil && stale:
		return fmt.Errorf("reading the lease %s, which says who leads: %w", l.lease, err)
	case stale:
		return fmt.Errorf("no manager leads: the lease %s is not renewed, and this manager cannot take it over", l.lease)
	}
	return nil
}

// stale reports whether the lease has not been renewed for too long. Whether the time
// of its renewal is known is no matter: what is not known is not renewed.
func (l *leadership) stale(renewed time.Time, known bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if l.since.IsZero() || known && !renewed.Equal(l.renewed) {
		l.since = now
		if known {
			l.renewed = renewed
		}
	}
	return now.Sub(l.since) > 2*l.duration
}

// told returns a check that logs why it fails when it begins to, and when it passes
// again: a probe shows its name alone.
func told(log logr.Logger, check healthz.Checker) healthz.Checker {
	var mu sync.Mutex
	last := ""
	return func(r *http.Request) error {
		err, why := check(r), ""
		if err != nil {
			why = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case why == last:
		case why != "":
			log.Info("the manager is not ready", "reason", why)
		default:
			log.Info("the manager is ready")
		}
		last = why
		return err
	}
}
