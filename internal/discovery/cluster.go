package discovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Cluster reads the fleet. The zero value is not usable; see New. It is safe for concurrent use.
type Cluster struct {
	// UnitCost is the price list of accelerators, nil when there is none. Set it
	// before the first use.
	UnitCost UnitCost
	// Limits is the budget of each namespace. Left receives the objects beyond it; nil ignores
	// them. Set both before the first use.
	Limits budget.Limits
	Left   *budget.LeftOut
	// Advisory reports whether all decisions are advice; nil means only those of models that ask
	// for it. Set it before the first use.
	Advisory func() bool
	// By reads the scalers of the targets, and LeaderWorkerSets; with nil both stay unknown. Set it
	// before the first use.
	By *scalers.Reader

	reader     client.Reader
	scales     *scaleReads
	groups     leaderWorkerSets
	contenders atomic.Pointer[map[scaling.VariantKey][]scaling.VariantKey]
	classes    atomic.Pointer[map[scaling.ModelKey][]config.ClassRef]
	remarks    remarks
	scalers    atomic.Pointer[map[scaling.VariantKey]scaling.Scalers]
	failures   atomic.Pointer[map[scaling.VariantKey]scaling.Trouble]
	graces     atomic.Pointer[map[scaling.VariantKey]time.Duration]
	startUps   startUps
	left       atomic.Pointer[map[budget.Key]budget.What]
}

var _ cycle.Cluster = (*Cluster)(nil)

// New returns a Cluster that reads objects from reader, the cache of a manager built with
// CacheOptions, and the replicas of kinds without an informer from scales.
func New(reader client.Reader, scales Scales) *Cluster {
	return &Cluster{reader: reader, scales: newScaleReads(scales)}
}

// Fleet returns every variant that is not being deleted, is within the budget of its namespace and
// may scale its target, with the live pods of its target. A variant whose target cannot be read has
// Missing set, and Gone where the target does not exist. The logger of ctx gets each remark on an
// object once.
//
// Fleet waits two seconds at most for all targets without an informer together. After one of them
// did not answer, it does not wait for those of the same namespace for ten minutes. An error means
// that nothing is known.
func (c *Cluster) Fleet(ctx context.Context, now time.Time) (scaling.Fleet, error) {
	var list v1alpha1.VariantAutoscalingList
	if err := c.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return scaling.Fleet{}, fmt.Errorf("listing VariantAutoscalings: %w", err)
	}
	vas := c.admit(list.Items)
	if log, err := logr.FromContext(ctx); err == nil {
		c.remarks.say(log, vas)
	}
	winners, contenders := arbitrate(vas)
	scales := c.scales.read(ctx, winners, now)
	workloads, err := c.readWorkloads(ctx, winners)
	if err != nil {
		return scaling.Fleet{}, err
	}

	fleet := scaling.Fleet{At: now, Variants: make([]scaling.Variant, 0, len(winners)), Conflicts: conflictsOf(winners, contenders)}
	claims := claims{}
	classes := map[scaling.ModelKey][]config.ClassRef{}
	failures := map[scaling.VariantKey]scaling.Trouble{}
	graces := map[scaling.VariantKey]time.Duration{}
	targets := make([]target, 0, len(winners))
	for _, va := range winners {
		target := workloads[va.Namespace].target(refOf(va), scales[scaleTarget{va.Namespace, refOf(va)}])
		fleet.Variants, targets = append(fleet.Variants, resolve(va, target, c.UnitCost)), append(targets, target)
		claims.add(keyOf(va), target)
		if target.failure.Reason != "" {
			failures[keyOf(va)] = target.failure
		}
		if grace := gracePeriod(target.pod); grace > 0 {
			graces[keyOf(va)] = grace
		}
		if ref := va.Spec.SLOClassRef; ref != nil {
			model := modelOf(va)
			classes[model] = append(classes[model], config.ClassRef{Name: ref.Name, Key: ref.Key})
		}
	}
	c.startUps.observe(fleet.Variants, targets, now)
	fleet.Pods = claims.pods()
	for _, namespace := range slices.Sorted(maps.Keys(workloads)) {
		fleet.Ending = append(fleet.Ending, workloads[namespace].ending...)
	}
	by := c.scaledBy(ctx, fleet.Variants, winners)
	holdIncomplete(fleet.Variants, winners, targets, workloads)
	c.contenders.Store(&contenders)
	c.classes.Store(&classes)
	c.scalers.Store(&by)
	c.failures.Store(&failures)
	c.graces.Store(&graces)
	return fleet, nil
}

