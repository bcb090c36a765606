package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// retryConflict is when a status is tried again whose object changed under it:
// by then the cache has the change.
const retryConflict = 500 * time.Millisecond

// How long an object waits after a write that failed: each time twice as long as
// before. An API server that is down is not asked more often for each of a
// thousand objects, and one that is back has what it missed within the longest.
const retryFirst, retryLongest = time.Second, 15 * time.Second

// Ledger remembers what was decided.
type Ledger interface {
	// Explain returns what is known of the last decision of a variant, and false
	// when no cycle has seen it.
	Explain(key scaling.VariantKey) (explain.Explanation, bool)
	// Latest returns the record of the last cycle, and false before the first.
	Latest() (scaling.Record, bool)
	// Watch returns a channel that receives after every cycle.
	Watch() <-chan struct{}
}

var _ Ledger = (*ledger.Ledger)(nil)

// Conflicts knows which variants name the same target.
type Conflicts interface {
	// Contenders returns every variant that names the target of key, first the
	// one that scales it; nil when key is alone.
	Contenders(key scaling.VariantKey) []scaling.VariantKey
}

// Scalers knows who sets the replicas of targets, and what becomes of them.
type Scalers interface {
	// Scalers returns who scales the target of a variant, as far as it is known.
	Scalers(key scaling.VariantKey) scaling.Scalers
	// PodFailure returns why pods of the target of a variant are not created, the
	// zero value where no controller says that they are not.
	PodFailure(key scaling.VariantKey) scaling.Trouble
	// GracePeriod returns how long a pod of the target of a variant may take to end,
	// 0 where that is not known.
	GracePeriod(key scaling.VariantKey) time.Duration
}

// Gauge exports whether decisions are carried out.
type Gauge interface {
	// Following exports whether the decision on a variant is carried out, and the next
	// one would be, with the reason of the condition ScalerFollowing. "" is that it is
	// not known, and ends what was exported.
	Following(key scaling.VariantKey, follows bool, reason scaling.Reason)
}

// Objects reads and writes VariantAutoscalings.
type Objects interface {
	// Variant returns an object that the caller may modify, or NotFound.
	Variant(ctx context.Context, key client.ObjectKey) (*v1alpha1.VariantAutoscaling, error)
	// Variants returns the keys of all objects.
	Variants(ctx context.Context) ([]client.ObjectKey, error)
	// LeftAlone returns the objects of namespaces that are left alone, which Variants leaves out.
	LeftAlone(ctx context.Context) ([]v1alpha1.VariantAutoscaling, error)
	// WriteStatus writes the status of va, into which it reads what was kept of it, or returns Conflict when the object
	// is no longer what va was read as.
	WriteStatus(ctx context.Context, va *v1alpha1.VariantAutoscaling) error
}

// Status writes into each VariantAutoscaling what was decided about it, and
// tells changes as events. It is safe for concurrent use as far as its parts are, of
// one object by one goroutine at a time. The zero value is not usable; see NewStatus.
type Status struct {
	objects      Objects
	ledger       Ledger
	conflicts    Conflicts
	scalers      Scalers
	targetScaler TargetScaler
	configured   Configured
	classes      Classes
	events       events.EventRecorder
	limits       lastReported[scaling.Reason] // what keeps them from what their load calls for
	costs        lastReported[string]         // what their costs cannot be compared with
	graces       lastReported[time.Duration]  // that is less than their requests take
	refused      lastReported[bool]           // whether their status may not be written
	dropped      lastReported[bool]           // whether a definition of an older version dropped a part of it
	alone        lastReported[bool]           // whether their namespace is left alone
	sighted      firstSeen                    // since when their scalers are in trouble
	gauge        Gauge
	allotted     Allotted
	budget       budget.Limits
	over         *budget.Book
	left         lastReported[budget.What] // for what they are left out
	overTold     map[budget.Key]bool       // that pages of a namespace are left out; of afterCycles
}

