package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// The shape of the fleet: models of one variant each, spread over namespaces.
const (
	replicas   = 10
	namespaces = 50
)

// The back-filled series: the witness and signs of life for the longest time that any query looks
// back for them; the others for the longest time of all other queries.
const (
	interval   = 15 * time.Second
	pagesSince = 16 * time.Minute
	since      = 6 * time.Minute
)

// instant returns the time of the last scrape. The clocks of both sides show 2s later.
func instant() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func now() time.Time { return instant().Add(2 * time.Second) }

func namespaceOf(model int) string { return fmt.Sprintf("team-%02d", model%namespaces) }

func modelOf(model int) string { return fmt.Sprintf("organisation/model-%d", model) }

func variantOf(model int) string { return fmt.Sprintf("model-%d-l40s", model) }

// podOf returns a name like that of a Deployment's pod.
func podOf(model, pod int) string { return fmt.Sprintf("%s-6f7c8d9b5-%05d", variantOf(model), pod) }

// fleet returns the live objects of the series.
func fleet(models int) scaling.Fleet {
	f := scaling.Fleet{At: now()}
	for m := range models {
		key := scaling.VariantKey{Namespace: namespaceOf(m), Name: variantOf(m)}
		f.Variants = append(f.Variants, scaling.Variant{
			Key: key, Model: scaling.ModelKey{Namespace: key.Namespace, ID: modelOf(m)},
			Target:         scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: key.Name},
			GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Unbounded(),
			Replicas: scaling.ReplicaCounts{Observed: true, Current: replicas, Ready: replicas},
		})
		for p := range replicas {
			f.Pods = append(f.Pods, scaling.Pod{Namespace: key.Namespace, Name: podOf(m, p), Variant: key, Ready: true})
		}
	}
	return f
}

// column is a series in the making.
type column struct {
	labels labels.Labels
	ref    storage.SeriesRef
	begin  time.Time
	base   float64 // value at begin
	step   float64 // per scrape, 0 for a gauge
	wobble float64 // of a gauge, up and down
}

func (c *column) value(scrape int) float64 {
	return c.base + c.step*float64(scrape) + c.wobble*float64(scrape%3)
}

// columns returns the series of a fleet.
func columns(models int) []*column {
	var all []*column
	for m := range models {
		for p := range replicas {
			all = append(all, podColumns(m, p)...)
		}
		all = append(all, pickerColumns(m)...)
	}
	return all
}

// podColumns returns the series of a vLLM 0.12 pod that this project queries, with the labels that
// a PodMonitor adds: 86 series, 63 of them buckets.
func podColumns(m, p int) []*column {
	common := []string{
		"namespace", namespaceOf(m), "pod", podOf(m, p), "job", "serving/vllm", "container", "vllm", "endpoint", "http",
		"instance", fmt.Sprintf("10.%d.%d.%d:8000", m/250, m%250, p),
	}
	served := append([]string{"model_name", modelOf(m), "engine", "0"}, common...)
	var all []*column
	add := func(name string, base, step, wobble float64, more ...string) {
		set := append(append([]string{"__name__", name}, served...), more...)
		all = append(all, &column{labels: labels.FromStrings(set...), begin: instant().Add(-since), base: base, step: step, wobble: wobble})
	}
	busy := float64((m*7 + p*3) % 11)
	add("vllm:num_requests_running", 4+busy, 0, 1)
	add("vllm:num_requests_waiting", float64(p%3), 0, 1)
	add("vllm:kv_cache_usage_perc", 0.2+busy/50, 0, 0.013)
	add("vllm:prompt_tokens_total", 1e6, 1000+busy, 0)
	add("vllm:generation_tokens_total", 1e6, 3000+busy, 0)
	add("vllm:prefix_cache_queries_total", 1e6, 1000+busy, 0)
	add("vllm:prefix_cache_hits_total", 1e5, 100+busy, 0)
	for i, reason := range []string{"stop", "length", "abort", "error"} {
		add("vllm:request_success_total", 1000, []float64{10, 1, 0, 0}[i]+busy/10, 0, "finished_reason", reason)
	}
	for _, signs := range all {
		signs.begin = instant().Add(-pagesSince)
	}
	for _, name := range []string{"vllm:request_prompt_tokens", "vllm:request_generation_tokens"} {
		add(name+"_sum", 1e6, 3000+busy, 0)
		add(name+"_count", 1000, 11, 0)
	}
	for name, bounds := range map[string][]float64{
		"vllm:time_to_first_token_seconds": page.TTFTBounds(),
		"vllm:inter_token_latency_seconds": page.ITLBounds(),
		// Of each finished request.
		"vllm:request_time_per_output_token_seconds": page.ITLBounds(),
	} {
		add(name+"_sum", 1e3, 1.1+busy/7, 0)
		add(name+"_count", 1e5, 300, 0)
		for i, bound := range bounds {
			add(name+"_bucket", 1e5, 300*float64(i)/float64(len(bounds)), 0, "le", strconv.FormatFloat(bound, 'g', -1, 64))
		}
		add(name+"_bucket", 1e5, 300, 0, "le", "+Inf")
	}
	info := append([]string{"__name__", "vllm:cache_config_info", "engine", "0", "num_gpu_blocks", "8000", "block_size", "16", "cache_dtype", "auto"}, common...)
	return append(all, &column{labels: labels.FromStrings(info...), begin: instant().Add(-since), base: 1})
}

// pickerColumns returns the series of the endpoint picker of llm-d-router about a model, and once
// per namespace about itself, each under two names.
func pickerColumns(m int) []*column {
	var all []*column
	add := func(name string, base, step float64, of ...string) {
		set := append([]string{"__name__", name, "namespace", namespaceOf(m), "pod", "epp-7d9c4b8f6-" + namespaceOf(m), "job", "serving/epp"}, of...)
		all = append(all, &column{labels: labels.FromStrings(set...), begin: instant().Add(-since), base: base, step: step})
	}
	model := []string{"model_name", modelOf(m), "target_model_name", modelOf(m)}
	flow := append([]string{"fairness_id", "default", "priority", "0"}, model...)
	for _, prefix := range []string{"llm_d_epp_", "inference_extension_"} {
		if m < namespaces {
			add(prefix+"flow_control_dispatch_cycle_duration_seconds_count", 1e6, 5000)
		}
		add(prefix+"flow_control_queue_size", float64(m%4), 0, append([]string{"inference_pool", "pool-" + variantOf(m)}, flow...)...)
	}
	add("llm_d_epp_request_total", 1e5, 90, flow...)
	add("inference_objective_request_total", 1e5, 90, model...)
	return all
}

// fill writes the series of a fleet in the order of their scrapes.
func fill(ctx context.Context, into *store.Store, models int) error {
	all := columns(models)
	for scrape, at := 0, instant().Add(-pagesSince); !at.After(instant()); scrape, at = scrape+1, at.Add(interval) {
		appender := into.Appender(ctx)
		for _, c := range all {
			if at.Before(c.begin) {
				continue
			}
			ref, err := appender.Append(c.ref, c.labels, at.UnixMilli(), c.value(scrape))
			if err != nil {
				return fmt.Errorf("appending %s at %v: %w", c.labels, at, err)
			}
			c.ref = ref
		}
		if err := appender.Commit(); err != nil {
			return fmt.Errorf("committing the scrape of %v: %w", at, err)
		}
	}
	return nil
}
