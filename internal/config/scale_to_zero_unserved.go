package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// mostUnserved bounds the findings of one ConfigMap about models that are not served: each is an
// event, and one mistake usually affects all entries.
const mostUnserved = 10

// Unserved returns findings for entries of KindScaleToZero whose model is not among those served.
// Such entries have no effect, mostly because their modelID differs from that of the variants. The
// findings are Doubtful, because the variants may come later. Each ConfigMap has the first ten, and
// one that counts the others. They are ordered by namespace, ConfigMap and key.
func (s *Snapshot) Unserved(served []scaling.ModelKey) []Finding {
	models := modelsOf(served)
	out := unserved(s.system.zeros, "", models)
	for namespace, l := range s.layers {
		out = append(out, unserved(l.zeros, namespace, models)...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ConfigMap, b.ConfigMap))
	})
	return out
}

// models are the sorted IDs of the models that are served in each namespace, under "" those of all
// namespaces.
type models map[string][]string

func modelsOf(served []scaling.ModelKey) models {
	out := models{}
	for _, m := range served {
		out[m.Namespace] = append(out[m.Namespace], m.ID)
		out[""] = append(out[""], m.ID)
	}
	for namespace, ids := range out {
		slices.Sort(ids)
		out[namespace] = slices.Compact(ids)
	}
	return out
}

// unserved returns the findings about the entries of one ConfigMap. They are for the models of the
// namespace local, "" for all.
func unserved(z zeros, local string, served models) []Finding {
	type entry struct {
		zeroEntry
		scope Scope
	}
	var found []entry
	for scope, e := range z {
		if scope.Model == "" {
			continue // the defaults
		}
		scope.Namespace = cmp.Or(scope.Namespace, local)
		if _, ok := slices.BinarySearch(served[scope.Namespace], scope.Model); !ok {
			found = append(found, entry{e, scope})
		}
	}
	slices.SortFunc(found, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.scope.Model, b.scope.Model), strings.Compare(a.scope.Namespace, b.scope.Namespace))
	})
	var out []Finding
	for _, e := range found[:min(len(found), mostUnserved)] {
		problem := "is served by no VariantAutoscaling"
		if e.scope.Namespace != "" {
			problem += " of namespace " + shorten(e.scope.Namespace)
		}
		out = append(out, Finding{
			Severity: Doubtful, Namespace: e.Namespace, ConfigMap: e.ConfigMap, Key: shorten(e.Key), Field: "modelID", Value: shorten(e.scope.Model), Problem: problem,
			Nearest: spelling.Nearest(e.scope.Model, served[e.scope.Namespace]), InForce: "nothing of it until one does", Concerns: e.scope,
		})
	}
	if more := len(found) - mostUnserved; more > 0 {
		out = append(out, Finding{
			Severity: Doubtful, Namespace: found[0].Namespace, ConfigMap: found[0].ConfigMap, Concerns: Scope{Namespace: local},
			Problem: fmt.Sprintf("%d more entries are for models that no VariantAutoscaling serves", more),
		})
	}
	return out
}
