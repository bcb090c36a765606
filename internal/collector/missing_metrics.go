package collector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// maxSeen limits the list of models in Snapshot.SeenModels: it ends up in a condition's message.
const maxSeen = 10

// pageFault is why a page joins no pod, the fault most worth reporting first.
type pageFault uint8

const (
	noPod pageFault = iota
	noNamespace
	noModel
	noLivePod
)

// stray is a page that names a model and belongs to none of its pods.
type stray struct {
	fault pageFault
	row   query.Row
}

// compare orders strays, the most worth reporting first.
func (s stray) compare(o stray) int {
	return cmp.Or(cmp.Compare(s.fault, o.fault), strings.Compare(s.row.Pod, o.row.Pod), strings.Compare(s.row.Job, o.row.Job), strings.Compare(s.row.Witness, o.row.Witness))
}

// absence records which models have pages, and whether these join live pods.
type absence struct {
	pods    podIndex
	byID    map[string][]scaling.ModelKey // the models of the fleet
	carried map[scaling.ModelKey]bool     // a page names the model
	joined  map[scaling.ModelKey]bool     // a page of a live pod names the model
	strays  map[scaling.ModelKey]stray    // the most worth reporting
}

// explainAbsence records, for every model without the page of a live pod, what the source has
// instead: pages of the model that join no pod, or the models that do have pages.
func explainAbsence(all builders, pods podIndex, pages []query.Row) {
	a := absence{
		pods: pods, byID: map[string][]scaling.ModelKey{}, carried: map[scaling.ModelKey]bool{},
		joined: map[scaling.ModelKey]bool{}, strays: map[scaling.ModelKey]stray{},
	}
	for model := range all {
		a.byID[model.ID] = append(a.byID[model.ID], model)
	}
	for _, row := range pages {
		a.read(row)
	}
	names := sortedModels(a.carried)
	for model, b := range all {
		if a.joined[model] {
			continue
		}
		if s, ok := a.strays[model]; ok {
			b.measurement.unjoined = sentence(s.String())
		}
		if !a.carried[model] {
			b.measurement.seen, b.measurement.elsewhere = seenInstead(names, model)
		}
	}
}

// read takes over one page. It may record models without a variant, which is harmless.
func (a *absence) read(row query.Row) {
	model := scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}
	a.carried[model] = true
	i, live := a.pods.pod(row)
	switch {
	case live && a.pods.models[i] == model:
		a.joined[model] = true
	case live && row.Model == "":
		a.note(a.pods.models[i], stray{noModel, row})
	case row.Namespace == "":
		for _, same := range a.byID[row.Model] {
			a.note(same, stray{noNamespace, row})
		}
	case row.Pod == "":
		a.note(model, stray{noPod, row})
	case len(a.pods.byModel[model]) > 0:
		a.note(model, stray{noLivePod, row})
	}
}

// note keeps the stray of a model that is most worth reporting.
func (a *absence) note(model scaling.ModelKey, s stray) {
	if before, ok := a.strays[model]; !ok || s.compare(before) < 0 {
		a.strays[model] = s
	}
}

// String says what a page lacks, with the labels that it has.
func (s stray) String() string {
	var labels []string
	podLabel := query.LabelPod
	if s.row.ByPodName {
		podLabel = query.LabelPodName
	}
	for _, l := range [][2]string{
		{query.LabelJob, s.row.Job},
		{query.LabelNamespace, s.row.Namespace},
		{podLabel, s.row.Pod},
		{query.LabelModel, s.row.Model},
	} {
		if l[1] != "" {
			labels = append(labels, fmt.Sprintf("%s=%q", l[0], l[1]))
		}
	}
	series := fmt.Sprintf("%s with {%s} exists but ", cmp.Or(s.row.Witness, "a page"), strings.Join(labels, ","))
	switch s.fault {
	case noPod:
		return series + "has no label " + query.LabelPod
	case noNamespace:
		return series + "has no label " + query.LabelNamespace
	case noModel:
		return series + "has no label " + query.LabelModel
	default:
		return series + "names pod " + s.row.Pod + ", which is none of the model's live pods"
	}
}

// sortedModels returns the models that have an ID, sorted.
func sortedModels(carried map[scaling.ModelKey]bool) []scaling.ModelKey {
	models := make([]scaling.ModelKey, 0, len(carried))
	for model := range carried {
		if model.ID != "" {
			models = append(models, model)
		}
	}
	slices.SortFunc(models, scaling.ModelKey.Compare)
	return models
}

// seenInstead returns the models that the source has in place of a model: the names of those in the
// namespace, else of those in the cluster with their namespaces; foreign is true for the latter.
func seenInstead(carried []scaling.ModelKey, model scaling.ModelKey) (names []string, foreign bool) {
	var here, elsewhere []string
	for _, key := range carried {
		if key.Namespace == model.Namespace && len(here) < maxSeen {
			here = append(here, strings.Clone(cut(key.ID)))
		} else if len(elsewhere) < maxSeen {
			elsewhere = append(elsewhere, strings.Clone(cut(key.String())))
		}
	}
	if len(here) > 0 {
		return here, false
	}
	return elsewhere, len(elsewhere) > 0
}
