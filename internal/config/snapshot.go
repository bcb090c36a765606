package config

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
)

// layer holds the accepted content of the ConfigMaps of one namespace. It does not change once it
// is made.
type layer struct {
	settings values
	policies policies
	zeros    zeros
	costs    unitCosts
	classes  classes
	quotas   quotas // of the system namespace only
	schedule schedule.Schedule
}

// plain returns the layer with nil in place of empty fields, so that layers with the same content
// are equal.
func (l layer) plain() layer {
	var out layer
	if len(l.settings) > 0 {
		out.settings = l.settings
	}
	if len(l.policies) > 0 {
		out.policies = l.policies
	}
	if len(l.zeros) > 0 {
		out.zeros = l.zeros
	}
	if len(l.costs) > 0 {
		out.costs = l.costs
	}
	if len(l.classes.Classes) > 0 {
		out.classes = l.classes
	}
	if len(l.quotas.Namespaces)+len(l.quotas.Exclude) > 0 || l.quotas.Default != nil {
		out.quotas = l.quotas
	}
	if len(l.schedule) > 0 {
		out.schedule = l.schedule
	}
	return out
}

// Snapshot is the configuration from ConfigMaps at one time. It never changes, and is safe for
// concurrent use.
type Snapshot struct {
	names    Names
	reader   *settingsReader
	policy   policyReader
	system   layer
	layers   map[string]layer // of other namespaces
	findings []Finding
}

// local returns the layer of a namespace, which lies over that of the system; empty if there is
// none.
func (s *Snapshot) local(namespace string) layer { return s.layers[namespace] }

// Settings returns the settings of the manager.
func (s *Snapshot) Settings() Settings { return s.reader.settings(s.system.settings).clone() }

// Policy returns the settings of the decisions about a model. From the lowest layer they are:
// defaults, the entry default, the entries for its namespace, for its ID, for both; then the same
// of the ConfigMap in its own namespace. Its objective is that of the classes that refs name; see
// Objective.
func (s *Snapshot) Policy(m scaling.ModelKey, refs ...ClassRef) ModelSettings {
	p, _ := s.resolvePolicy(m)
	p.Objective, _ = s.Objective(m, refs...) // the zero Objective means the same as the error
	return p.withEngine()
}

// resolvePolicy returns the settings without objective and engine, and the entries that were
// skipped because they contradict others.
func (s *Snapshot) resolvePolicy(m scaling.ModelKey) (p ModelSettings, passed []policyEntry) {
	local := s.local(m.Namespace)
	settings := s.reader.settings(s.system.settings, local.settings)
	scope := Scope{Namespace: m.Namespace, Model: m.ID}
	p = s.policy.defaults
	p.Limited = settings.LimitedMode
	p, passed = s.policy.resolve(p, scope, s.system.policies, local.policies)
	if !s.trusts() {
		p.Limited = s.limitedBySystem(scope)
	}
	p.Model, p.ShareProfiles = m, settings.ShareProfiles
	p.ScaleToZero = ScaleToZero{Enabled: settings.ScaleToZero, Retention: defaultRetention}
	p.ScaleToZero = s.system.zeros.resolve(p.ScaleToZero, scope)
	p.ScaleToZero = local.zeros.resolve(p.ScaleToZero, scope)
	return p, passed
}

// UnitCost returns the unit cost of an accelerator, looked up by its type or else by the product
// name of its device, and whether there is one.
func (s *Snapshot) UnitCost(namespace, accelerator string) (UnitCost, bool) {
	return unitCostOf(accelerator, s.system.costs, s.local(namespace).costs)
}

// Quota returns how many accelerators of a type a namespace may use, or
// Unlimited.
func (s *Snapshot) Quota(namespace, accelerator string) int {
	return s.system.quotas.of(namespace, accelerator)
}

// Findings returns the findings about the ConfigMaps, ordered by namespace and name.
func (s *Snapshot) Findings() []Finding { return slices.Clone(s.findings) }

// FindingsFor returns the findings about entries that concern the variants of a
// model on an accelerator, "" for any.
func (s *Snapshot) FindingsFor(m scaling.ModelKey, accelerator string) []Finding {
	scope := Scope{Namespace: m.Namespace, Model: m.ID, Accelerator: accelerator}
	var out []Finding
	for _, f := range s.findings {
		if f.Concerns.Overlaps(scope) {
			out = append(out, f)
		}
	}
	_, passed := s.resolvePolicy(m)
	for _, e := range passed {
		out = append(out, Finding{
			Severity: Refused, Namespace: e.Namespace, ConfigMap: e.ConfigMap, Key: shorten(e.Key), Concerns: scope, InForce: "what it inherits",
			Problem: "contradicts what else holds for the model",
		})
	}
	return out
}
