package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// lead is the lock of the leader election. It also knows until when this manager may write. The
// elector of client-go tries to renew for its whole deadline before it gives up, even when another
// manager has taken the lease meanwhile, as after a pause of the process. It is safe for concurrent
// use.
type lead struct {
	resourcelock.Interface
	clock    clock.PassiveClock
	duration time.Duration // of the lease
	lost     chan struct{} // closed when another manager takes the lease from this one

	mu      sync.Mutex
	led     bool      // this manager has held the lease
	renewed time.Time // when the last successful renewal was sent; zero while the lease is not held
	holder  string    // the manager that took the lease
}

var _ resourcelock.Interface = (*lead)(nil)

// newLead returns the lock of the manager that o configures, or nil without leader election. It
// sends events through the manager that events returns, which is built later.
func newLead(o *config.Operator, to *rest.Config, events func() manager.Manager) (*lead, error) {
	if !o.LeaderElect {
		return nil, nil //nolint:nilnil // nil is no election, as documented
	}
	lock, err := leaderelection.NewResourceLock(rest.CopyConfig(to), lateEvents{events: events}, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: o.LeaderElectionID, LeaderElectionNamespace: o.SystemNamespace, RenewDeadline: o.LeaseRenewDeadline,
	})
	if err != nil {
		return nil, fmt.Errorf("building the leader election: %w", err)
	}
	return &lead{Interface: lock, clock: clock.RealClock{}, duration: o.LeaseDuration, lost: make(chan struct{})}, nil
}

// Get reads the lease.
func (l *lead) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := l.Interface.Get(ctx)
	switch {
	case err == nil:
		l.sees(r.HolderIdentity)
	case apierrors.IsNotFound(err):
		l.sees("")
	}
	return r, raw, err //nolint:wrapcheck // the elector asks what it is
}

// Create creates the lease.
func (l *lead) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.writes(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update renews the lease, or releases it.
func (l *lead) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.writes(r, func() error { return l.Interface.Update(ctx, r) })
}

// writes calls write and notes the time. Other managers count its duration from when they see the
// renewal, which is later than when it was sent.
func (l *lead) writes(r resourcelock.LeaderElectionRecord, write func() error) error {
	sent := l.clock.Now()
	if err := write(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed = sent; r.HolderIdentity != l.Identity() {
		l.renewed = time.Time{}
	}
	l.led = l.led || r.HolderIdentity == l.Identity()
	return nil
}

// sees notes the holder of the lease, "" for none.
func (l *lead) sees(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder == l.Identity() {
		return
	}
	l.renewed = time.Time{}
	if l.led && holder != "" && l.holder == "" {
		l.holder = holder
		close(l.lost)
	}
}

// run ends the manager when another takes the lease, with an error that names it.
func (l *lead) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-l.lost:
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Errorf("the lease %s is held by %s and was held by this manager (%s): it ends, and starts anew without the lead", l.Describe(), l.holder, l.Identity())
	}
}

// errNotLeading is the error of a request that only the leader may send.
var errNotLeading = errors.New("this manager does not lead: its lease has run out or is that of another, and nothing is written until it holds the lease again")

// guard returns a transport that sends requests that change an object only while no other manager
// can hold the lease.
func (l *lead) guard(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !l.holds() && ofLeader(r) {
			if r.Body != nil {
				_ = r.Body.Close() // it was not read
			}
			return nil, errNotLeading
		}
		return next.RoundTrip(r)
	})
}

// holds reports whether this manager certainly holds the lease.
func (l *lead) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero() && l.clock.Since(l.renewed) < l.duration
}

// ofLeader reports whether only the leader may send a request: it changes an object that is no
// lease, no event and no review of a token or of access.
func ofLeader(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	for _, group := range []string{"coordination.k8s.io", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"} {
		if strings.Contains(r.URL.Path, "/apis/"+group+"/") {
			return false
		}
	}
	_, of, _ := strings.Cut(r.URL.Path, "/api/v1/namespaces/")
	_, resource, _ := strings.Cut(of, "/")
	return resource != "events" && !strings.HasPrefix(resource, "events/")
}

// roundTripper makes a function a transport.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls it.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lateEvents sends events of the election through a manager that is built after its lock.
type lateEvents struct {
	events func() manager.Manager
	name   string
}

var _ interface {
	recorder.Provider
	record.EventRecorder
} = lateEvents{}

// GetEventRecorderFor returns a recorder that uses the manager's recorder of that name.
func (e lateEvents) GetEventRecorderFor(name string) record.EventRecorder {
	return lateEvents{events: e.events, name: name}
}

// GetEventRecorder returns the manager's recorder. The election does not use it.
func (e lateEvents) GetEventRecorder(name string) recorder.EventRecorder {
	return e.events().GetEventRecorder(name)
}

func (e lateEvents) recorder() record.EventRecorder {
	return e.events().GetEventRecorderFor(e.name) //nolint:staticcheck // the election of client-go tells events of this API
}

// Event sends an event.
func (e lateEvents) Event(object runtime.Object, kind, reason, message string) {
	e.recorder().Event(object, kind, reason, message)
}

// Eventf sends an event.
func (e lateEvents) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	e.recorder().Eventf(object, kind, reason, format, args...)
}

// AnnotatedEventf sends an event with annotations.
func (e lateEvents) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	e.recorder().AnnotatedEventf(object, annotations, kind, reason, format, args...)
}
