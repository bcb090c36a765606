package discovery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// scalesWithin is how long a look at the fleet waits for scales, all of them
	// together, and how long one read may take: who serves a kind, or converts it,
	// may be a tenant's webhook that does not answer.
	scalesWithin = 2 * time.Second
	// missFor is for how long a target is not read again that did not answer, or
	// whose kind the cluster does not have: to look for a kind takes several requests.
	missFor = 30 * time.Second
	// readsAtOnce limits how many scales are read at the same time, readsOfOne how
	// many of one namespace.
	readsAtOnce, readsOfOne = 64, 8
)

// scaleTarget is a target whose kind has no informer.
type scaleTarget struct {
	namespace string
	ref       scaling.TargetRef
}

// scaleReads reads scales side by side. A read that does not end in time goes on
// without anybody waiting for it. It is safe for concurrent use.
type scaleReads struct {
	scales Scales
	slots  chan struct{}

	mu     sync.Mutex
	shares map[string]chan struct{} // of slots, by namespace
	known  map[scaleTarget]*scaleRead
}

// scaleRead is the latest read of a target.
type scaleRead struct {
	waited <-chan struct{} // closed when nobody waits for it any more
	ended  chan struct{}   // closed when answer and again are set
	answer scaleAnswer
	again  time.Time // not to be read before; zero for a read that did not miss
}

func newScaleReads(scales Scales) *scaleReads {
	return &scaleReads{
		scales: scales, slots: make(chan struct{}, readsAtOnce), shares: map[string]chan struct{}{}, known: map[scaleTarget]*scaleRead{},
	}
}

// read returns what the scale of every target says whose kind has no informer, within
// scalesWithin.
func (r *scaleReads) read(ctx context.Context, vas []*v1alpha1.VariantAutoscaling, now time.Time) map[scaleTarget]scaleAnswer {
	reads := r.begin(ctx, vas, now)
	answers := make(map[scaleTarget]scaleAnswer, len(reads))
	for t, read := range reads {
		select {
		case <-read.ended:
			answers[t] = read.answer
			continue
		default:
		}
		select {
		case <-read.ended:
			answers[t] = read.answer
		case <-read.waited:
			answers[t] = silent(t.ref, t.namespace)
		case <-ctx.Done():
			answers[t] = scaleAnswer{missing: ctx.Err().Error()}
		}
	}
	return answers
}

// begin returns the latest read of each target: one that is under way, or missed a
// short while ago, else a new one. What is no target any more is forgotten.
func (r *scaleReads) begin(ctx context.Context, vas []*v1alpha1.VariantAutoscaling, now time.Time) map[scaleTarget]*scaleRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads := map[scaleTarget]*scaleRead{}
	// Those that wait may end before the read does.
	background := context.WithoutCancel(ctx)
	waited, cancel := context.WithTimeout(background, scalesWithin)
	context.AfterFunc(waited, cancel)
	for _, va := range vas {
		t := scaleTarget{va.Namespace, refOf(va)}
		if hasInformer(t.ref) || reads[t] != nil {
			continue
		}
		if read := r.known[t]; read != nil && (!read.done() || now.Before(read.again)) {
			reads[t] = read
			continue
		}
		reads[t] = &scaleRead{waited: waited.Done(), ended: make(chan struct{})}
		go r.run(background, t, reads[t], now)
	}
	shares := map[string]chan struct{}{}
	for t := range reads {
		shares[t.namespace] = r.share(t.namespace)
	}
	r.known, r.shares = reads, shares
	return reads
}

// run reads a scale once it has its slots.
func (r *scaleReads) run(ctx context.Context, t scaleTarget, read *scaleRead, now time.Time) {
	defer close(read.ended)
	r.mu.Lock()
	share := r.share(t.namespace)
	r.mu.Unlock()
	share <- struct{}{}
	defer func() { <-share }()
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	r.mu.Lock()
	wanted := r.known[t] == read
	r.mu.Unlock()
	if !wanted { // an edit named another target meanwhile
		read.answer = silent(t.ref, t.namespace)
		return
	}
	within, cancel := context.WithTimeout(ctx, scalesWithin)
	defer cancel()
	scale, err := r.scales.Scale(within, t.namespace, t.ref)
	read.answer = answerOf(scale, err, t.ref, t.namespace)
	if within.Err() != nil || meta.IsNoMatchError(err) {
		read.again = now.Add(missFor)
	}
}

// share returns the slots of a namespace. The lock is held by the caller.
func (r *scaleReads) share(namespace string) chan struct{} {
	share, ok := r.shares[namespace]
	if !ok {
		share = make(chan struct{}, readsOfOne)
		r.shares[namespace] = share
	}
	return share
}

// done reports whether a read has ended.
func (r *scaleRead) done() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// silent is what is known of a target that does not answer.
func silent(ref scaling.TargetRef, namespace string) scaleAnswer {
	return scaleAnswer{missing: fmt.Sprintf("the scale of %s %q in namespace %q was not answered within %s: look at who serves %s, and its conversion webhook",
		ref.Kind, ref.Name, namespace, scalesWithin, ref.APIVersion)}
}