var _ reconcile.Reconciler = (*Status)(nil)

// StatusOptions are the parts of a Status, all of them required.
type StatusOptions struct {
	Objects      Objects
	Ledger       Ledger
	Conflicts    Conflicts
	Scalers      Scalers
	TargetScaler TargetScaler
	Configured   Configured
	Classes      Classes
	Events       events.EventRecorder
	Gauge        Gauge
	Allotted     Allotted
	// Budget is that of each namespace, and Over what of namespaces is left out.
	Budget budget.Limits
	Over   *budget.Book
}

// NewStatus returns a Status.
func NewStatus(o StatusOptions) *Status {
	return &Status{
		objects: o.Objects, ledger: o.Ledger, conflicts: o.Conflicts, scalers: o.Scalers, targetScaler: o.TargetScaler, configured: o.Configured, classes: o.Classes, events: o.Events, gauge: o.Gauge,
		allotted: o.Allotted, budget: o.Budget, over: o.Over,
	}
}

// SetupWithManager has mgr reconcile every VariantAutoscaling after each cycle,
// while it leads.
func (s *Status) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("variantstatus").
		WithOptions(controller.Options{RateLimiter: retries(), MaxConcurrentReconciles: statusWriters}).
		WatchesRawSource(source.Func(s.afterCycles)).Complete(s)
	if err != nil {
		return fmt.Errorf("setting up the status controller: %w", err)
	}
	return nil
}

// statusWriters is how many statuses are written at once: where the API server takes
// half a second for each, a change that is the twentieth of its cycle is told within
// two seconds and not ten.
const statusWriters = 8

// retries says when an object is tried again.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLongest)
}

// Reconcile brings the status of one object up to date with the ledger.
func (s *Status) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	va, err := s.objects.Variant(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading VariantAutoscaling %s: %w", req, err)
	}
	if !va.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	v := s.view(keyOf(va))
	v.classes = s.classes.ClassRefs(modelOf(va))
	v.mayZero = s.configured.Policy(modelOf(va), v.classes...).ScaleToZero.Enabled
	valid := withActuation(configurationValid(s.configured, va, v), va, v.scalers)
	v.configuration = &valid
	was := va.Status
	s.tellLimit(va, v)
	s.tellCosts(va, v)
	s.tellGrace(va, v)
	is, known := next(va, v)
	s.export(keyOf(va), is, known && v.leftOut == "" && !v.suppressed(keyOf(va)))
	if !known || !differs(was, is) {
		return reconcile.Result{}, nil
	}
	va.Status = is
	err = s.objects.WriteStatus(ctx, va)
	s.tellRefusal(va, v, err)
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: retryConflict}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("writing the status of VariantAutoscaling %s: %w", req, err)
	}
	log.FromContext(ctx).V(1).Info("status written", "cycle", v.cycle)
	s.tellOlder(va, is, v)
	for _, n := range notices(was, is, v) {
		s.events.Eventf(va, nil, n.kind, n.reason, n.action, "%s", n.note)
	}
	return reconcile.Result{}, nil
}

// export exports what a status says of ScalerFollowing, where that is of now.
func (s *Status) export(key scaling.VariantKey, is v1alpha1.VariantAutoscalingStatus, known bool) {
	c := meta.FindStatusCondition(is.Conditions, string(v1alpha1.ConditionScalerFollowing))
	if !known || c == nil || c.Status == metav1.ConditionUnknown {
		s.gauge.Following(key, false, "")
		return
	}
	s.gauge.Following(key, c.Status == metav1.ConditionTrue, scaling.Reason(c.Reason))
}

// tellRefusal tells, when it begins, that the status of an object may not be written,
// which the status itself cannot say.
func (s *Status) tellRefusal(va *v1alpha1.VariantAutoscaling, v view, err error) {
	refused := apierrors.IsForbidden(err)
	if s.refused.begins(keyOf(va), refused) && refused {
		note := fmt.Sprintf("the status is not written and is that of an earlier cycle: %v", err)
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventStatusNotWritten, "WriteStatus", "%s", explain.Noted(note, v.cycle))
	}
}

