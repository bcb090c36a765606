package collectortest

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Namespace is the namespace of the models of Fleet.
const Namespace = "serving"

// Job is the job that scrapes the pods of Serve.
const Job = "vllm"

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
			Replicas:       scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(podsPerModel), Ready: scaling.Replicas(podsPerModel)},
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

// Page holds the numbers that every pod of a fleet exports, and those of its models.
type Page struct {
	Age             time.Duration // since the last scrape
	Interval        time.Duration // between scrapes; 0 for an unknown one
	KVCacheUsage    float64       // ratio
	QueueLength     float64       // requests
	Running         float64       // requests
	CacheTokens     int           // tokens
	Completions     float64       // requests/s and model
	InFlightGrowth  float64       // requests/s and model
	Input, Output   float64       // tokens
	TTFT, ITL       float64       // ms
	PrefixHits      float64       // ratio
	GatewayQueue    float64       // requests and model
	GatewayArrivals float64       // requests/s and model
	WithoutRequests bool          // the means and the buckets have no rows
	WithoutGateway  bool          // no endpoint picker was ever scraped
}

// Serve adds the answers for a fleet whose pods all show page, as of the Source's clock.
func (s *Source) Serve(fleet scaling.Fleet, page Page) {
	models := map[scaling.VariantKey]scaling.ModelKey{}
	namespaces := map[string]bool{}
	for _, v := range fleet.Variants {
		models[v.Key] = v.Model
	}
	for _, p := range fleet.Pods {
		s.servePod(p, models[p.Variant].ID, page)
		if !namespaces[p.Namespace] && page.Interval > 0 {
			namespaces[p.Namespace] = true
			s.Answer(query.AskScrapeIntervals, query.Row{
				Quantity: query.ScrapeInterval, Namespace: p.Namespace, Job: Job, Value: page.Interval.Seconds(),
			})
		}
	}
	gateways := map[string]bool{}
	for _, m := range fleet.Models() {
		s.serveModel(m.Model, page)
		if !page.WithoutGateway && !gateways[m.Model.Namespace] {
			gateways[m.Model.Namespace] = true
			s.Answer(query.AskGateway, ModelRow(query.GatewaySeen, m.Model.Namespace, "", Unix(s.Now().Add(-page.Age))))
		}
	}
}

// servePod adds the answers for one pod.
func (s *Source) servePod(p scaling.Pod, model string, page Page) {
	seen := PodRow(query.PageTime, p.Namespace, p.Name, model, Unix(s.Now().Add(-page.Age)))
	seen.Job, seen.Witness = Job, query.VLLM.Witness()
	s.Answer(query.AskPages, seen)
	for _, number := range []struct {
		ask      query.Question
		quantity query.Quantity
		value    float64
	}{
		{query.AskKVCacheUsagePeak, query.KVCacheUsagePeak, page.KVCacheUsage},
		{query.AskKVCacheUsage, query.KVCacheUsage, page.KVCacheUsage},
		{query.AskQueueLengthPeak, query.QueueLengthPeak, page.QueueLength},
		{query.AskQueueLength, query.QueueLength, page.QueueLength},
		{query.AskRunning, query.Running, page.Running},
		{query.AskGenerating, query.Generating, 1},
	} {
		s.Answer(number.ask, PodRow(number.quantity, p.Namespace, p.Name, model, number.value))
	}
	// The description of the cache names no model.
	s.Answer(query.AskKVCapacity, PodRow(query.KVCapacity, p.Namespace, p.Name, "", float64(page.CacheTokens)))
}

// serveModel adds the answers for one model.
func (s *Source) serveModel(model scaling.ModelKey, page Page) {
	add := func(ask query.Question, quantity query.Quantity, value float64) {
		s.Answer(ask, ModelRow(quantity, model.Namespace, model.ID, value))
	}
	add(query.AskFlow, query.Completions, page.Completions)
	add(query.AskFlow, query.InFlightGrowth, page.InFlightGrowth)
	if !page.WithoutRequests {
		add(query.AskMeans, query.InputTokens, page.Input)
		add(query.AskMeans, query.OutputTokens, page.Output)
		add(query.AskMeans, query.TTFT, page.TTFT)
		add(query.AskMeans, query.ITL, page.ITL)
		add(query.AskObjective, query.PrefixHits, page.PrefixHits)
	}
	if !page.WithoutGateway {
		add(query.AskGateway, query.GatewayQueue, page.GatewayQueue)
		add(query.AskGateway, query.GatewayArrivals, page.GatewayArrivals)
	}
}

// PodRow returns a row about a pod.
func PodRow(quantity query.Quantity, namespace, pod, model string, value float64) query.Row {
	return query.Row{Quantity: quantity, Namespace: namespace, Pod: pod, Model: model, Value: value}
}

// ModelRow returns a row about a model, or about the model's gateway.
func ModelRow(quantity query.Quantity, namespace, model string, value float64) query.Row {
	return query.Row{Quantity: quantity, Namespace: namespace, Model: model, Value: value}
}

// Unix returns t as the values of PageTime and GatewaySeen are written.
func Unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
