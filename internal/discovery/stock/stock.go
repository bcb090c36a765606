package stock

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Options configures a Stock. Client, Clock and Idle are required.
type Options struct {
	// Client lists and watches nodes and pods of all namespaces. Its requests must
	// have no timeout.
	Client client.WithWatch
	Clock  clock.Clock
	// Idle returns how long after the last question the watches end, > 0.
	Idle func() time.Duration
	// NodeSelector selects the nodes that count, nil for all.
	NodeSelector labels.Selector
	// Vendors are domains of further vendors; see withDomains.
	Vendors []string
	// Learnt is called when the stock becomes known. It must not block. It may be nil.
	Learnt func()
}

// Stock counts the accelerators of the cluster. It watches nodes and pods only while it is asked:
// the first question starts the watches, and they end Idle after the last one. It is safe for
// concurrent use.
type Stock struct {
	options Options
	vendors []vendor
	asked   chan struct{}

	mu    sync.Mutex
	tally *tally
	nodes feedState
	pods  feedState
	said  string // the reason logged last
}

var _ cycle.Stock = (*Stock)(nil)

// New returns a Stock that knows nothing until Run runs.
func New(options Options) *Stock {
	if options.NodeSelector == nil {
		options.NodeSelector = labels.Everything()
	}
	of := withDomains(options.Vendors)
	return &Stock{options: options, vendors: of, asked: make(chan struct{}, 1), tally: newTally(of)}
}

// Inventory returns the accelerators of the nodes that take new pods, minus those that pods take or
// are about to take. It is unknown while nodes or pods have not been listed, or cannot be watched;
// the logger of ctx gets the reason once. It returns at once.
func (s *Stock) Inventory(ctx context.Context) scaling.Inventory {
	select {
	case s.asked <- struct{}{}:
	default: // a question is pending already
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault := cmp.Or(s.nodes.fault(kindNodes), s.pods.fault(kindPods)); fault != "" {
		s.say(ctx, "the stock of accelerators is not known: what is limited does not grow", fault)
		return scaling.Inventory{}
	}
	now := s.options.Clock.Now()
	groups, unnamed := s.tally.groups(now)
	if unnamed > 0 {
		s.say(ctx, "accelerators are not counted", fmt.Sprintf("no label of their nodes names the product, such as %s", productLabels[0]))
	} else {
		s.said = ""
	}
	return scaling.Inventory{Known: true, At: now, Groups: groups}
}

// say logs a reason, unless it was the last one logged.
func (s *Stock) say(ctx context.Context, message, reason string) {
	if log, err := logr.FromContext(ctx); err == nil && s.said != reason {
		s.said = reason
		log.Info(message, "reason", reason)
	}
}

// Run watches while Inventory is called, until ctx ends. It returns nil.
func (s *Stock) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.asked:
		}
		s.watch(ctx)
	}
}

// watch watches until Inventory has not been called for Idle, or ctx ends.
func (s *Stock) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var watches sync.WaitGroup
	defer func() {
		cancel()
		watches.Wait()
		s.forget()
	}()
	watches.Go(func() {
		newFeed(s, &s.nodes, (*tally).dropNodes, (*tally).setNode, (*tally).dropNode).
			run(ctx, &corev1.NodeList{}, client.ListOptions{LabelSelector: s.options.NodeSelector})
	})
	watches.Go(func() {
		newFeed(s, &s.pods, (*tally).dropPods, (*tally).setPod, (*tally).dropPod).
			run(ctx, &corev1.PodList{}, client.ListOptions{FieldSelector: fields.AndSelectors(
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
			)})
	})
	for {
		idle := s.options.Clock.NewTimer(s.options.Idle())
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-s.asked:
			idle.Stop()
		case <-idle.C():
			return
		}
	}
}

// forget restores the state before the first question.
func (s *Stock) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally = newTally(s.vendors)
	s.nodes, s.pods, s.said = feedState{}, feedState{}, ""
}
