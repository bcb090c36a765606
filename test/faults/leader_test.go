package faults

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// lease is how long the lead lasts, and leaseName what it is called.
const (
	lease     = 4 * time.Second
	leaseName = "72dd1cf1.llm-d.ai"
)

// pair is two managers of one namespace, of which one leads.
type pair struct {
	*bench
	names  []string
	rounds int
}

// joins starts a manager that may lead.
func (p *pair) joins() *contender {
	p.t.Helper()
	p.rounds++
	c := &contender{door: open(p.t)}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	var err error
	c.Manager, err = p.bed.StartManager(p.t.Context(), testbed.ManagerOptions{
		Name: fmt.Sprintf("%s-%d", p.namespace, p.rounds), Interval: interval, NoExternalMetrics: true, APIServer: c.door.address, Lease: lease,
		Env: []string{"WATCH_NAMESPACE=" + p.namespace},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Stop)
	return c
}

// contender is a manager that may lead.
type contender struct {
	*testbed.Manager
	door *door
}

// holder returns who has the lease, "" for none.
func (p *pair) holder(ctx context.Context) string {
	var l coordinationv1.Lease
	if err := client.IgnoreNotFound(p.bed.Client.Get(ctx, client.ObjectKey{Namespace: testbed.SystemNamespace, Name: leaseName}, &l)); err != nil {
		p.t.Fatal(err)
	}
	return ptr.Deref(l.Spec.HolderIdentity, "")
}

// leads waits until a manager leads: the lease is not that of the one before.
func (p *pair) leads(before string) (holder string) {
	p.t.Helper()
	eventually(p.t, 4*lease, func(ctx context.Context) string {
		if holder = p.holder(ctx); holder == "" || holder == before {
			return fmt.Sprintf("the lease is held by %q, want another manager", holder)
		}
		return ""
	})
	return holder
}

// ends waits until a manager has ended by itself, with an error.
func (c *contender) ends(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-c.Done():
		if c.Err() == nil {
			t.Errorf("%s ended without an error, want one that says that it does not lead any more", c.Name)
		}
	case <-time.After(within):
		t.Errorf("%s still runs %s after it lost the lead:\n%s", c.Name, within, c.Tail())
	}
}

// orders asks for n replicas of every variant.
func (p *pair) orders(n int) {
	p.t.Helper()
	for _, name := range p.names {
		p.order(name, n)
	}
}

// have waits until every variant has n replicas.
func (p *pair) have(n int) {
	p.t.Helper()
	for _, name := range p.names {
		p.has(30*time.Second, name, int32(n))
	}
}

// TestTheLeadIsLost has the ways to lose the lead one after another. Each ends the
// leader, and the other manager carries out what is ordered next.
func TestTheLeadIsLost(t *testing.T) {
	t.Parallel()
	p := &pair{names: []string{"a", "b", "c", "d", "e"}}
	p.bench = place(t, "leader", p.names...)
	leader, wanted := p.joins(), 2
	holder := p.leads("")
	eventually(t, time.Minute, func(ctx context.Context) string {
		var list corev1.EventList
		if err := p.bed.Client.List(ctx, &list, client.InNamespace(testbed.SystemNamespace)); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == "LeaderElection" && e.Message == holder+" became leader" {
				return ""
			}
		}
		return "no event says that " + holder + " became leader"
	})
	p.orders(wanted)
	p.have(wanted)
	for _, c := range []struct {
		name string
		lose func(t *testing.T, p *pair, leader *contender, holder string)
	}{
		{"APausedProcessWritesNothingOnceItsLeaseHasRunOut", paused},
		{"ALeaseThatIsTakenEndsTheLeader", taken},
		{"ALeaderThatIsCutOffEnds", cutOff},
		{"ADeletedLeaseIsMadeAgain", deleted},
	} {
		other := p.joins()
		if !t.Run(c.name, func(t *testing.T) {
			p.bench = &bench{t: t, bed: p.bed, namespace: p.namespace}
			c.lose(t, p, leader, holder)
			if next := p.leads(""); next != holder {
				leader.ends(t, 3*lease)
				leader, holder = other, next
			} else {
				other.Stop()
			}
			wanted = int(p.variant(t.Context(), p.names[0]).Spec.MinReplicas) + 1
			p.orders(wanted)
			p.have(wanted)
		}) {
			return
		}
		p.t = t
	}
}

// paused stops the leader for longer than its lease. Meanwhile the other manager leads
// and everything changes twice, which the leader learns when it goes on.
func paused(t *testing.T, p *pair, leader *contender, holder string) {
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(leader.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	continued := false
	defer func() {
		if !continued {
			signal(syscall.SIGCONT) // else it does not end with the test
		}
	}()
	p.leads(holder)
	for _, n := range []int{3, 4} {
		p.orders(n)
		p.have(n)
	}
	at := time.Now()
	signal(syscall.SIGCONT)
	continued = true
	leader.ends(t, 3*lease)
	for _, r := range leader.door.since(at) {
		if r.writes() {
			t.Errorf("%s after it went on, without the lead, the manager sent %s %s", r.at.Sub(at).Round(time.Millisecond), r.method, r.path)
		}
	}
}

// taken writes a holder into the lease who does not renew it. No manager leads until it
// has run out.
func taken(t *testing.T, p *pair, leader *contender, holder string) {
	const intruder = "intruder"
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: testbed.SystemNamespace, Name: leaseName}}
	now := time.Now()
	const lasts = 2 * lease
	patch := fmt.Appendf(nil, `{"spec":{"holderIdentity":%q,"renewTime":%q,"leaseDurationSeconds":%d}}`,
		intruder, now.UTC().Format(metav1.RFC3339Micro), int(lasts.Seconds()))
	if err := p.bed.Client.Patch(t.Context(), l, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	leader.ends(t, 3*lease)
	if got, after := p.holder(t.Context()), time.Since(now); got != intruder && after < lasts {
		t.Errorf("%s after it was taken the lease is that of %q, want no other before it runs out", after.Round(time.Millisecond), got)
	}
	logged(t, leader.Manager, "is held by "+intruder, "leader election lost") // the second where its renewal ran out first
	eventually(t, 4*lease, func(ctx context.Context) string {
		if got := p.holder(ctx); got == intruder || got == holder {
			return "the lease is that of " + got
		}
		return ""
	})
}

// cutOff lets nothing of the leader through to the API server any more.
func cutOff(_ *testing.T, p *pair, leader *contender, holder string) {
	leader.door.breaks(closed)
	leader.door.cut()
	p.leads(holder)
}

// deleted deletes the lease. The first manager makes it again, and what was decided stays.
func deleted(t *testing.T, p *pair, _ *contender, _ string) {
	before := p.deployment(t.Context(), p.names[0]).Generation
	if err := p.bed.Client.Delete(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: testbed.SystemNamespace, Name: leaseName},
	}); err != nil {
		t.Fatal(err)
	}
	p.leads("")
	if after := p.deployment(t.Context(), p.names[0]).Generation; after != before {
		t.Errorf("the Deployment was changed %d times by a lease that was deleted, want not once", after-before)
	}
}
