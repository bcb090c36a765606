package collectortest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Namespace is where the models of Fleet live.
const Namespace = "serving"

// Fleet returns a fleet of models "m000", "m001" and so on, each with one
// variant of the same name and ready pods "m000-0", "m000-1" and so on.
func Fleet(at time.Time, models, podsPerModel int) scaling.Fleet {
	fleet := scaling.Fleet{At: at}
	for m := range models {
		id := fmt.Sprintf("m%03d", m)
		variant := scaling.Variant{
			Key:            scaling.VariantKey{Namespace: Namespace, Name: id},
			Model:          scaling.ModelKey{Namespace: Namespace, ID: id},
			Target:         scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: id},
			GPUsPerReplica: 1,
			Cost:           10,
			Bounds:         scaling.Unbounded(),
			Replicas:       scaling.ReplicaCounts{Observed: true, Current: podsPerModel, Ready: podsPerModel},
		}
		fleet.Variants = append(fleet.Variants, variant)
		for p := range podsPerModel {
			fleet.Pods = append(fleet.Pods, scaling.Pod{
				Namespace: Namespace,
				Name:      fmt.Sprintf("%s-%d", id, p),
				Variant:   variant.Key,
				Ready:     true,
			})
		}
	}
	return fleet
}

// Page is what every pod of a fleet exports, and what its models do.
type Page struct {
	Age             time.Duration // since the last scrape
	Interval        time.Duration // between scrapes; 0: too young to tell
	KVCacheUsage    float64       // ratio
	QueueLength     float64       // requests
	Running         float64       // requests
	CacheTokens     int           // tokens
	Completions     float64       // requests/s and model
	InFlightGrowth  float64       // requests/s and model
	Input, Output   float64       // tokens
	TTFT, ITL       float64       // ms
	GatewayQueue    float64       // requests and model
	WithoutRequests bool          // the means have no rows
	WithoutGateway  bool          // no endpoint picker was ever scraped
}

// Serve adds the answers for a fleet whose pods all show page.
func (s *Source) Serve(fleet scaling.Fleet, page Page) {
	models := map[scaling.VariantKey]scaling.ModelKey{}
	namespaces := map[string]bool{}
	for _, v := range fleet.Variants {
		models[v.Key] = v.Model
	}
	for _, p := range fleet.Pods {
		s.servePod(fleet.At, PodLabels(p.Namespace, p.Name, models[p.Variant].ID), page)
	}
	for _, m := range fleet.Models() {
		s.serveModel(m.Model, page)
		if !page.WithoutGateway && !namespaces[m.Model.Namespace] {
			namespaces[m.Model.Namespace] = true
			s.Answer(query.GatewayQueue, Row(unix(fleet.At.Add(-page.Age)),
				query.LabelNamespace, m.Model.Namespace, query.LabelStat, query.StatAt))
		}
	}
}

// servePod adds the answers for one pod.
func (s *Source) servePod(now time.Time, labels []string, page Page) {
	scrape := func(v float64, stat string) collector.Sample {
		return Row(v, slices.Concat(labels, []string{query.LabelJob, "vllm", query.LabelStat, stat})...)
	}
	s.Answer(query.LastScrape, scrape(unix(now.Add(-page.Age)), query.StatAt))
	if page.Interval > 0 {
		s.Answer(query.LastScrape, scrape(float64(query.ScrapeSpan/page.Interval), query.StatScrapes))
	}
	for q, v := range map[query.Quantity]float64{
		query.KVCacheUsagePeak: page.KVCacheUsage,
		query.KVCacheUsage:     page.KVCacheUsage,
		query.QueueLengthPeak:  page.QueueLength,
		query.QueueLength:      page.QueueLength,
		query.Running:          page.Running,
	} {
		s.Answer(q, Row(v, labels...))
	}
	// The description of the cache has no model_name: the last pair of labels.
	cache := slices.Concat(labels[:len(labels)-2], []string{query.LabelCacheTokens, strconv.Itoa(page.CacheTokens)})
	s.Answer(query.KVCapacity, Row(1, cache...))
}

// serveModel adds the answers for one model.
func (s *Source) serveModel(model scaling.ModelKey, page Page) {
	rates := map[query.Quantity]float64{query.Completions: page.Completions, query.InFlightGrowth: page.InFlightGrowth}
	means := map[query.Quantity]float64{
		query.InputTokens:  page.Input,
		query.OutputTokens: page.Output,
		query.TTFT:         page.TTFT,
		query.ITL:          page.ITL,
	}
	for q, v := range rates {
		s.Answer(q, Row(v, query.LabelNamespace, model.Namespace, query.LabelModel, model.ID))
	}
	for q, v := range means {
		if !page.WithoutRequests {
			s.Answer(q, Row(v, query.LabelNamespace, model.Namespace, query.LabelModel, model.ID))
		}
	}
	if !page.WithoutGateway {
		s.Answer(query.GatewayQueue, Row(page.GatewayQueue, query.LabelNamespace, model.Namespace,
			query.LabelGatewayModel, model.ID, query.LabelStat, query.StatQueue))
	}
}

// PodLabels returns the labels of a pod's row as pairs of name and value, with
// the model last.
func PodLabels(namespace, pod, model string) []string {
	return []string{query.LabelNamespace, namespace, query.LabelPod, pod, query.LabelModel, model}
}

// Row returns a row with the given labels, as pairs of name and value.
func Row(value float64, labels ...string) collector.Sample {
	row := collector.Sample{Labels: map[string]string{}, Value: value}
	for i := 0; i+1 < len(labels); i += 2 {
		row.Labels[labels[i]] = labels[i+1]
	}
	return row
}

// unix returns t as PromQL's timestamp does.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
