package discovery

import (
	"context"
	"fmt"
	"maps"
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
	// distrustFor is for how long no look waits for the targets of a namespace after one
	// of them did not answer: a look then takes what they said last.
	distrustFor = 10 * time.Minute
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
	missed map[string]time.Time // when a target last did not answer in time, by namespace
}

// scaleRead is the latest read of a target.
type scaleRead struct {
	waited <-chan struct{} // closed when no caller waits for it any more
	ended  chan struct{}   // closed when answer and again are set
	answer scaleAnswer
	again  time.Time   // not to be read before; zero for a read that did not miss
	before scaleAnswer // of the read before it, or that there is none
}

func newScaleReads(scales Scales) *scaleReads {
	return &scaleReads{
		scales: scales, slots: make(chan struct{}, readsAtOnce), shares: map[string]chan struct{}{}, known: map[scaleTarget]*scaleRead{}, missed: map[string]time.Time{},
	}
}

// read returns what the scale of every target says whose kind has no informer, within
// scalesWithin. Where a target of a namespace did not answer within distrustFor, it waits
// for none of that namespace.
func (r *scaleReads) read(ctx context.Context, vas []*v1alpha1.VariantAutoscaling, now time.Time) map[scaleTarget]scaleAnswer {
	reads, waits := r.begin(ctx, vas, now)
	answers := make(map[scaleTarget]scaleAnswer, len(reads))
	for t, read := range reads {
		if read.done() {
			answers[t] = read.answer
			continue
		}
		if !waits[t.namespace] {
			answers[t] = read.before
			continue
		}
		select {
		case <-read.ended:
			answers[t] = read.answer
		case <-read.waited:
			r.miss(t.namespace, now)
			answers[t] = silent(t.ref, t.namespace)
		case <-ctx.Done():
			answers[t] = scaleAnswer{missing: ctx.Err().Error()}
		}
	}
	return answers
}

// miss notes that a target of a namespace did not answer in time.
func (r *scaleReads) miss(namespace string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.After(r.missed[namespace]) {
		r.missed[namespace] = now
	}
}

// begin returns the latest read of each target: one that is under way, or missed a
// short while ago, else a new one; and the namespaces whose targets are waited for. What
// is no target any more is forgotten.
func (r *scaleReads) begin(ctx context.Context, vas []*v1alpha1.VariantAutoscaling, now time.Time) (reads map[scaleTarget]*scaleRead, waits map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(_ string, at time.Time) bool { return now.Sub(at) >= distrustFor })
	reads, waits = map[scaleTarget]*scaleRead{}, map[string]bool{}
	// Those that wait may end before the read does.
	background := context.WithoutCancel(ctx)
	waited, cancel := context.WithTimeout(background, scalesWithin)
	context.AfterFunc(waited, cancel)
	for _, va := range vas {
		t := scaleTarget{va.Namespace, refOf(va)}
		if hasInformer(t.ref) || reads[t] != nil {
			continue
		}
		_, missed := r.missed[t.namespace]
		waits[t.namespace] = !missed
		last := r.known[t]
		if last != nil && (!last.done() || now.Before(last.again)) {
			reads[t] = last
			continue
		}
		reads[t] = &scaleRead{waited: waited.Done(), ended: make(chan struct{}), before: silent(t.ref, t.namespace)}
		if last != nil {
			reads[t].before = last.answer
		}
		go r.run(background, t, reads[t], now)
	}
	shares := map[string]chan struct{}{}
	for t := range reads {
		shares[t.namespace] = r.share(t.namespace)
	}
	r.known, r.shares = reads, shares
	return reads, waits
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
	if within.Err() != nil {
		r.miss(t.namespace, now)
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
