package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// trustKey is the key that sets Settings.TrustNamespaces, read in the system namespace alone. The
// default is the behavior of the published versions: a user who may write ConfigMaps or
// VariantAutoscalings of a namespace decides how important its models are, and whether quotas bound
// them.
const trustKey = "WVA_TRUST_NAMESPACES"

// trusts reports whether namespaces set priority and limited mode for their own models.
func (s *Snapshot) trusts() bool { return s.Settings().TrustNamespaces }

// limitedBySystem reports whether the inventory bounds a model, by the entries of the system
// namespace for all models and for the model's namespace. It ignores entries for a model ID alone:
// any user may give a model that ID.
func (s *Snapshot) limitedBySystem(scope Scope) bool {
	limited := s.Settings().LimitedMode
	for _, e := range s.system.policies.chain(scope) {
		if v, ok := e.Fields[limiterKey].(bool); ok && (e.Scope.Model == "" || e.Scope.Namespace != "") {
			limited = v
		}
	}
	return limited
}

// granted returns the priority that classes give the namespace of a model: that of the most
// important class that refs name and that has a row of the namespace; else that of the first row of
// the namespace; else that of the row for all models; else the lowest. A row of a model ID alone,
// or the name of a class, grants none.
func (c classes) granted(m scaling.ModelKey, refs []ClassRef) int {
	of := func(k class) int {
		o := Objective{Priority: lowestPriority}
		applyFields(classFields(), &o, k.Fields)
		return o.Priority
	}
	best := 0
	for _, ref := range refs {
		k, _ := c.byKey(ref.Key)
		if slices.ContainsFunc(k.Rows, func(r classRow) bool {
			return r.Scope == Scope{Namespace: m.Namespace, Model: m.ID} || r.Scope == Scope{Namespace: m.Namespace, Model: DefaultModel}
		}) && (best == 0 || of(k) < best) {
			best = of(k)
		}
	}
	if best > 0 {
		return best
	}
	for _, at := range lookedFor(m) {
		if where, ok := c.Where[at.Scope]; ok && at.Level != LevelModel {
			return of(c.Classes[where.Class])
		}
	}
	return lowestPriority
}

// notTrusted returns a finding for each ConfigMap of a namespace with a field that is ignored
// because the namespace is not trusted.
func (s *Snapshot) notTrusted(of map[Kind][]Source, namespace string) []Finding {
	if s.trusts() {
		return nil
	}
	local := s.layers[namespace]
	said := map[Kind]string{} // the first field that is ignored
	if _, ok := local.settings["WVA_LIMITED_MODE"]; ok {
		said[KindSettings] = "WVA_LIMITED_MODE"
	}
	for _, k := range local.classes.Classes {
		if _, ok := k.Fields["priority"]; ok {
			said[KindServiceClasses] = cmp.Or(said[KindServiceClasses], k.Key+", priority")
		}
	}
	keys := map[string]bool{}
	for _, e := range local.policies {
		if _, ok := e.Fields[limiterKey]; ok {
			keys[e.Key] = true
		}
	}
	if len(keys) > 0 {
		said[KindSaturation] = slices.Min(slices.Collect(maps.Keys(keys))) + ", " + limiterKey
	}
	var out []Finding
	for _, kind := range Kinds() {
		if field, ok := said[kind]; ok {
			m, _ := s.names.choose(kind, of[kind])
			out = append(out, Finding{
				Severity: Refused, Namespace: namespace, ConfigMap: m.Name, Key: shorten(field), Concerns: Scope{Namespace: namespace},
				Problem: "is not taken from a namespace while " + trustKey + " is false", Want: "it in the system namespace", InForce: "what the system namespace says",
			})
		}
	}
	return out
}
