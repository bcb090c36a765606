package config

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

// Within returns the first findings of each namespace, at most limit of them, in their
// order, each time followed by one that counts the others; and how many those are, of
// the namespaces that have more.
func Within(limit int, all []Finding) (told []Finding, left map[string]int) {
	counts, left := map[string]int{}, map[string]int{}
	first := map[string]Finding{} // that is left out
	for _, f := range all {
		if counts[f.Namespace]++; counts[f.Namespace] > limit {
			if left[f.Namespace]++; left[f.Namespace] == 1 {
				first[f.Namespace] = f
			}
			continue
		}
		told = append(told, f)
	}
	for _, f := range all { // in the order of the namespaces
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
