package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// policies looks up the settings of a model in the ConfigMaps and in the service classes that its
// variants name.
type policies struct {
	store   *config.Store
	classes func(scaling.ModelKey) []config.ClassRef
}

// of returns the complete settings of a model.
func (p policies) of(m scaling.ModelKey) config.ModelSettings {
	return p.store.Snapshot().Policy(m, p.classes(m)...)
}

// decides returns the settings by which a cycle decides on a model.
func (p policies) decides(m scaling.ModelKey) settings.Model { return p.of(m).Resolved() }

// quotas returns the accelerators that namespaces may use.
func (p policies) quotas(variants []scaling.Variant) []scaling.Quota {
	return p.store.Snapshot().Quotas(variants)
}

// schedule returns the freeze windows.
func (p policies) schedule() schedule.Schedule { return p.store.Snapshot().Schedule() }

// retention returns for how long a model must be without a request until its replicas change.
func (p policies) retention(m scaling.ModelKey) time.Duration { return p.of(m).ScaleToZero.Retention }

// hasObjective reports whether a model has a latency objective.
func (p policies) hasObjective(m scaling.ModelKey) bool {
	o, err := p.store.Snapshot().Objective(m, p.classes(m)...)
	return err == nil && o.Known()
}

// objective returns the objective of a model.
func (p policies) objective(m scaling.ModelKey) scaling.Objective { return p.decides(m).Objective }

// explaining adds settings, scalers and start-ups to the decisions of the ledger.
type explaining struct {
	policies policies
	scalers  func(scaling.VariantKey) scaling.Scalers
	startUps func(model scaling.ModelKey, variant string) memory.StartUps
	objects  client.Reader // a cache
}

var _ web.Surroundings = (*explaining)(nil)

// newExplaining returns the explaining of the fleet.
func newExplaining(c common) *explaining {
	return &explaining{policies: c.policies, scalers: c.fleet.Scalers, startUps: c.fleet.StartUps, objects: c.served}
}

// Objective returns the objective of a model.
func (e *explaining) Objective(m scaling.ModelKey) explain.Objective {
	p := e.policies.of(m)
	o := explain.Objective{
		Objective: p.Resolved().Objective,
		Row:       string(p.Objective.Level), Unfollowed: p.Objective.Unfollowed,
	}
	if o.Set() {
		o.TTFTPercentile, o.ITLPercentile = p.TTFTPercentile, p.ITLPercentile
	}
	return o
}

// StartUps returns how long pods of a variant take to start.
func (e *explaining) StartUps(model scaling.ModelKey, variant string) explain.StartUps {
	return explain.StartUpsOf(e.startUps(model, variant))
}

// Actuation returns the scaler that carries out the decision of a variant. It leaves out a
// condition that it cannot read.
func (e *explaining) Actuation(ctx context.Context, key scaling.VariantKey) explain.Actuation {
	out := explain.ActuationBy(e.scalers(key))
	var va v1alpha1.VariantAutoscaling
	if err := e.objects.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, &va); err != nil {
		return out
	}
	if c := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionScalerFollowing)); c != nil {
		out.Reason, out.Message = c.Reason, c.Message
	}
	return out
}
