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
	// scalesWithin is how long one Fleet waits for all scales together, and how long one read may
	// take: a kind may be served, or converted, by a tenant's webhook that does not answer.
	scalesWithin = 2 * time.Second
	// missFor is how long a target is not read again after it did not answer, or after the cluster
	// did not have its kind: looking for a kind takes several requests.
	missFor = 30 * time.Second
	// distrustFor is how long Fleet does not wait for the targets of a namespace after one of them
	// did not answer. It then uses their last answers.
	distrustFor = 10 * time.Minute
	// readsAtOnce limits how many scales are read at the same time, readsOfOne how many of one
	// namespace.
	readsAtOnce, readsOfOne = 64, 8
)

// scaleTarget is a target whose kind has no informer.
type scaleTarget struct {
	namespace string
	ref       scaling.TargetRef
}

// scaleReads reads scales side by side. A read that takes too long goes on, and its caller no
// longer waits for it. It is safe for concurrent use.
type scaleReads struct {
	scales Scales
	slots  chan struct{}

	mu     sync.Mutex
	shares map[string]chan struct{} // slots of each namespace
	known  map[scaleTarget]*scaleRead
	missed map[string]time.Time // when a target last did not answer in time, by namespace
}

// scaleRead is the latest read of a target.
type scaleRead struct {
	waited <-chan struct{} // closed when callers stop waiting for it
	ended  chan struct{}   // closed when answer and again are set
	answer scaleAnswer
	again  time.Time   // do not read again before; zero for a read that did not miss
	before scaleAnswer // of the previous read; that of a silent target for the first read
}

func newScaleReads(scales Scales) *scaleReads {
	return &scaleReads{
		scales: scales, slots: make(chan struct{}, readsAtOnce), shares: map[string]chan struct{}{}, known: map[scaleTarget]*scaleRead{}, missed: map[string]time.Time{},
	}
}

// read returns the answer of every target whose kind has no informer, within scalesWithin. It does
// not wait for a namespace in which a target missed its time less than distrustFor ago.
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

// miss records that a target of a namespace did not answer in time.
func (r *scaleReads) miss(namespace string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.After(r.missed[namespace]) {
		r.missed[namespace] = now
	}
}

// begin returns the latest read of each target, and the namespaces whose targets are waited for. It
// begins a new read unless one is under way, or the last one missed less than missFor ago. It
// forgets objects that are no longer targets.
func (r *scaleReads) begin(ctx context.Context, vas []*v1alpha1.VariantAutoscaling, now time.Time) (reads map[scaleTarget]*scaleRead, waits map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(_ string, at time.Time) bool { return now.Sub(at) >= distrustFor })
	reads, waits = map[scaleTarget]*scaleRead{}, map[string]bool{}
	// The context of the caller may end before the read does.
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

// run reads a scale as soon as it has a slot of its namespace and one of all.
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

// share returns the slots of a namespace. The caller holds the lock.
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

// silent returns the answer for a target that did not answer.
func silent(ref scaling.TargetRef, namespace string) scaleAnswer {
	return scaleAnswer{missing: fmt.Sprintf("the scale of %s %q in namespace %q was not answered within %s: look at who serves %s, and its conversion webhook",
		ref.Kind, ref.Name, namespace, scalesWithin, ref.APIVersion)}
}
