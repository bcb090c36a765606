package emulator

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
)

// tick is the time between two steps of the fleet. Events within a tick are processed
// together and keep their exact times.
const tick = time.Millisecond

// Options configure an Emulator; the zero value is the demonstration.
type Options struct {
	Profiles Profiles      // nil = the built-in ones
	Version  Version       // of the vLLM page; 0 = DefaultVersion
	Seed     uint64        // of the filler text
	Grace    time.Duration // time in which a replica whose pod is gone may finish its requests, >= 0
	Clock    clock.Clock   // nil = the real one
	Log      *slog.Logger  // nil = none
}

// Emulator runs a fleet in real time. Make it with New; its methods may be
// called from any goroutine.
type Emulator struct {
	version  Version
	seed     uint64
	clock    clock.Clock
	epoch    time.Time
	log      *slog.Logger
	families []family
	wake     chan struct{} // capacity 1: the loop has to step again

	mu    sync.Mutex
	fleet *fleet // guarded by mu
}

var _ Sink = (*Emulator)(nil)

// New returns an Emulator without pods.
func New(o Options) (*Emulator, error) {
	if o.Profiles == nil {
		profiles, err := BuiltInProfiles()
		if err != nil {
			return nil, err
		}
		o.Profiles = profiles
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Emulator{
		version:  cmp.Or(o.Version, DefaultVersion),
		seed:     o.Seed,
		clock:    o.Clock,
		epoch:    o.Clock.Now(),
		log:      o.Log,
		families: catalogue(),
		wake:     make(chan struct{}, 1),
		fleet:    newFleet(o.Profiles, o.Grace),
	}, nil
}

// Run steps the fleet until ctx ends.
func (e *Emulator) Run(ctx context.Context) {
	timer := e.clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := e.step()
		if !timer.Stop() {
			select { // a clock for tests may leave an old tick
			case <-timer.C():
			default:
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-timer.C():
		}
	}
}

// step processes everything that is due and returns the time until the next step.
func (e *Emulator) step() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.fleet.advance(now)
	at, ok := e.fleet.next()
	if !ok {
		return time.Hour
	}
	return max(at-now, tick)
}

// SetPod records a new pod or a change of one.
func (e *Emulator) SetPod(pod Pod) {
	err := e.change(func(now time.Duration) error { return e.fleet.setPod(now, pod) })
	if err != nil {
		e.log.Warn("pod is not emulated", "namespace", pod.Namespace, "pod", pod.Name, "err", err)
	}
}

// DeletePod records that a pod is gone.
func (e *Emulator) DeletePod(namespace, name string) {
	_ = e.change(func(now time.Duration) error {
		e.fleet.deletePod(now, namespace, name)
		return nil
	})
}

// Declare makes a model known before it has pods.
func (e *Emulator) Declare(key ModelKey) {
	_ = e.change(func(time.Duration) error {
		e.fleet.declare(key)
		return nil
	})
}

func (e *Emulator) submit(key ModelKey, fairness string, c *call) error {
	return e.change(func(now time.Duration) error { return e.fleet.submit(now, key, fairness, c) })
}

func (e *Emulator) cancel(c *call) {
	_ = e.change(func(now time.Duration) error {
		e.fleet.cancel(now, c)
		return nil
	})
}

// change applies an input to the fleet and wakes the loop.
func (e *Emulator) change(input func(now time.Duration) error) error {
	e.mu.Lock()
	err := input(e.now())
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default: // the loop is already woken
	}
	return err
}

func (e *Emulator) now() time.Duration { return e.clock.Since(e.epoch) }

// podView copies the values of a pod's metrics page, as of now. The view is nil while the
// pod has not been Ready; false means that there is no such pod.
func (e *Emulator) podView(namespace, name string) (v *view, model string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	state := e.fleet.pods[podKey{namespace, name}]
	if state == nil {
		return nil, "", false
	}
	r := state.replica
	if r == nil {
		return nil, state.pod.Model, true
	}
	return &view{profile: r.machine.Profile(), stats: r.machine.Stats(), counters: r.counters.clone()}, state.pod.Model, true
}

// gatewayPage renders the EPP page of a namespace; false means that no model
// is known in it.
func (e *Emulator) gatewayPage(namespace string) ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var pools []*pool
	for _, key := range e.fleet.keys(func(key ModelKey) bool { return key.Namespace == namespace }) {
		pools = append(pools, e.fleet.pools[key])
	}
	var page exposition.Page
	writeGatewayPage(&page, pools)
	return page.Bytes(), len(pools) > 0
}

// models returns the keys of the known models that want accepts, sorted.
func (e *Emulator) models(want func(ModelKey) bool) []ModelKey {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fleet.keys(want)
}

// startedPods returns the pods that Prometheus would scrape, sorted.
func (e *Emulator) startedPods() []Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fleet.sortedPods()
}
