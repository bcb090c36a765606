package tenants

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// configMapName returns the name of a ConfigMap with configuration, of any kind.
func (h *hostile) configMapName() string {
	names := config.PublishedNames()
	return pick(h, names[pick(h, config.Kinds()...)]...)
}

// merge adds keys to a ConfigMap of the namespace.
func (h *hostile) merge(name string, data map[string]string) {
	if old, ok := h.object(kindConfigMap, evil, name).(*corev1.ConfigMap); ok {
		for k, v := range old.Data {
			if _, ok := data[k]; !ok {
				data[k] = v
			}
		}
	}
	h.addConfigMap(evil, name, data)
}

func aliases(h *hostile, size int) {
	h.merge(h.configMapName(), map[string]string{
		pick(h, "default", "quotas", "e"): "modelID: m\nmodel_id: m\na: &a \"" + strings.Repeat("x", 60_000) + "\"\nb: [" + strings.Repeat("*a,", size) + "]\n",
	})
}

func deep(h *hostile, size int) {
	open, shut := "[", "]"
	if h.random.IntN(2) == 0 {
		open, shut = "{a: ", "}"
	}
	h.merge(h.configMapName(), map[string]string{pick(h, "default", "quotas", "e"): "a: " + strings.Repeat(open, size) + strings.Repeat(shut, size)})
}

// longEntry adds an entry with a long modelID, and a variant of a model with a long ID.
func longEntry(h *hostile, size int) {
	name := pick(h, "model-scale-to-zero-config", "saturation-scaling-config", "service-classes-config")
	id := strings.Repeat("a", size)
	h.merge(name, map[string]string{"e": "modelID: " + id + "\nenableScaleToZero: true\n"})
	longModel(h, size)
}

func entries(h *hostile, size int) {
	data := map[string]string{}
	for n := range size {
		data[fmt.Sprintf("e%d", n)] = fmt.Sprintf("modelID: org/model-with-an-ordinary-name-%05d\nenableScaleToZero: true\n", n)
	}
	h.merge(pick(h, "model-scale-to-zero-config", "wva-model-scale-to-zero-config"), data)
}

func oddEntries(h *hostile, size int) {
	fields := config.Catalogue()
	data := map[string]string{}
	for range size {
		var b strings.Builder
		fmt.Fprintf(&b, "modelID: %q\nmodel_id: %q\nnamespace: %q\n", h.stranger(), h.stranger(), h.stranger())
		for range 1 + h.random.IntN(6) {
			fmt.Fprintf(&b, "%s: %s\n", fields[h.random.IntN(len(fields))].Name, pick(h, h.number(), fmt.Sprintf("%q", h.text(50)), "[{model: default/default, slo-tpot: "+h.number()+"}]"))
		}
		key := pick(h, "default", h.stranger(), fmt.Sprint(h.random.Uint32()), fields[h.random.IntN(len(fields))].Name)
		data[key] = pick(h, b.String(), h.number(), h.text(500))
	}
	h.merge(h.configMapName(), data)
}

