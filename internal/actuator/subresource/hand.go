package subresource

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// mostReplicas is what the field of a scale holds.
const mostReplicas = math.MaxInt32

const (
	// attempts is how often a scale is read and set while others change its target.
	attempts = 5
	// patience is how long all targets of one plan may take: an API server that
	// does not answer must not keep the next cycle from beginning.
	patience = 10 * time.Second
	// atOnce limits how many targets are set at the same time.
	atOnce = 8
)

// Scalers knows who sets the replicas of targets.
type Scalers interface {
	// Scalers returns who scales the target of a variant, as far as it is known.
	Scalers(key scaling.VariantKey) scaling.Scalers
}

// Options are the parts of a Hand, all of them required.
type Options struct {
	Objects client.Reader // a cache: VariantAutoscalings, and pods with the annotations that CacheOptions keeps
	Scalers Scalers
	Scales  Scales
	Pods    Patcher
	// Count is told how each attempt to set a scale ended.
	Count func(metrics.Outcome)
}

// Hand sets the replicas of targets. The zero value is not usable; see New. Carry
// and Mark are for one goroutine, the other methods for any.
type Hand struct {
	Options

	mu       sync.Mutex
	troubles map[scaling.VariantKey]scaling.Trouble
	watchers []chan struct{}

	markFault string // why pods could not be marked the last time
}

// New returns a Hand that has done nothing.
func New(o Options) *Hand { return &Hand{Options: o} }

// Trouble returns why the replicas of a target could not be set, the zero value
// where they could be or need not be. It is known once this process has carried out a
// plan.
func (h *Hand) Trouble(key scaling.VariantKey) (trouble scaling.Trouble, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.troubles[key], h.troubles != nil
}

// Watch returns a channel that receives when a Trouble begins, changes or ends.
// Notices that are not read in time become one.
func (h *Hand) Watch() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(chan struct{}, 1)
	h.watchers = append(h.watchers, w)
	return w
}

// Carry sets the replicas of every target whose turn is its own to what the record's
// plan decides. It returns when that is done, ctx has ended, or the API server has
// not answered for long. What failed is a Trouble of its variant, and logged when it
// begins.
func (h *Hand) Carry(ctx context.Context, record scaling.Record) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	troubles := map[scaling.VariantKey]scaling.Trouble{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, o := range orders(record) {
		if turn, _ := h.Scalers.Scalers(o.variant.Key).Turn(o.variant.Replicas.Current, o.desired); turn != scaling.TurnOwn {
			continue
		}
		group.Go(func() error {
			if err := h.carry(within, o); err != nil && ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				troubles[o.variant.Key] = troubleOf(err)
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in troubles
	if ctx.Err() == nil {
		h.remember(logr.FromContextOrDiscard(ctx), troubles)
	}
}

// order is a decision on a variant whose target was read.
type order struct {
	variant scaling.Variant
	desired int
}

// orders returns what a plan decides for targets that were read and may be set.
func orders(record scaling.Record) []order {
	fleet := make(map[scaling.VariantKey]scaling.Variant, len(record.Fleet.Variants))
	for _, v := range record.Fleet.Variants {
		fleet[v.Key] = v
	}
	var out []order
	for _, d := range record.Plan.Decisions {
		if v, ok := fleet[d.Variant]; ok && v.Replicas.Observed && !v.Paused {
			out = append(out, order{v, d.Target()})
		}
	}
	return out
}

// carry sets the replicas of one target, if it still is the turn of this process:
// measuring may have taken longer than its owner needs to change his mind, or
// another to be faster.
func (h *Hand) carry(ctx context.Context, o order) error {
	by := h.Scalers.Scalers(o.variant.Key)
	asks, err := h.asks(ctx, o.variant)
	if err != nil || asks != by.Own {
		return err
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", o.variant.Key.Namespace, "variant", o.variant.Key.Name, "target", o.variant.Target.String())
	for range attempts {
		from, to, set, failed := h.set(ctx, o, by)
		if err = failed; apierrors.IsConflict(err) {
			continue
		}
		if set {
			log.Info("replicas set by the scale subresource", "from", from, "to", to)
			h.Count(metrics.Success)
			return nil
		}
		break
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		h.Count(outcomeOf(err))
	}
	return err
}

// set reads the scale of a target and sets it, unless the target has come to where
// it is not the turn of this process any more.
func (h *Hand) set(ctx context.Context, o order, by scaling.Scalers) (from, to int, set bool, err error) {
	scale, err := h.Scales.Scale(ctx, o.variant.Key.Namespace, o.variant.Target)
	if err != nil {
		return 0, 0, false, err
	}
	from = int(scale.Spec.Replicas)
	turn, to := by.Turn(from, o.desired)
	if turn != scaling.TurnOwn {
		return from, from, false, nil
	}
	scale.Spec.Replicas = int32(min(to, mostReplicas))
	if err := h.Scales.SetScale(ctx, o.variant.Target, scale); err != nil {
		return from, to, false, err
	}
	return from, to, true, nil
}

// asks returns what the object of a variant asks for now, "" where there is none
// any more, or it is to be left alone.
func (h *Hand) asks(ctx context.Context, v scaling.Variant) (scaling.Actuation, error) {
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

// remember replaces what is in trouble, and tells whoever watches.
func (h *Hand) remember(log logr.Logger, troubles map[scaling.VariantKey]scaling.Trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if maps.Equal(h.troubles, troubles) && (h.troubles == nil) == (troubles == nil) {
		return
	}
	for key, trouble := range troubles {
		if h.troubles[key] != trouble {
			log.Info("replicas could not be set by the scale subresource", "namespace", key.Namespace, "variant", key.Name,
				"reason", trouble.Reason, "err", trouble.Message)
		}
	}
	h.troubles = troubles
	for _, w := range h.watchers {
		select {
		case w <- struct{}{}:
		default: // the watcher has not yet read the last notice, which says the same
		}
	}
}

// Clear forgets what is in trouble, as a process must that no longer leads.
func (h *Hand) Clear() { h.remember(logr.Discard(), nil) }
