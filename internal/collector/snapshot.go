package collector

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// measurement is everything that was asked for in one cycle, joined with the
// fleet.
type measurement struct {
	at      time.Time
	window  time.Duration
	fault   string
	pods    podIndex
	pages   []pageState            // per pod
	columns [query.Count][]float64 // per quantity and pod, nil if unanswered
	load    map[scaling.ModelKey]*loadRows
	gateway gateways
	seen    []scaling.ModelKey
}

// snapshot returns the Snapshot of one model.
func (m measurement) snapshot(model scaling.ModelVariants) scaling.Snapshot {
	s := scaling.Snapshot{
		Model:    model.Model,
		At:       m.at,
		Window:   m.window,
		Variants: model.Variants,
		Replicas: m.replicas(model.Model),
		Fault:    m.fault,
	}
	if m.fault != "" {
		return s
	}
	page, reports := scaling.Absent, false
	for _, i := range m.pods.byModel[model.Model] {
		page = max(page, m.pages[i].state)
	}
	for _, r := range s.Replicas {
		reports = reports || r.Reports()
	}
	s.Load = m.load[model.Model].readings(page)
	s.Load.GatewayQueue = m.gateway.reading(model.Model)
	if !reports {
		s.SeenModels = seenInstead(m.seen, model.Model)
	}
	return s
}

// replicas returns the samples of a model's pods that are Ready or report.
func (m measurement) replicas(model scaling.ModelKey) []scaling.ReplicaSample {
	var replicas []scaling.ReplicaSample
	for _, i := range m.pods.byModel[model] {
		s, pod := m.sample(i), m.pods.pods[i]
		s.Pod, s.Variant, s.Ready = pod.Name, pod.Variant, pod.Ready
		if s.Ready || s.Reports() {
			replicas = append(replicas, s)
		}
	}
	slices.SortFunc(replicas, func(a, b scaling.ReplicaSample) int {
		return cmp.Or(a.Variant.Compare(b.Variant), strings.Compare(a.Pod, b.Pod))
	})
	return replicas
}

// sample returns the readings of the i-th pod.
func (m measurement) sample(i int) scaling.ReplicaSample {
	read := func(q query.Quantity) scaling.Reading {
		r := row{answered: m.columns[q] != nil}
		if r.answered {
			r.value = m.columns[q][i]
			r.found = !math.IsNaN(r.value)
		}
		return r.reading(m.pages[i].state)
	}
	return scaling.ReplicaSample{
		At:              m.pages[i].at,
		KVCacheUsage:    read(query.KVCacheUsagePeak),
		QueueLength:     read(query.QueueLengthPeak),
		KVCacheUsageNow: read(query.KVCacheUsage),
		QueueLengthNow:  read(query.QueueLength),
		Running:         read(query.Running),
		KVCapacity:      read(query.KVCapacity),
	}
}
