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
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// retryConflict is the time after which a status is written again whose object changed meanwhile:
// by then the cache has the change.
const retryConflict = 500 * time.Millisecond

// retryFirst and retryLongest bound how long an object waits after a failed write: each time twice
// as long as before. An API server that is down is not asked more often for each of a thousand
// objects. Once it is back, it has every status within retryLongest.
const retryFirst, retryLongest = time.Second, 15 * time.Second

// Ledger remembers decisions.
type Ledger interface {
	// Explain returns what is known of the last decision of a variant, and false
	// when no cycle has seen it.
	Explain(key scaling.VariantKey) (explain.Explanation, bool)
	// Latest returns the record of the last cycle, and false before the first.
	Latest() (memory.Record, bool)
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

// Scalers knows what sets the replicas of targets, and what comes of it.
type Scalers interface {
	// Scalers returns the known scalers of the target of a variant.
	Scalers(key scaling.VariantKey) scaling.Scalers
	// PodFailure returns why pods of the target of a variant are not created, the zero value where
	// no controller reports a failure.
	PodFailure(key scaling.VariantKey) scaling.Trouble
	// GracePeriod returns how long a pod of the target of a variant may take to end, 0 where that
	// is unknown.
	GracePeriod(key scaling.VariantKey) time.Duration
}

// Gauge exports whether decisions are carried out.
type Gauge interface {
	// Following exports whether the decision for a variant is carried out, and the next one would
	// be, with the reason of the condition ScalerFollowing. The reason "" means unknown and ends
	// the export.
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
	// WriteStatus writes the status of va and reads the stored status back into va. It returns
	// Conflict when the object has changed since va was read.
	WriteStatus(ctx context.Context, va *v1alpha1.VariantAutoscaling) error
}

// Status writes into each VariantAutoscaling what was decided for it, and reports changes as
// events. Several goroutines may use it at once, for different objects, if its parts allow that.
// The zero value is not usable; see NewStatus.
type Status struct {
	objects      Objects
	ledger       Ledger
	conflicts    Conflicts
	scalers      Scalers
	targetScaler TargetScaler
	configured   Configured
	classes      Classes
	events       events.EventRecorder
	limits       lastReported[scaling.Reason] // what limits their replicas
	costs        lastReported[string]         // that their costs are not comparable, in words
	graces       lastReported[time.Duration]  // grace periods shorter than their requests take
	refused      lastReported[bool]           // whether the API server forbids their status
	dropped      lastReported[bool]           // whether an older definition drops parts of it
	alone        lastReported[bool]           // whether their namespace is left alone
	sighted      firstSeen                    // since when their scalers are in trouble
	gauge        Gauge
	allotted     Allotted
	budget       budget.Limits
	over         *budget.LeftOut
	left         lastReported[budget.What] // the limit for which they are left out
	overTold     map[budget.Key]bool       // reported: its pages are left out; used by afterCycles alone
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
	// Budget is the budget of each namespace. Over knows what of each namespace is left out.
	Budget budget.Limits
	Over   *budget.LeftOut
}

// NewStatus returns a Status.
func NewStatus(o StatusOptions) *Status {
	return &Status{
		objects: o.Objects, ledger: o.Ledger, conflicts: o.Conflicts, scalers: o.Scalers, targetScaler: o.TargetScaler, configured: o.Configured, classes: o.Classes, events: o.Events, gauge: o.Gauge,
		allotted: o.Allotted, budget: o.Budget, over: o.Over,
	}
}

// SetupWithManager makes mgr reconcile every VariantAutoscaling after each cycle, while it leads.
func (s *Status) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("variantstatus").
		WithOptions(controller.Options{RateLimiter: retries(), MaxConcurrentReconciles: statusWriters}).
		WatchesRawSource(source.Func(s.afterCycles)).Complete(s)
	if err != nil {
		return fmt.Errorf("setting up the status controller: %w", err)
	}
	return nil
}

// statusWriters is how many statuses are written at once. Where the API server takes half a second
// for each, the twentieth change of a cycle is written within two seconds instead of ten.
const statusWriters = 8

// retries returns the limiter that says when an object is tried again.
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

// export exports the condition ScalerFollowing of a status; as unknown where the status is not of
// this cycle (known is false) or the condition is Unknown.
func (s *Status) export(key scaling.VariantKey, is v1alpha1.VariantAutoscalingStatus, known bool) {
	c := meta.FindStatusCondition(is.Conditions, string(v1alpha1.ConditionScalerFollowing))
	if !known || c == nil || c.Status == metav1.ConditionUnknown {
		s.gauge.Following(key, false, "")
		return
	}
	s.gauge.Following(key, c.Status == metav1.ConditionTrue, scaling.Reason(c.Reason))
}

// tellRefusal reports by an event, when it begins, that the API server forbids writing the status
// of an object: the status itself cannot say so.
func (s *Status) tellRefusal(va *v1alpha1.VariantAutoscaling, v view, err error) {
	refused := apierrors.IsForbidden(err)
	if s.refused.begins(keyOf(va), refused) && refused {
		note := fmt.Sprintf("the status is not written and is that of an earlier cycle: %v", err)
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventStatusNotWritten, "WriteStatus", "%s", explain.Noted(note, v.cycle))
	}
}

// tellOlder reports, when it begins, that the definition in the cluster dropped a part of the
// status that was written. va holds the answer of the API server, is the status that was sent.
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

// tellAlone reports for each object of an excluded namespace, when that begins, why it is not
// served.
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

// view collects what is known of a variant; it is empty before the first cycle.
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

// queue holds the objects that wait to be reconciled.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// afterCycles enqueues every object after each cycle, when the configuration of variants changes,
// and when the outcome of setting replicas changes, until ctx ends. Notices that arrive meanwhile
// count as one.
func (s *Status) afterCycles(ctx context.Context, q queue) error {
	recorded, configured, acted := s.ledger.Watch(), s.configured.Watch(), s.targetScaler.Watch()
	go func() {
		s.enqueue(ctx, q) // a cycle may have been recorded before the watch began
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
		if q.NumRequeues(req) == 0 { // else its back-off brings it; a cycle does not hasten it
			q.Add(req)
		}
	}
}
