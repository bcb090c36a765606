package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testingclock "k8s.io/utils/clock/testing"
)

// leaseOf is a lease that is only a record.
type leaseOf struct {
	resourcelock.Interface
	holder string
	fails  error
}

func (l *leaseOf) Identity() string { return "me" }
func (l *leaseOf) Describe() string { return "system/lease" }

func (l *leaseOf) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.fails
}

func (l *leaseOf) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.fails == nil {
		l.holder = r.HolderIdentity
	}
	return l.fails
}

func (l *leaseOf) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func TestOnlyWhoHoldsTheLeaseForCertainWrites(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lease")
	renew := func(l *lead, _ *leaseOf) {
		_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
	}
	read := func(l *lead, _ *leaseOf) { _, _, _ = l.Get(t.Context()) }
	for _, c := range []struct {
		name        string
		does        func(l *lead, of *leaseOf)
		passes      time.Duration
		holds, lost bool
	}{
		{"before the election", func(*lead, *leaseOf) {}, 0, false, false},
		{"another leads", func(l *lead, of *leaseOf) { of.holder = "other"; read(l, of) }, 0, false, false},
		{"made the lease", func(l *lead, _ *leaseOf) {
			_ = l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
		}, 0, true, false},
		{"renewed it", renew, 9 * time.Second, true, false},
		{"it has run out", renew, 10 * time.Second, false, false},
		{"the renewal failed", func(l *lead, of *leaseOf) { of.fails = errors.New("conflict"); renew(l, of) }, 0, false, false},
		{"the next renewal failed", func(l *lead, of *leaseOf) { renew(l, of); of.fails = errors.New("timeout"); renew(l, of) }, 9 * time.Second, true, false},
		{"released it", func(l *lead, of *leaseOf) {
			renew(l, of)
			_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{})
		}, 0, false, false},
		{"reads its own", func(l *lead, of *leaseOf) { renew(l, of); read(l, of) }, 0, true, false},
		{"it was deleted", func(l *lead, of *leaseOf) { renew(l, of); of.fails = notFound; read(l, of) }, 0, false, false},
		{"it was emptied", func(l *lead, of *leaseOf) { renew(l, of); of.holder = ""; read(l, of) }, 0, false, false},
		{"it cannot be read", func(l *lead, of *leaseOf) { renew(l, of); of.fails = errors.New("timeout"); read(l, of) }, 0, true, false},
		{"another took it", func(l *lead, of *leaseOf) { renew(l, of); of.holder = "other"; read(l, of); read(l, of) }, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
			of := &leaseOf{}
			l := &lead{Interface: of, clock: now, duration: 10 * time.Second, lost: make(chan struct{})}
			c.does(l, of)
			now.SetTime(now.Now().Add(c.passes))
			sent := 0
			through := l.guard(roundTripper(func(*http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			}))
			for _, w := range []struct {
				method, path string
				ofLeader     bool
			}{
				{http.MethodPut, "/apis/llmd.ai/v1alpha1/namespaces/n/variantautoscalings/v/status", true},
				{http.MethodPut, "/apis/apps/v1/namespaces/n/deployments/events/scale", true},
				{http.MethodPatch, "/api/v1/namespaces/n/pods/events", true},
				{http.MethodPost, "/api/v1/namespaces/n/configmaps", true},
				{http.MethodGet, "/api/v1/namespaces/n/pods", false},
				{http.MethodPost, "/api/v1/namespaces/n/events", false},
				{http.MethodPatch, "/api/v1/namespaces/events/events/e", false},
				{http.MethodPatch, "/apis/events.k8s.io/v1/namespaces/n/events/e", false},
				{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", false},
				{http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", false},
			} {
				sent = 0
				response, err := through.RoundTrip(httptest.NewRequestWithContext(t.Context(), w.method, w.path, strings.NewReader("{}")))
				if err == nil {
					response.Body.Close()
				}
				if want := !w.ofLeader || c.holds; (sent == 1) != want || (err == nil) != want || !want && !errors.Is(err, errNotLeading) {
					t.Errorf("%s %s: sent %d times, %v; want it sent: %t", w.method, w.path, sent, err, want)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			if !c.lost {
				cancel() // nothing else ends it
			}
			defer cancel()
			switch err := l.run(ctx); {
			case c.lost && (err == nil || !strings.Contains(err.Error(), "held by other")):
				t.Errorf("it ends with %v, want an error that names who leads", err)
			case !c.lost && err != nil:
				t.Errorf("it ends with %v, want nothing", err)
			}
		})
	}
}
