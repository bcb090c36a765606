package collector

import (
	"cmp"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// podKey identifies a pod.
type podKey struct{ namespace, name string }

// podIndex finds the live pods of the fleet by the labels of a sample. A column
// holds one number per pod, in the order of pods.
type podIndex struct {
	pods    []scaling.Pod      // those whose variant is in the fleet
	models  []scaling.ModelKey // of each pod
	byKey   map[podKey]int
	byModel map[scaling.ModelKey][]int
}

// indexPods returns the index of the fleet.
func indexPods(fleet scaling.Fleet) podIndex {
	modelOf := make(map[scaling.VariantKey]scaling.ModelKey, len(fleet.Variants))
	for _, v := range fleet.Variants {
		modelOf[v.Key] = v.Model
	}
	x := podIndex{
		byKey:   make(map[podKey]int, len(fleet.Pods)),
		byModel: make(map[scaling.ModelKey][]int),
	}
	for _, p := range fleet.Pods {
		model, ok := modelOf[p.Variant]
		if !ok {
			continue
		}
		i := len(x.pods)
		x.pods = append(x.pods, p)
		x.models = append(x.models, model)
		x.byKey[podKey{p.Namespace, p.Name}] = i
		x.byModel[model] = append(x.byModel[model], i)
	}
	return x
}

// pod returns the position of the pod that labels speak of, and the rank within
// it where the pod's name carries one. A pod that is not in the fleet is not
// found.
func (x podIndex) pod(labels map[string]string) (i int, rank string, ok bool) {
	name := cmp.Or(labels[query.LabelPod], labels[query.LabelPodName])
	key := podKey{labels[query.LabelNamespace], name}
	i, ok = x.byKey[key]
	if !ok {
		key.name, rank = cutRank(name)
		i, ok = x.byKey[key]
	}
	return i, rank, ok
}

// serves reports whether labels name the model that the i-th pod is there for.
func (x podIndex) serves(i int, labels map[string]string) bool {
	return labels[query.LabelModel] == x.models[i].ID
}

// cutRank splits the suffix "-rank-N" off a pod's name, which some scrape
// configurations append for each engine rank.
func cutRank(name string) (pod, rank string) {
	const mark = "-rank-"
	at := strings.LastIndex(name, mark)
	if at < 0 {
		return name, ""
	}
	digits := name[at+len(mark):]
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return name, ""
	}
	return name[:at], digits
}
