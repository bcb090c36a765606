package metrics

import (
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The names under which earlier versions exported the decision series.
const (
	legacyDesiredReplicas = "inferno_desired_replicas"
	legacyCurrentReplicas = "inferno_current_replicas"
	legacyDesiredRatio    = "inferno_desired_ratio"
	legacyReplicaScaling  = "inferno_replica_scaling_total"
	legacyCurrentLoad     = "inferno_current_load"
	// legacyTargetConflicts is a gauge despite its suffix.
	legacyTargetConflicts = "wva_deployment_target_conflicts_total"
)

// legacyKind is the only kind of target of earlier versions.
const legacyKind = "Deployment"

// legacyInstruments returns the instruments of earlier versions, with their labels of that time, so
// that dashboards and autoscalers built on them still work.
func legacyInstruments() []Instrument {
	variant := []string{LabelVariant, LabelVariantID, LabelNamespace, LabelAccelerator}
	return []Instrument{
		{legacyDesiredReplicas, Gauge, "replicas", variant, "Older name of " + DesiredReplicas + "."},
		{legacyCurrentReplicas, Gauge, "replicas", variant, "Older name of " + CurrentReplicas + "."},
		{legacyDesiredRatio, Gauge, "ratio", variant, "Older name of " + DesiredRatio + "."},
		{
			legacyReplicaScaling, Counter, "",
			[]string{LabelVariant, LabelVariantID, LabelNamespace, LabelDirection, LabelReason},
			"Older name of " + ReplicaScaling + ".",
		},
		{
			legacyCurrentLoad, Gauge, "",
			[]string{LabelVariant, LabelVariantID, LabelNamespace, LabelModel, LabelQuantity},
			"Older name of " + CurrentLoad + ", which was documented before any version exported it.",
		},
		{
			legacyTargetConflicts, Gauge, "",
			[]string{LabelDeployment, LabelNamespace},
			"Older name of " + TargetConflicts + ", for Deployments. It is a gauge, whatever its suffix says.",
		},
	}
}

// legacyReplicas adds the current replicas of the variant and, where there is one, the decision
// under their older names.
func (p *press) legacyReplicas(v scaling.Variant, d scaling.Decision, decided bool) {
	if !p.opts.LegacyNames {
		return
	}
	labels := []string{Label(v.Key.Name), Label(v.ID), Label(v.Key.Namespace), Label(v.Accelerator)}
	if v.Replicas.Observed {
		p.add(v.Key, legacyCurrentReplicas, float64(v.Replicas.Current), labels...)
	}
	if !decided || v.Advisory {
		return
	}
	p.add(v.Key, legacyDesiredReplicas, float64(d.Target()), labels...)
	if v.Replicas.Observed {
		p.add(v.Key, legacyDesiredRatio, Ratio(d.Target(), v.Replicas.Current), labels...)
	}
}

// legacyCount adds the changes of the decision under their older name.
func (p *press) legacyCount(v scaling.Variant, t tally) {
	if !p.opts.LegacyNames {
		return
	}
	for _, c := range slices.SortedFunc(maps.Keys(t.changes), change.compare) {
		p.add(v.Key, legacyReplicaScaling, t.changes[c], Label(v.Key.Name), Label(v.ID), Label(v.Key.Namespace), c.direction, Label(string(c.reason)))
	}
}

// legacyLoad adds one quantity of a model's load under its older name.
func (p *press) legacyLoad(v scaling.Variant, quantity string, value float64) {
	if p.opts.LegacyNames {
		p.add(v.Key, legacyCurrentLoad, value, Label(v.Key.Name), Label(v.ID), Label(v.Key.Namespace), Label(v.Model.ID), quantity)
	}
}

// legacyConflict adds the size of a conflict over a Deployment under its older name, which has no
// label for another kind.
func (p *press) legacyConflict(c scaling.Conflict) {
	if p.opts.LegacyNames && c.Target.Kind == legacyKind {
		winner := c.Contenders[0]
		p.add(winner, legacyTargetConflicts, float64(len(c.Contenders)), Label(c.Target.Name), Label(winner.Namespace))
	}
}
