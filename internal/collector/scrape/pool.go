package scrape

import (
	"cmp"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// labelPool names the pool in the series by which an endpoint picker reports the pods of its pool.
// Of each series the name of llm-d-router (0.9 on) comes first, then that of
// gateway-api-inference-extension.
const labelPool = "name"

func perPodQueue() query.Series {
	return query.Series{Names: []string{"llm_d_epp_per_endpoint_queue_size", "inference_pool_per_pod_queue_size"}}
}

func meanUsage() query.Series {
	return query.Series{Names: []string{"llm_d_epp_average_kv_cache_utilization", "inference_pool_average_kv_cache_utilization"}}
}

func meanRunning() query.Series {
	return query.Series{Names: []string{"llm_d_epp_average_running_requests", "inference_pool_average_running_requests"}}
}

// readyPods returns the count of the pods with fresh metrics at the picker. At 0 the picker does
// not write the means, and their series are old.
func readyPods() query.Series {
	return query.Series{Names: []string{"llm_d_epp_ready_endpoints", "inference_pool_ready_pods"}}
}

// requestMeans returns the means of a picker about requests, by quantity.
func requestMeans() map[query.Quantity]query.Recipe {
	mean := func(scale float64, names ...string) query.Recipe {
		sum, count := query.Series{}, query.Series{}
		for _, name := range names {
			sum.Names, count.Names = append(sum.Names, name+"_sum"), append(count.Names, name+"_count")
		}
		return query.Recipe{Over: query.Mean, Of: []query.Series{sum}, Per: count, Scale: scale}
	}
	return map[query.Quantity]query.Recipe{
		query.InputTokens:  mean(1, "llm_d_epp_request_input_tokens", "inference_objective_input_tokens"),
		query.OutputTokens: mean(1, "llm_d_epp_request_output_tokens", "inference_objective_output_tokens"),
		query.TTFT:         mean(1000, "llm_d_epp_request_ttft_seconds", "inference_objective_request_ttft_seconds"),
		// Between chunks of the answer, each of which may hold several tokens.
		query.ITL: mean(1000, "llm_d_epp_request_streaming_itl_seconds"),
	}
}

// poolMetrics returns the series that are read of a picker beyond query.Gateway.
func poolMetrics() []query.Series {
	metrics := []query.Series{perPodQueue(), meanUsage(), meanRunning(), readyPods()}
	for _, r := range requestMeans() {
		metrics = append(metrics, r.Of[0], r.Per)
	}
	return metrics
}

// poolMetric is a number that a picker reports about the pods of a pool.
type poolMetric struct {
	over   query.Over
	metric query.Series
	perPod bool // else the mean of the pool stands for each of its pods
}

// perPodMetrics returns the quantities per pod that pickers report.
func perPodMetrics() map[query.Quantity]poolMetric {
	return map[query.Quantity]poolMetric{
		query.QueueLengthPeak:  {query.Peak, perPodQueue(), true},
		query.QueueLength:      {query.Last, perPodQueue(), true},
		query.KVCacheUsagePeak: {query.Peak, meanUsage(), false},
		query.KVCacheUsage:     {query.Last, meanUsage(), false},
		query.Running:          {query.Last, meanRunning(), false},
	}
}

// poolRows returns the rows of a quantity that the pickers report.
func (v view) poolRows(q query.Quantity, m moment) []query.Row {
	if metric, ok := perPodMetrics()[q]; ok {
		return v.perPodRows(q, metric, m)
	}
	if r, ok := requestMeans()[q]; ok {
		return v.pickerMeans(q, r, m)
	}
	if q == query.Completions {
		return v.requestRows(m)
	}
	return nil
}

// member is a pod of a pool as a picker's page names it.
type member struct {
	pool  string
	pod   string
	model string
	queue series
}

// members returns the pods of a picker's pools that serve a model of the fleet.
func (v view) members(p picker) []member {
	newest, ok := p.pages.newest(p.moment.at, earlierSpan)
	if !ok {
		return nil
	}
	for _, name := range perPodQueue().Names {
		var found []member
		for _, i := range newest.layout.byName[name] {
			s := newest.layout.series[i]
			pod := cmp.Or(s.label("model_server_endpoint"), s.label("model_server_pod"))
			if model, ok := v.modelOf(p.namespace, pod); ok {
				found = append(found, member{s.label(labelPool), pod, model, s})
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// modelOf returns the model of a pod, whose name may end with a rank.
func (v view) modelOf(namespace, pod string) (string, bool) {
	key := podKey{namespace, pod}
	if model, ok := v.models[key]; ok {
		return model, true
	}
	if at := strings.LastIndex(pod, "-rank-"); at > 0 {
		key.pod = pod[:at]
		model, ok := v.models[key]
		return model, ok
	}
	return "", false
}

// perPodRows returns a row for each pod of a pool.
func (v view) perPodRows(q query.Quantity, metric poolMetric, m moment) []query.Row {
	var rows []query.Row
	for _, t := range v.pickers {
		p := picker{evaluator{moment: m, pages: t.history}, t.target.Namespace}
		own, mean := p.over(metric.over), p.byPool(metric.over, metric.metric)
		for _, member := range v.members(p) {
			n, ok := own(member.queue)
			if !metric.perPod {
				n, ok = mean(member.pool)
				ok = ok && p.hasReadyPods(member.pool)
			}
			if ok {
				rows = append(rows, query.Row{Quantity: q, Namespace: p.namespace, Pod: member.pod, Model: member.model, Value: n})
			}
		}
	}
	return rows
}

// byPool returns the value of a pool's metric, and false where there is none.
func (p picker) byPool(over query.Over, metric query.Series) func(pool string) (float64, bool) {
	value := p.over(over)
	return func(pool string) (float64, bool) {
		for _, name := range metric.Names {
			for _, s := range p.candidates(name) {
				if v, ok := value(s); ok && s.label(labelPool) == pool {
					return v, true
				}
			}
		}
		return 0, false
	}
}

// hasReadyPods reports whether the picker's means are current. A picker that does not count its
// ready pods is trusted.
func (p picker) hasReadyPods(pool string) bool {
	n, counted := p.byPool(query.Last, readyPods())(pool)
	return !counted || n > 0
}

// poolTimes returns the times of the pages that report for the pods of pools.
func (v view) poolTimes(m moment, of func(history) (onePage, bool)) []query.Row {
	var rows []query.Row
	for _, t := range v.pickers {
		newest, ok := of(t.history)
		if !ok {
			continue
		}
		p := picker{evaluator{moment: m, pages: t.history}, t.target.Namespace}
		for _, member := range v.members(p) {
			rows = append(rows, query.Row{
				Quantity: query.PageTime, Namespace: p.namespace, Pod: member.pod, Model: member.model, Job: v.job, Value: unixSeconds(newest.at),
			})
		}
	}
	return rows
}

// requestRows returns the rates at which pickers send requests on.
func (v view) requestRows(m moment) []query.Row {
	sums := map[modelKey]float64{}
	for _, t := range v.pickers {
		picker{evaluator{moment: m, pages: t.history}, t.target.Namespace}.
			add(sums, query.Rate, query.Series{Names: query.Gateway().Requests})
	}
	return modelRowsOf(query.Completions, sums)
}

// pickerMeans returns the means of a histogram over the pickers of each model.
func (v view) pickerMeans(q query.Quantity, r query.Recipe, m moment) []query.Row {
	sums, counts := map[modelKey]float64{}, map[modelKey]float64{}
	for _, t := range v.pickers {
		p := picker{evaluator{moment: m, pages: t.history}, t.target.Namespace}
		p.add(sums, query.Rate, r.Of[0])
		p.add(counts, query.Rate, r.Per)
	}
	for k := range sums {
		if counts[k] > 0 {
			sums[k] *= r.Factor() / counts[k]
		} else {
			delete(sums, k)
		}
	}
	return modelRowsOf(q, sums)
}

// earlierSpan is how far back a missing page is looked for.
const earlierSpan = 15 * time.Minute
