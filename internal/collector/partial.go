package collector

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// sharedAddress identifies series that several pods write in turn: each scrape of the address of a
// Service reaches another pod, or several pods are stored under one instance.
type sharedAddress struct {
	pod           string // the pod that the series name, "" for none
	job, instance string
	nowhere       bool // the series have no namespace, so no model's rates contain them
}

func (a sharedAddress) compare(o sharedAddress) int {
	return cmp.Or(strings.Compare(a.instance, o.instance), strings.Compare(a.job, o.job), strings.Compare(a.pod, o.pod))
}

// String says what is wrong and what to change.
func (a sharedAddress) String() string {
	var labels []string
	for _, l := range [][2]string{{query.LabelJob, a.job}, {query.LabelInstance, a.instance}, {query.LabelPod, a.pod}} {
		if l[1] != "" {
			labels = append(labels, fmt.Sprintf("%s=%q", l[0], cutLabel(l[1])))
		}
	}
	return fmt.Sprintf("The token counter of {%s} falls again and again or changes its process: each scrape of one address reaches another pod, or an engine restarts all the time. "+
		"Scrape every pod at its own address, with a PodMonitor or through a headless Service, and store the label pod", strings.Join(labels, ","))
}

// longestLabel limits a label's value in a sentence, in bytes, so that the remedy is within
// faultLength.
const longestLabel = 72

func cutLabel(value string) string {
	if len(value) > longestLabel {
		return strings.ToValidUTF8(value[:longestLabel], "") + "..."
	}
	return value
}

// readShared takes over the addresses of series that several pods write in turn.
func (b builders) readShared(rows []query.Row) {
	add := func(one *builder, a sharedAddress) {
		a.pod, a.job, a.instance = strings.Clone(a.pod), strings.Clone(a.job), strings.Clone(a.instance)
		one.measurement.shared = append(one.measurement.shared, a)
	}
	for i := range rows {
		row := &rows[i]
		if row.Quantity != query.Resets {
			continue
		}
		a := sharedAddress{pod: row.Pod, job: row.Job, instance: row.Instance, nowhere: row.Namespace == ""}
		if !a.nowhere {
			if one := b.of(row); one != nil {
				add(one, a)
			}
			continue
		}
		for model, one := range b {
			if model.ID == row.Model {
				add(one, a)
			}
		}
	}
	for _, one := range b {
		slices.SortFunc(one.measurement.shared, sharedAddress.compare)
	}
}

// mixture is the effect of shared addresses on one Snapshot.
type mixture struct {
	pods  map[string]bool // live pods of the model that the series name
	rates bool            // the rates of the model contain the series
	told  string          // the first such address in words, "" for none
	// nowhere is the first address without a namespace, in words. It explains why a model has no
	// readings, and does not affect existing readings.
	nowhere string
}

// mixture returns the effect of the shared addresses that matter now: those of live pods of the
// model, and any others that still have a page.
func (s *modelAnswer) mixture(model scaling.ModelKey, pods podIndex, instant int64) mixture {
	var m mixture
	for _, a := range s.shared {
		i, live := pods.pod(query.Row{Namespace: model.Namespace, Pod: a.pod})
		switch {
		case a.nowhere:
			m.nowhere = cmp.Or(m.nowhere, sentence(a.String()))
			continue
		case live && pods.models[i] == model:
			if m.pods == nil {
				m.pods = map[string]bool{}
			}
			m.pods[pods.pods[i].Name] = true
			m.rates = true
		case s.pageOf(a.pod).state(instant) >= scaling.Aging:
			m.rates = true
		default:
			continue // of a pod that ended
		}
		m.told = cmp.Or(m.told, sentence(a.String()))
	}
	return m
}

// pageOf returns the page of a pod by its name in the source; the zero value for none.
func (s *modelAnswer) pageOf(name string) pageTimes {
	at, ok := slices.BinarySearchFunc(s.pods, name, func(p podRow, name string) int { return strings.Compare(p.name, name) })
	if !ok {
		return pageTimes{}
	}
	return s.pods[at].page
}

// firstRanks names, in words, a pod of the model with more data-parallel ranks than the source has;
// "" for none. An endpoint picker keeps one rank's series of a metric from each page. named is how
// many ranks of each pod the source names as pods of their own.
func firstRanks(model scaling.ModelVariants, pods podIndex, named map[string]int) string {
	ranks := map[scaling.VariantKey]int{}
	for _, v := range model.Variants {
		ranks[v.Key] = v.Limits.Ranks
	}
	first, of := "", 0
	for _, i := range pods.byModel[model.Model] {
		p := pods.pods[i]
		if n := ranks[p.Variant]; n > 1 && named[p.Name] < n && (first == "" || p.Name < first) {
			first, of = p.Name, n
		}
	}
	if first == "" {
		return ""
	}
	return sentence(fmt.Sprintf("Of the %d data-parallel ranks on the page of pod %s the endpoint picker keeps the first alone. "+
		"Set COLLECTOR_BACKEND to prometheus or pods, or give every rank a port of its own among the targetPorts of the InferencePool", of, first))
}

// lostRank names, in words, a data-parallel rank of the i-th pod that no longer has a page, or is
// missing between others, while the source names other ranks as pods of their own; "" for none.
func (s *modelAnswer) lostRank(pods podIndex, i int, instant int64) string {
	if !s.ranked {
		return ""
	}
	pod := pods.pods[i]
	alive, silent := map[int]bool{}, map[int]bool{}
	for _, row := range s.pods {
		name, digits := cutRank(row.name)
		if _, live := pods.byKey[podKey{pod.Namespace, row.name}]; digits == "" || name != pod.Name || live {
			continue
		}
		if rank, err := strconv.Atoi(digits); err == nil {
			of := silent
			if row.page.state(instant) >= scaling.Aging {
				of = alive
			}
			of[rank] = true
		}
	}
	if len(alive) == 0 {
		return "" // the whole pod is silent, or the source does not name its ranks
	}
	ranks := slices.Sorted(maps.Keys(alive))
	for at, rank := range ranks[1:] {
		if rank != ranks[at]+1 {
			silent[ranks[at]+1] = true
		}
	}
	for rank := range alive {
		delete(silent, rank)
	}
	if len(silent) == 0 {
		return ""
	}
	return sentence(fmt.Sprintf("The source has no page of data-parallel rank %d of pod %s and has pages of %d others, so what that rank holds is not known. "+
		"See whether its engine runs and its port is scraped", slices.Min(slices.Collect(maps.Keys(silent))), pod.Name, len(alive)))
}