// tellOlder tells, when it begins, that the definition in the cluster dropped a part of the status that
// was written: va is what the API server answered.
func (s *Status) tellOlder(va *v1alpha1.VariantAutoscaling, is v1alpha1.VariantAutoscalingStatus, v view) {
	scaler := func(s v1alpha1.VariantAutoscalingStatus) string { // earlier versions have no such field
		if s.Actuation == nil {
			return ""
		}
		return s.Actuation.Scaler
	}
	dropped := scaler(va.Status) != scaler(is) || len(va.Status.Facts) != len(is.Facts)
	if s.dropped.begins(keyOf(va), dropped) && dropped {
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventOlderDefinition, "WriteStatus", "%s", explain.Noted(explain.OlderDefinition(), v.cycle))
	}
}

// tellAlone tells of the objects of namespaces that are left alone, when that begins, why they are
// not served.
func (s *Status) tellAlone(ctx context.Context) {
	alone, err := s.objects.LeftAlone(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "listing the VariantAutoscalings of namespaces that are left alone")
		return
	}
	keys := make([]client.ObjectKey, len(alone))
	for i := range alone {
		va := &alone[i]
		keys[i] = client.ObjectKeyFromObject(va)
		if s.alone.begins(keyOf(va), true) {
			s.events.Eventf(va, nil, corev1.EventTypeNormal, eventNotServed, "LeaveAlone", "%s", explain.LeftAlone(va.Namespace))
		}
	}
	s.alone.forget(keys)
}

// view collects what is known of a variant: nothing before the first cycle.
func (s *Status) view(key scaling.VariantKey) view {
	latest, ok := s.ledger.Latest()
	if !ok {
		return view{}
	}
	v := view{
		at: latest.Plan.At, cycle: latest.Cycle, contenders: s.conflicts.Contenders(key),
		scalers: s.scalers.Scalers(key), podFailure: s.scalers.PodFailure(key),
	}
	v.leftOut, v.leftOutFor = s.leftOutOf(key)
	v.scaled.trouble, v.scaled.acted = s.targetScaler.Trouble(key)
	if e, ok := s.ledger.Explain(key); ok {
		v.Explanation, v.explained, v.at, v.cycle = e, true, e.At, e.Cycle
	}
	v.scalers = s.sighted.date(key, v.scalers, v.at)
	return v
}

// queue is where objects wait to be reconciled.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// afterCycles enqueues every object after each cycle, when another part of the
// configuration concerns it, and when it turns out that replicas cannot be set,
// until ctx ends. What comes while it does so is one.
func (s *Status) afterCycles(ctx context.Context, q queue) error {
	recorded, configured, acted := s.ledger.Watch(), s.configured.Watch(), s.targetScaler.Watch()
	go func() {
		s.enqueue(ctx, q) // what was recorded before the watch began
		for {
			select {
			case <-ctx.Done():
				return
			case <-recorded:
				s.enqueue(ctx, q)
			case <-configured:
				s.enqueue(ctx, q)
			case <-acted:
				s.enqueue(ctx, q)
			}
		}
	}()
	return nil
}

func (s *Status) enqueue(ctx context.Context, q queue) {
	keys, err := s.objects.Variants(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "listing VariantAutoscalings; their status waits for the next cycle")
		return
	}
	s.limits.forget(keys)
	s.costs.forget(keys)
	s.graces.forget(keys)
	s.refused.forget(keys)
	s.dropped.forget(keys)
	s.sighted.forget(keys)
	s.left.forget(keys)
	s.tellOver(ctx, keys)
	s.tellAlone(ctx)
	for _, key := range s.order(keys) {
		req := reconcile.Request{NamespacedName: key}
		if q.NumRequeues(req) == 0 { // else it comes by itself, and not sooner for a cycle
			q.Add(req)
		}
	}
}
