package emulator

import (
	"net"
	"net/http"
)

// gatewayPod is the name under which a namespace's gateway is scraped.
const gatewayPod = "epp-0"

type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// targets returns the scrape targets for Prometheus, at the address of its request.
func (h *handler) targets(r *http.Request) []targetGroup {
	address := r.Host
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		address = local.String()
	}
	groups := []targetGroup{}
	add := func(job, namespace, pod, path string) {
		groups = append(groups, targetGroup{Targets: []string{address}, Labels: map[string]string{
			"__metrics_path__": path, "namespace": namespace, "pod": pod, "job": job,
		}})
	}
	for _, p := range h.emulator.startedPods() {
		add("vllm", p.Namespace, p.Name, "/pods/"+p.Namespace+"/"+p.Name+"/metrics")
	}
	last := ""
	for _, key := range h.emulator.models(func(ModelKey) bool { return true }) {
		if key.Namespace != last {
			add("epp", key.Namespace, gatewayPod, "/gateway/"+key.Namespace+"/metrics")
			last = key.Namespace
		}
	}
	return groups
}
