package subresource

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// mostReplicas is the largest value of the replicas field of a scale.
const mostReplicas = math.MaxInt32

// attempts is how often a scale is read and set while other clients change its target.
const attempts = 5

// Scalers returns which scalers set the replicas of targets.
type Scalers interface {
	// Scalers returns the known scalers of the target of a variant.
	Scalers(key scaling.VariantKey) scaling.Scalers
}

// Options are the parts of a TargetScaler, all of them required.
type Options struct {
	Objects client.Reader // a cache: VariantAutoscalings, and pods with the annotations that CacheOptions keeps
	Scalers Scalers
	Scales  Scales
	Pods    Patcher
	// Count receives the outcome of each attempt to set a scale.
	Count func(metrics.Outcome)
}

// TargetScaler sets the replicas of targets. The zero value is not usable; see New. Carry
// and Mark are for one goroutine, the other methods for any.
type TargetScaler struct {
	Options

	mu       sync.Mutex
	troubles map[scaling.VariantKey]trouble
	watchers []chan struct{}

	pushes pushes // of targets that only this process should scale
	starts starts // of targets that another scaler scales except from and to zero

	markFault string // why the last attempt to mark pods failed
}

// New returns a TargetScaler that has done nothing.
func New(o Options) *TargetScaler { return &TargetScaler{Options: o} }

// Trouble returns why the replicas of a target could not be set, the zero value where they
// were set or need not be. known is false until this process has carried out a plan.
func (h *TargetScaler) Trouble(key scaling.VariantKey) (t scaling.Trouble, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.troubles[key].Trouble, h.troubles != nil
}

// Watch returns a channel that receives when a Trouble begins, changes or ends. Unread
// notices are combined into one.
func (h *TargetScaler) Watch() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(chan struct{}, 1)
	h.watchers = append(h.watchers, w)
	return w
}

// Carry sets the replicas of every target that this process scales now to the plan of the
// record. It returns when that is done, ctx has ended, or after ten seconds. A failure is a
// Trouble of its variant, and is logged when it begins.
//
// One target may take two seconds at most; those that took longer go last the next time.
// Replicas that another client keeps changing are set less and less often.
func (h *TargetScaler) Carry(ctx context.Context, record memory.Record) {
	now := record.Plan.At
	h.dropOutdated(now)
	own, troubles := h.turns(record)
	begin, cancel := context.WithTimeout(ctx, beginsWithin)
	defer cancel()
	ended, left := inTurn(begin, queue(own, h.timedOut), func(o order) (change, error) {
		within, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return h.carry(within, o)
	})
	if ctx.Err() != nil {
		return
	}
	for _, r := range ended {
		key := r.order.variant.Key
		h.recordChange(r, now)
		switch {
		case r.err != nil:
			troubles[key] = troubleOf(r.err)
		case r.order.soleScaler && h.pushes.inConflict(key):
			troubles[key] = conflictTrouble()
		default:
			delete(troubles, key)
		}
	}
	for _, o := range left {
		troubles[o.variant.Key] = notAttempted()
	}
	h.remember(logr.FromContextOrDiscard(ctx), troubles)
}

// turns returns the orders that this process should carry out now, and the troubles that do
// not depend on them.
func (h *TargetScaler) turns(record memory.Record) (own []order, troubles map[scaling.VariantKey]trouble) {
	troubles = map[scaling.VariantKey]trouble{}
	for _, o := range orders(record) {
		key, by := o.variant.Key, h.Scalers.Scalers(o.variant.Key)
		turn, _ := by.Turn(o.variant.Replicas.Current, o.desired)
		switch by.InForce() {
		case scaling.ActuationScale:
			o.soleScaler = true
		case scaling.ActuationZero:
			o.repeat = h.starts.repeat(o, by)
		case scaling.ActuationMetrics, scaling.ActuationAdvisory: // nothing is set, so nothing is repeated
		}
		if o.soleScaler && h.pushes.inConflict(key) {
			troubles[key] = conflictTrouble() // until the set replicas have stayed
		}
		switch {
		case o.soleScaler && h.pushes.waits(key, record.Plan.At):
		case turn == scaling.TurnOwn, o.repeat > 0:
			own = append(own, o)
		}
	}
	return own, troubles
}

// recordChange records the changes that a plan of time at made, for later plans.
func (h *TargetScaler) recordChange(r result, at time.Time) {
	switch {
	case !r.change.set:
	case r.order.soleScaler:
		h.pushes.add(r.order.variant.Key, at, r.change)
	default:
		h.starts.add(r.order, at, r.change)
	}
}

// dropOutdated drops outdated pushes and starts, and all of them in a process that has just begun
// to lead.
func (h *TargetScaler) dropOutdated(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.troubles == nil {
		h.pushes, h.starts = pushes{}, starts{}
	}
	h.pushes.forget(now)
	h.starts.forget(now)
}

