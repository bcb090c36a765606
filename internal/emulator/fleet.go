package emulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

type podKey struct{ namespace, name string }

// podState is a pod of the cluster with its replica, if it has been Ready.
type podState struct {
	pod     Pod
	replica *replica
}

// fleet holds all emulated pods and models. It has no clock: callers pass the time as an offset. It
// is not safe for concurrent use.
type fleet struct {
	profiles Profiles
	grace    time.Duration // the time in which a replica drains
	pools    map[ModelKey]*pool
	pods     map[podKey]*podState
	replicas []*replica // Ready, not Ready and draining; in the order they came
	moving   []transfer // on their way from prefill to decode
	lastID   uint64
	events   []serving.Event
}

func newFleet(profiles Profiles, grace time.Duration) *fleet {
	return &fleet{profiles: profiles, grace: grace, pools: map[ModelKey]*pool{}, pods: map[podKey]*podState{}}
}

// declare makes a model known and returns its pool.
func (f *fleet) declare(key ModelKey) *pool {
	p := f.pools[key]
	if p == nil {
		p = newPool(key)
		f.pools[key] = p
	}
	return p
}

// setPod records a new pod or a change of one. It returns an error, and emulates no
// replica, when the pod's profile is unknown.
func (f *fleet) setPod(now time.Duration, pod Pod) error {
	p := f.declare(ModelKey{Namespace: pod.Namespace, ID: pod.Model})
	key := podKey{pod.Namespace, pod.Name}
	state := f.pods[key]
	if state != nil && !state.pod.same(pod) {
		f.deletePod(now, pod.Namespace, pod.Name)
		state = nil
	}
	if state == nil {
		state = &podState{}
		f.pods[key] = state
	}
	state.pod = pod
	switch r := state.replica; {
	case pod.Terminating:
		f.drain(now, r)
	case r == nil && pod.Ready:
		return f.start(now, state, p)
	case r == nil || r.draining:
	case pod.Ready && !r.ready:
		p.add(r)
		p.release(now)
	case !pod.Ready && r.ready:
		p.remove(r)
	}
	return nil
}

// start creates a replica for a pod that has become Ready.
func (f *fleet) start(now time.Duration, state *podState, p *pool) error {
	profile, ok := f.profiles[state.pod.Profile]
	if !ok {
		return fmt.Errorf("pod %s/%s: unknown profile %q, want one of %q",
			state.pod.Namespace, state.pod.Name, state.pod.Profile, slices.Sorted(maps.Keys(f.profiles)))
	}
	machine, err := serving.New(profile, serving.Options{})
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", state.pod.Namespace, state.pod.Name, err)
	}
	machine.Advance(now, nil)
	r := &replica{pod: state.pod, pool: p, machine: machine, counters: newEngineCounters(profile), calls: map[uint64]*call{}}
	state.replica = r
	f.replicas = append(f.replicas, r)
	p.add(r)
	p.release(now)
	return nil
}

// deletePod records that a pod is gone. Its metrics page disappears; its replica drains.
func (f *fleet) deletePod(now time.Duration, namespace, name string) {
	key := podKey{namespace, name}
	if state := f.pods[key]; state != nil {
		f.drain(now, state.replica)
		delete(f.pods, key)
	}
}

// drain takes a replica, nil for none, out of service. Its grace begins at the first call.
func (f *fleet) drain(now time.Duration, r *replica) {
	if r == nil || r.draining {
		return
	}
	r.pool.remove(r)
	r.draining, r.deadline = true, now+f.grace
	if f.grace <= 0 {
		f.advanceReplica(now, r)
		r.pool.evict(now, r)
	}
}

// submit accepts a call; c.receiver receives its progress.
func (f *fleet) submit(now time.Duration, key ModelKey, fairness string, c *call) error {
	p := f.pools[key]
	if p == nil {
		return fmt.Errorf("%w %q in namespace %q", errUnknownModel, key.ID, key.Namespace)
	}
	f.lastID++
	c.id, c.request.ID, c.asked, c.cached = f.lastID, f.lastID, c.request.OutputTokens, c.request.CachedTokens
	c.pool, c.flow = p, p.flowOf(fairness)
	p.enter(now, c)
	return nil
}

// cancel ends a call whose client has disconnected.
func (f *fleet) cancel(now time.Duration, c *call) {
	if c.replica == nil {
		if !f.forget(c) {
			c.pool.cancelHeld(now, c)
		}
		return
	}
	f.advanceReplica(now, c.replica)
	if f.forget(c) {
		return
	}
	if c.replica != nil { // it did not finish in this call
		c.replica.machine.Abort(now, c.request.ID)
		c.leave()
	}
}

// next returns the time of the fleet's next action; false means idle.
func (f *fleet) next() (at time.Duration, ok bool) {
	for _, r := range f.replicas {
		due, busy := r.machine.Next()
		if r.draining && (!busy || r.deadline < due) {
			due, busy = r.deadline, true
		}
		if busy && (!ok || due < at) {
			at, ok = due, true
		}
	}
	for _, p := range f.moving {
		if !ok || p.due < at {
			at, ok = p.due, true
		}
	}
	return at, ok
}

// advance processes everything that is due at or before now.
func (f *fleet) advance(now time.Duration) {
	gone := false
	for _, r := range f.replicas {
		f.advanceReplica(now, r)
		if r.draining && r.deadline <= now {
			r.pool.evict(now, r)
		}
		gone = gone || r.draining && len(r.calls) == 0
	}
	f.endTransfers(now)
	if gone {
		f.replicas = slices.DeleteFunc(f.replicas, func(r *replica) bool { return r.draining && len(r.calls) == 0 })
	}
}

// advanceReplica steps a replica up to now, or to its deadline, and delivers its events.
func (f *fleet) advanceReplica(now time.Duration, r *replica) {
	if r.draining {
		now = min(now, r.deadline)
	}
	if due, busy := r.machine.Next(); !busy || due > now {
		return
	}
	f.events = r.machine.Advance(now, f.events[:0])
	for _, e := range f.events {
		if e.Kind == serving.Step {
			r.counters.observe(stepTokens, float64(e.Tokens))
		} else if c := r.calls[e.ID]; c != nil {
			c.handle(e)
			if e.Kind == serving.Finished && r.pod.Prefill && !c.passed {
				f.pass(c, e.At)
			}
		}
	}
}

// keys returns the keys of the known models that want accepts, sorted.
func (f *fleet) keys(want func(ModelKey) bool) []ModelKey {
	var keys []ModelKey
	for key := range f.pools {
		if want(key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b ModelKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	return keys
}

// sortedPods returns the pods that have started, by namespace and name.
func (f *fleet) sortedPods() []Pod {
	var pods []Pod
	for _, state := range f.pods {
		if state.pod.Started || state.replica != nil {
			pods = append(pods, state.pod)
		}
	}
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}
