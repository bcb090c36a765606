package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// asked returns what a check says, "" for nothing.
func asked(t *testing.T, check healthz.Checker) string {
	t.Helper()
	if err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)); err != nil {
		return err.Error()
	}
	return ""
}

// forbidden is what the API server answers to an account without a permission.
func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("User \"m\" cannot list resource"))
}

func TestAManagerIsReadyWhileWhatItWatchesIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listed := false
		w := &watched{refusals: &refusals{clock: clock.RealClock{}}, listed: func(ctx context.Context) bool {
			if !listed {
				<-ctx.Done()
			}
			return listed
		}}
		for _, step := range []struct {
			name   string
			listed bool
			failed error
			passes time.Duration // before it is asked
			want   string        // in what it says, "" for ready
		}{
			{"at first", false, nil, 0, "has not been listed yet"},
			{"refused", false, forbidden("pods"), 0, "cannot list resource"},
			{"listed at last", true, nil, 0, ""},
			{"the network fails", true, errors.New("connection refused"), 0, ""},
			{"refused later", true, forbidden("pods"), 0, "the API server refuses what the manager watches: pods is forbidden"},
			{"not tried again yet", true, nil, time.Minute, "pods is forbidden"},
			{"tried again without an error", true, nil, 10 * time.Second, ""},
		} {
			listed = step.listed
			if step.failed != nil {
				w.refusals.failed("*v1.Pod", step.failed)
			}
			time.Sleep(step.passes) // of the bubble
			if got := asked(t, w.check); (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
				t.Errorf("%s: got %q, want %q", step.name, got, step.want)
			}
		}
	})
}

// oneLease is an API server with at most one lease.
type oneLease struct {
	client.Reader
	renewed time.Time // zero for no lease
	err     error
}

func (o *oneLease) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch lease, ok := into.(*coordinationv1.Lease); {
	case o.err != nil:
		return o.err
	case !ok || o.renewed.IsZero():
		return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, key.Name)
	default:
		lease.Spec.RenewTime = &metav1.MicroTime{Time: o.renewed}
		return nil
	}
}

func TestAManagerThatDoesNotLeadIsReadyWhileAnotherDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const duration = 15 * time.Second
		long := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // by another clock, which is wrong
		api, elected := &oneLease{}, make(chan struct{})
		l := &leadership{clock: clock.RealClock{}, reader: api, lease: client.ObjectKey{Namespace: "system", Name: "wva"}, duration: duration, elected: elected}
		for _, step := range []struct {
			name    string
			renewed time.Time
			err     error
			passes  time.Duration // before it is asked
			want    string
		}{
			{"no leader yet", time.Time{}, nil, 0, ""},
			{"no leader for long", time.Time{}, nil, 2*duration + 1, "no manager leads: the lease system/wva is not renewed"},
			{"a leader late", long, nil, 0, ""},
			{"it renews", long.Add(time.Second), nil, 2 * duration, ""},
			{"it has gone, and could be replaced", long.Add(time.Second), nil, 2 * duration, ""},
			{"the leader ends", long.Add(time.Second), nil, 1, "no manager leads"},
			{"another does", long.Add(time.Minute), nil, 0, ""},
			{"no API server", time.Time{}, errors.New("connection refused"), duration, ""},
			{"none for long", time.Time{}, errors.New("connection refused"), duration + 1, "reading the lease system/wva, which says who leads: connection refused"},
			{"one again", long.Add(time.Hour), nil, 0, ""},
			{"refused", time.Time{}, forbidden("leases"), 0, "leases is forbidden"},
		} {
			api.renewed, api.err = step.renewed, step.err
			time.Sleep(step.passes) // of the bubble
			if got := asked(t, l.check); (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
				t.Errorf("%s: got %q, want %q", step.name, got, step.want)
			}
		}
		close(elected)
		if got := asked(t, l.check); got != "" {
			t.Errorf("leads itself: got %q", got)
		}
	})
}

func TestWhyAManagerIsNotReadyIsLoggedOnce(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	var err error
	check := told(log, func(*http.Request) error { return err })
	for _, next := range []error{nil, errors.New("a"), errors.New("a"), errors.New("b"), nil, nil} {
		err = next
		asked(t, check)
	}
	want := []string{
		`"level"=0 "msg"="the manager is not ready" "reason"="a"`,
		`"level"=0 "msg"="the manager is not ready" "reason"="b"`,
		`"level"=0 "msg"="the manager is ready"`,
	}
	if diff := cmp.Diff(lines, want); diff != "" {
		t.Errorf("lines (-got +want):\n%s", diff)
	}
}
