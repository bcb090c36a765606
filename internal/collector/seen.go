package collector

import (
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// maxSeen bounds the list of models in Snapshot.SeenModels: it ends up in a
// condition's message.
const maxSeen = 10

// readSeen returns every model that a page names, sorted, whoever's pod it is.
func readSeen(samples []Sample) []scaling.ModelKey {
	seen := map[scaling.ModelKey]struct{}{}
	for _, s := range samples {
		if key := modelKey(s); key.ID != "" && s.Labels[query.LabelStat] == query.StatAt {
			seen[key] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), scaling.ModelKey.Compare)
}

// seenInstead returns what the source carries in place of a model that it does
// not: the model names of the namespace, else those of the cluster with their
// namespaces. Nil when it does carry the model.
func seenInstead(seen []scaling.ModelKey, model scaling.ModelKey) []string {
	if slices.Contains(seen, model) {
		return nil
	}
	var here, elsewhere []string
	for _, key := range seen {
		if key.Namespace == model.Namespace {
			here = append(here, key.ID)
		}
		elsewhere = append(elsewhere, key.String())
	}
	names := here
	if len(names) == 0 {
		names = elsewhere
	}
	return names[:min(len(names), maxSeen)]
}