// readWorkloads reads the workloads and pods of the namespaces of the variants.
func (c *Cluster) readWorkloads(ctx context.Context, vas []*v1alpha1.VariantAutoscaling) (map[string]workloads, error) {
	grouped := map[string]bool{} // the namespaces that have LeaderWorkerSets as targets
	for _, va := range vas {
		grouped[va.Namespace] = grouped[va.Namespace] || isGroupSet(refOf(va))
	}
	out := map[string]workloads{}
	for _, va := range vas {
		if _, ok := out[va.Namespace]; ok {
			continue
		}
		w, err := c.readNamespace(ctx, va.Namespace)
		if err != nil {
			return nil, err
		}
		if grouped[va.Namespace] {
			w.groups = c.groups.of(ctx, c.By, va.Namespace)
		}
		out[va.Namespace] = w
	}
	return out, nil
}

// scaledBy returns the scalers of the variants. It sets in each variant whether its decisions are
// advice, and how its scalers read them.
func (c *Cluster) scaledBy(ctx context.Context, variants []scaling.Variant, vas []*v1alpha1.VariantAutoscaling) map[scaling.VariantKey]scaling.Scalers {
	by := c.By.Of(ctx, variants)
	for _, va := range vas {
		of := by[keyOf(va)]
		of.Own, _ = scaling.ActuationOf(va.Annotations[v1alpha1.AnnotationActuation]) // the object's status reports an invalid value
		by[keyOf(va)] = of
	}
	scaling.Advise(variants, c.Advisory != nil && c.Advisory(), func(key scaling.VariantKey) bool { return by[key].Own == scaling.ActuationAdvisory })
	for i, v := range variants {
		of := by[v.Key]
		if v.Advisory {
			of.Own = scaling.ActuationAdvisory
			by[v.Key] = of
		}
		variants[i] = v.FollowedBy(of)
	}
	return by
}

// Contenders returns every variant that names the target of key, as of the last Fleet: first the
// one that scales the target, then the others by age. It returns nil where no other variant names
// the target, or the last Fleet did not see key.
func (c *Cluster) Contenders(key scaling.VariantKey) []scaling.VariantKey {
	contenders := c.contenders.Load()
	if contenders == nil {
		return nil
	}
	return slices.Clone((*contenders)[key])
}

// Scalers returns the scalers of the target of key, as of the last Fleet. The caller must not
// modify them. They are unknown for a variant that the last Fleet did not see.
func (c *Cluster) Scalers(key scaling.VariantKey) scaling.Scalers {
	scalers := c.scalers.Load()
	if scalers == nil {
		return scaling.Scalers{}
	}
	return (*scalers)[key]
}

// Followed returns variants, which are sorted by key, as the scalers of their targets read them
// now. All of them are advisory if the setting says so.
func (c *Cluster) Followed(ctx context.Context, variants []scaling.Variant) []scaling.Variant {
	by := c.By.Of(ctx, variants)
	all := c.Advisory != nil && c.Advisory()
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		v.Advisory = v.Advisory || all
		out[i] = v.FollowedBy(by[v.Key])
	}
	return out
}

// PodFailure returns why the controller of the target of key cannot create pods, in its own words,
// as of the last Fleet: a quota is exhausted, or a webhook refuses the pods. Only a Deployment
// reports that. Otherwise it returns the reason scaling.ImageNotPulled with the image that pods of
// the target wait for. The zero value means that neither is known.
func (c *Cluster) PodFailure(key scaling.VariantKey) scaling.Trouble {
	failures := c.failures.Load()
	if failures == nil {
		return scaling.Trouble{}
	}
	return (*failures)[key]
}

// GracePeriod returns how long a pod of the target of key may take to terminate, as of the last
// Fleet; 0 where that is unknown, as for kinds whose pod template is not read.
func (c *Cluster) GracePeriod(key scaling.VariantKey) time.Duration {
	graces := c.graces.Load()
	if graces == nil {
		return 0
	}
	return (*graces)[key]
}

// ClassRefs returns the service classes that the model's variants name, in the order of the
// variants' keys, as of the last Fleet. The caller must not modify them.
func (c *Cluster) ClassRefs(model scaling.ModelKey) []config.ClassRef {
	classes := c.classes.Load()
	if classes == nil {
		return nil
	}
	return (*classes)[model]
}

// modelOf returns the model that va serves.
func modelOf(va *v1alpha1.VariantAutoscaling) scaling.ModelKey {
	return scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID}
}

// keyOf returns the key of the variant that va describes.
func keyOf(va *v1alpha1.VariantAutoscaling) scaling.VariantKey {
	return scaling.VariantKey{Namespace: va.Namespace, Name: va.Name}
}

// refOf returns the target of va, with the defaults filled in.
func refOf(va *v1alpha1.VariantAutoscaling) scaling.TargetRef {
	return scaling.TargetRef(va.Target())
}
