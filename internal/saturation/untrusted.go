package saturation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// unsure reports whether a replica counts as full for a reduction: a reading of its load is not
// Fresh.
func unsure(s scaling.ReplicaSample) bool {
	return s.KVCacheUsage.State != scaling.Fresh || s.QueueLength.State != scaling.Fresh
}

// doubtful returns the pods that are unsure, in the order of the samples.
func doubtful(samples []scaling.ReplicaSample) []string {
	var pods []string
	for _, s := range samples {
		if unsure(s) {
			pods = append(pods, s.Pod)
		}
	}
	return pods
}

// countedAsFull says why doubtful pods prevent a reduction.
func countedAsFull(pods []string) string {
	return fmt.Sprintf("the load would not fit if %s, without fresh readings, is full", names(pods))
}

// silentPods returns the Ready pods that report nothing, sorted.
func silentPods(samples []scaling.ReplicaSample) []string {
	var pods []string
	for _, s := range samples {
		if s.Ready && !s.Reports() {
			pods = append(pods, s.Pod)
		}
	}
	slices.Sort(pods)
	return pods
}

// silence says why no load is known.
func silence(snap scaling.Snapshot, pods scaling.Replicas) string {
	switch {
	case snap.Fault != "":
		return snap.Fault
	case pods == 0:
		return "no replica runs"
	}
	return fmt.Sprintf("none of %s reports", pods.Text())
}

// namedAtMost is the largest number of pods that a sentence names.
const namedAtMost = 3

// names joins pod names.
func names(pods []string) string {
	return scaling.FirstOf(pods, namedAtMost, func(pod string) string { return pod })
}

// stuck returns the end of a sentence that names the pods which hold requests and make no progress,
// "" where there are none.
func stuck(snap scaling.Snapshot, samples []scaling.ReplicaSample) string {
	var clauses []string
	for _, s := range samples {
		if s.Stuck != "" {
			clauses = append(clauses, fmt.Sprintf("; pod %s holds %.0f requests and nothing has moved for %s: %s",
				s.Pod, s.Held, query.Duration(query.StuckSpan(snap.Window)), s.Stuck))
		}
	}
	if more := len(clauses) - namedAtMost; more > 0 {
		clauses = append(clauses[:namedAtMost], fmt.Sprintf("; and %d more", more))
	}
	return strings.Join(clauses, "")
}
