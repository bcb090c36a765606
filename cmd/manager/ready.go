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

// probePatience is how long one check of a probe waits for an answer: a kubelet waits 1s for the
// three of them.
const probePatience = 250 * time.Millisecond

// refusedFor is how long a refusal counts. A watch is retried after 60s at the latest (the longest
// back-off of client-go's Reflector, with its jitter), and a new refusal is noted again.
const refusedFor = 65 * time.Second

// watched reports whether the watched objects are known and current: they have been listed, and the
// API server has refused no watch since. Without a permission the manager would have no data, or
// old data. It is safe for concurrent use.
type watched struct {
	refusals *refusals
	// listed waits until everything has been listed or ctx ends, and reports whether everything
	// has.
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

// refusals are the refused watches of a cache. They are safe for concurrent use.
type refusals struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	listed bool // everything was listed at the last check
	of     map[string]refusal
}

// refusal is an answer of the API server that refused a watch.
type refusal struct {
	at  time.Time
	why string
}

// note handles an error of a watch of a cache.
func (f *refusals) note(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err) // logs it
	f.failed(r.TypeDescription(), err)
}

// failed notes the refusal of a kind.
func (f *refusals) failed(kind string, err error) {
	if !apierrors.IsForbidden(err) {
		return // the watch is retried, and the cache keeps its objects
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]refusal{}
	}
	f.of[kind] = refusal{f.clock.Now(), err.Error()}
}

// now returns the refusals, given whether everything is listed. When everything becomes listed,
// earlier refusals no longer count.
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

// leadership reports whether a manager leads. Without a leader no decision is made, and each
// manager alone looks like one that waits while another leads. It is safe for concurrent use.
type leadership struct {
	clock    clock.PassiveClock
	reader   client.Reader // without a cache
	lease    client.ObjectKey
	duration time.Duration   // of the lease
	elected  <-chan struct{} // closed when this manager leads

	mu      sync.Mutex
	renewed time.Time // renewal time in the lease, by its holder's clock
	since   time.Time // when this manager first saw that time, by its own clock
}

// check is a healthz.Checker. A lease that is not renewed for its duration is taken over. It fails
// after twice the duration, when no manager has been able to.
func (l *leadership) check(r *http.Request) error {
	select {
	case <-l.elected:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(r.Context(), probePatience)
	defer cancel()
	var lease coordinationv1.Lease
	err := client.IgnoreNotFound(l.reader.Get(ctx, l.lease, &lease)) // the first leader creates it
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

// stale reports whether the lease has not been renewed for too long. A renewal time that is not
// known counts as not renewed.
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

// told returns a check that logs the reason when it begins to fail, and when it passes again: a
// probe shows only its name.
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