// timedOut reports whether a target did not answer in time when it was last tried.
func (h *TargetScaler) timedOut(key scaling.VariantKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.troubles[key].Reason == timeout
}

// order is a decision on a variant whose target was read.
type order struct {
	variant    scaling.Variant
	desired    scaling.Replicas
	soleScaler bool             // only this process should set the replicas
	repeat     scaling.Replicas // replicas to set once more if there are fewer but not 0; 0 for none
}

// change is a change of replicas; the zero value is none.
type change struct {
	from, to scaling.Replicas // replicas
	set      bool
}

// orders returns the decisions of a plan for targets that were read and may be set.
func orders(record memory.Record) []order {
	fleet := make(map[scaling.VariantKey]scaling.Variant, len(record.Fleet.Variants))
	for _, v := range record.Fleet.Variants {
		fleet[v.Key] = v
	}
	var out []order
	for _, d := range record.Plan.Decisions {
		if v, ok := fleet[d.Variant]; ok && v.Replicas.Observed && !v.Paused && !v.Advisory {
			out = append(out, order{variant: v, desired: d.Target()})
		}
	}
	return out
}

// carry sets the replicas of one target if this process should still scale it. Since the
// measurements, the owner may have changed the object, or another scaler may have acted.
func (h *TargetScaler) carry(ctx context.Context, o order) (change, error) {
	by := h.Scalers.Scalers(o.variant.Key)
	asks, err := h.requestedActuation(ctx, o.variant)
	if err != nil || asks != by.Own {
		return change{}, err
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", o.variant.Key.Namespace, "variant", o.variant.Key.Name, "target", o.variant.Target.String())
	for range attempts {
		done, failed := h.set(ctx, o, by)
		if err = failed; apierrors.IsConflict(err) {
			continue
		}
		if done.set {
			log.Info("replicas set by the scale subresource", "from", done.from, "to", done.to)
			h.Count(metrics.Success)
			return done, nil
		}
		break
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		h.Count(outcomeOf(err))
	}
	return change{}, err
}

// set reads the scale of a target and sets it, unless another scaler should act at the number of
// replicas that the target has now.
func (h *TargetScaler) set(ctx context.Context, o order, by scaling.Scalers) (change, error) {
	scale, err := h.Scales.Scale(ctx, o.variant.Key.Namespace, o.variant.Target)
	if err != nil {
		return change{}, err
	}
	from := scaling.Replicas(scale.Spec.Replicas)
	turn, to := by.Turn(from, o.desired)
	switch {
	case turn == scaling.TurnOwn:
	case 0 < from && from < o.repeat:
		to = o.repeat
	default:
		return change{}, nil
	}
	scale.Spec.Replicas = int32(min(to, mostReplicas))
	if err := h.Scales.SetScale(ctx, o.variant.Target, scale); err != nil {
		return change{}, err
	}
	return change{from: from, to: scaling.Replicas(scale.Spec.Replicas), set: true}, nil
}

// requestedActuation returns the actuation that the object of a variant asks for now, "" where the object
// is gone or must not be scaled.
func (h *TargetScaler) requestedActuation(ctx context.Context, v scaling.Variant) (scaling.Actuation, error) {
	var va v1alpha1.VariantAutoscaling
	err := h.Objects.Get(ctx, client.ObjectKey{Namespace: v.Key.Namespace, Name: v.Key.Name}, &va, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	case !va.DeletionTimestamp.IsZero(), va.Annotations[v1alpha1.AnnotationPaused] == "true", scaling.TargetRef(va.Target()) != v.Target:
		return "", nil
	}
	asks, _ := scaling.ActuationOf(va.Annotations[v1alpha1.AnnotationActuation])
	return asks, nil
}

// remember replaces the troubles, logs new ones, and notifies the watchers.
func (h *TargetScaler) remember(log logr.Logger, troubles map[scaling.VariantKey]trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, now := range troubles {
		before := h.troubles[key]
		if now.Reason == before.Reason && now.by == before.by {
			troubles[key] = before // with the first message
			continue
		}
		log.Info("replicas could not be set by the scale subresource", "namespace", key.Namespace, "variant", key.Name,
			"reason", now.Reason, "err", now.Message)
	}
	if maps.Equal(h.troubles, troubles) && (h.troubles == nil) == (troubles == nil) {
		return
	}
	h.troubles = troubles
	for _, w := range h.watchers {
		select {
		case w <- struct{}{}:
		default: // the watcher has not yet read the last notice, which says the same
		}
	}
}

// Clear forgets the troubles. A process that no longer leads must call it.
func (h *TargetScaler) Clear() { h.remember(logr.Discard(), nil) }
