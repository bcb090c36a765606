package config

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

// Within returns the first limit findings of each namespace in their order, and after them one for
// each namespace that has more, which counts the others. left is that count by namespace.
func Within(limit int, all []Finding) (told []Finding, left map[string]int) {
	counts, left := map[string]int{}, map[string]int{}
	first := map[string]Finding{} // the first that is left out, by namespace
	for _, f := range all {
		if counts[f.Namespace]++; counts[f.Namespace] > limit {
			if left[f.Namespace]++; left[f.Namespace] == 1 {
				first[f.Namespace] = f
			}
			continue
		}
		told = append(told, f)
	}
	for _, f := range all { // in the order in which the namespaces appear
		if of, ok := first[f.Namespace]; ok {
			told = append(told, Finding{
				Severity: Doubtful, Namespace: of.Namespace, ConfigMap: of.ConfigMap, Concerns: Scope{Namespace: of.Namespace},
				Problem: fmt.Sprintf("%d more findings about ConfigMaps of the namespace are not listed (%s)", left[of.Namespace], budget.Findings.Setting()),
			})
			delete(first, f.Namespace)
		}
	}
	return told, left
}