func mutatedConfigMaps(h *hostile, size int) {
	honest := []map[string]string{
		{"default": "kvCacheThreshold: 0.8\nqueueLengthThreshold: 5\nenableLimiter: true\n", "m": "model_id: org/model-000\nnamespace: apples-00\nkvSpareTrigger: 0.1\n"},
		{"premium": "name: Premium\npriority: 1\ndata:\n- {model: org/model-000, slo-tpot: 40, slo-ttft: 1000}\n"},
		{"quotas": "namespaceQuotas:\n  evil: {H100: 1000}\ndefault: {H100: 0}\nexclude: [evil]\n"},
		{"WVA_LIMITED_MODE": "false", "GLOBAL_OPT_INTERVAL": "1s", "WVA_TRUST_NAMESPACES": "true", "COLLECTOR_BACKEND": "prometheus"},
		{"H100": `{"device": "NVIDIA-H100-80GB-HBM3", "cost": "0.01"}`},
		{"__defaults__": "enableScaleToZero: true\nretentionPeriod: 1s\n"},
	}
	for range size {
		data := map[string]string{}
		from := pick(h, honest...)
		for _, key := range sortedKeys(from) {
			data[key] = from[key]
			if h.random.IntN(3) > 0 {
				data[key] = string(h.mutate([]byte(data[key])))
			}
		}
		h.merge(h.configMapName(), data)
	}
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// serve adds a variant with a pod that serves a page.
func (h *hostile) serve(served page) {
	before := len(h.pages)
	h.variant("served", 1, nil)
	for host := range h.pages {
		if len(h.pages) > before && host == fmt.Sprintf("10.%d.%d.%d", before>>16&255, before>>8&255, before&255) {
			h.pages[host] = served
		}
	}
}

// wantedNames returns series that the catalogue reads.
func wantedNames() []string {
	return []string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:generation_tokens_total", "vllm:prompt_tokens_total", "vllm:request_success_total"}
}

// series serves one page with size series, of one model for every few.
func series(h *hostile, size int) {
	names := wantedNames()
	if h.random.IntN(2) == 0 {
		names = names[:4]
	}
	unit := pick(h, "m", "m", strings.Repeat("m", 100))
	h.serve(page{lines: func(n int, _ time.Time) string {
		if n >= size {
			return ""
		}
		return fmt.Sprintf("%s{model_name=\"%s%d\"} 1\n", names[n%len(names)], unit, n/len(names))
	}})
}

func oddPages(h *hostile, size int) {
	for range size {
		var b strings.Builder
		for range 40 {
			labels := fmt.Sprintf("{model_name=%q,engine=%q}", pick(h, "evil/served", h.stranger(), h.text(50)), pick(h, "0", "1", h.number()))
			fmt.Fprintf(&b, "%s%s %s\n", pick(h, append(wantedNames(), "vllm:time_to_first_token_seconds_sum", "vllm:time_to_first_token_seconds_count", "vllm:cache_config_info", "vllm:prefix_cache_hits_total")...), labels, h.number())
		}
		h.serve(once(b.String()))
	}
}

func mutatedPages(h *hostile, size int) {
	for range size {
		h.serve(once(string(h.mutate([]byte(load{running: 5, waiting: 3, usage: 0.4, rate: 2}.whole("evil/served", born().Add(2*time.Hour)))))))
	}
}

// once returns a page of one text.
func once(text string) page {
	return page{lines: func(n int, _ time.Time) string {
		if n > 0 {
			return ""
		}
		return text
	}}
}

// longPage serves a line of size kB.
func longPage(h *hostile, size int) {
	unit := strings.Repeat(pick(h, "a", "\x01", "vllm:num_requests_running{model_name=\"m\"} 1\n", "vllm:x ", "\n"), 1024)
	begins := pick(h, "", "vllm:num_requests_running{model_name=\"") + "#"
	h.serve(page{lines: func(n int, _ time.Time) string {
		switch {
		case n == 0:
			return begins
		case n*len(unit) > size<<10:
			return ""
		}
		return unit
	}})
}

func noPages(h *hostile, size int) {
	for range size {
		h.serve(page{status: pick(h, 200, 204, 301, 404, 500, 503), hangs: h.random.IntN(2) == 0, lines: func(int, time.Time) string { return "" }})
	}
}

// picker serves the page of an endpoint picker with size flows.
func picker(h *hostile, size int) {
	model := h.stranger()
	h.pod(page{lines: func(n int, _ time.Time) string {
		if n >= size {
			return ""
		}
		name := "llm_d_epp_flow_control_queue_size"
		if n%3 == 0 {
			name = "llm_d_epp_request_total"
		}
		return fmt.Sprintf("%s{fairness_id=\"f%d\",priority=\"0\",inference_pool=\"p\",model_name=%q,target_model_name=\"t%d\"} 100000\n", name, n, model, n)
	}}, func(p *corev1.Pod) { p.Labels = map[string]string{"inferencepool": "x"} })
}
