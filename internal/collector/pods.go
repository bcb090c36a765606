package collector

import (
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// podKey identifies a pod.
type podKey struct{ namespace, name string }

// podIndex finds the live pods of a fleet.
type podIndex struct {
	pods    []scaling.Pod      // pods whose variant is in the fleet
	models  []scaling.ModelKey // of each pod
	settled []time.Time        // when the newest replica of each pod's variant became Ready; zero if unknown
	byKey   map[podKey]int
	byModel map[scaling.ModelKey][]int
}

// indexPods returns the index of the fleet.
func indexPods(fleet scaling.Fleet) podIndex {
	variants := make(map[scaling.VariantKey]*scaling.Variant, len(fleet.Variants))
	for i := range fleet.Variants {
		variants[fleet.Variants[i].Key] = &fleet.Variants[i]
	}
	x := podIndex{
		pods:    make([]scaling.Pod, 0, len(fleet.Pods)),
		models:  make([]scaling.ModelKey, 0, len(fleet.Pods)),
		settled: make([]time.Time, 0, len(fleet.Pods)),
		byKey:   make(map[podKey]int, len(fleet.Pods)),
		byModel: make(map[scaling.ModelKey][]int, len(fleet.Variants)),
	}
	for _, p := range fleet.Pods {
		variant := variants[p.Variant]
		if variant == nil {
			continue
		}
		model := variant.Model
		i := len(x.pods)
		x.pods = append(x.pods, p)
		x.models = append(x.models, model)
		x.settled = append(x.settled, variant.Replicas.NewestReady)
		x.byKey[podKey{p.Namespace, p.Name}] = i
		x.byModel[model] = append(x.byModel[model], i)
	}
	return x
}

// pod returns the position of the pod that a row names, as written or with the suffix of a rank. It
// reports false for a pod that is not in the fleet.
func (x podIndex) pod(row query.Row) (int, bool) {
	i, ok := x.byKey[podKey{row.Namespace, row.Pod}]
	if !ok {
		name, _ := cutRank(row.Pod)
		i, ok = x.byKey[podKey{row.Namespace, name}]
	}
	return i, ok
}

// rankMark begins the suffix "-rank-N" that some scrape configurations append to a pod's name for
// each engine rank.
const rankMark = "-rank-"

// cutRank splits the rank off a pod's name; rank is "" where there is none.
func cutRank(name string) (pod, rank string) {
	at := strings.LastIndex(name, rankMark)
	if at < 0 {
		return name, ""
	}
	digits := name[at+len(rankMark):]
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return name, ""
	}
	return name[:at], digits
}
