package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Unserved returns a finding for each entry of KindScaleToZero that is for a model
// which is not among those served: it has no effect, mostly because its modelID is
// not what the variants say. It is Doubtful, for the variants may come later.
// Ordered by namespace, ConfigMap and key.
func (s *Snapshot) Unserved(served []scaling.ModelKey) []Finding {
	var out []Finding
	add := func(z zeros, local string) {
		for scope, e := range z {
			if scope.Model == "" {
				continue // the defaults
			}
			scope.Namespace = cmp.Or(scope.Namespace, local)
			if found, ok := unserved(scope, e, served); ok {
				out = append(out, found)
			}
		}
	}
	add(s.system.zeros, "")
	for namespace, l := range s.layers {
		add(l.zeros, namespace)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ConfigMap, b.ConfigMap), strings.Compare(a.Key, b.Key))
	})
	return out
}

// unserved returns the finding about one entry, if there is one.
func unserved(scope Scope, e zeroEntry, served []scaling.ModelKey) (Finding, bool) {
	var names []string // that are served where the entry holds
	for _, m := range served {
		if scope.Namespace != "" && scope.Namespace != m.Namespace {
			continue
		}
		if m.ID == scope.Model {
			return Finding{}, false
		}
		names = append(names, m.ID)
	}
	problem := "is served by no VariantAutoscaling"
	if scope.Namespace != "" {
		problem += " of namespace " + shorten(scope.Namespace)
	}
	slices.Sort(names)
	return Finding{
		Severity: Doubtful, Namespace: e.Namespace, ConfigMap: e.ConfigMap, Key: shorten(e.Key), Field: "modelID", Value: shorten(scope.Model),
		Problem: problem, Nearest: spelling.Nearest(scope.Model, slices.Compact(names)), InForce: "nothing of it until one does", Concerns: scope,
	}, true
}
