package page

import (
	"slices"
	"strings"
)

// Picker is the pod of an endpoint picker with flow control.
type Picker struct {
	// Twins writes each series under its newer name too, as llm-d-router does.
	Twins bool
	Pool  string
	// Flows are the models of the picker.
	Flows []*Flow
	// Endpoints are the pods of the pool, or their ranks where each has a port of its own.
	Endpoints []*Endpoint
	cycles    float64
}

// Endpoint is what a picker reads from the page of a pod: the first series of each gauge.
type Endpoint struct {
	Name           string
	Running, Queue float64 // requests
	Usage          float64 // of the KV cache, ratio
}

// Flow is one model of a Picker.
type Flow struct {
	Model, Target string  // the requested name; the name that it was rewritten to, "" for the same
	Queue         float64 // requests held now
	Sent          float64 // requests sent on so far
	Refused       float64 // requests refused so far because the queue was full
	Bad           float64 // invalid requests so far
}

// Page returns the picker's page.
func (p *Picker) Page() []byte {
	p.cycles += 10
	var e output
	p.twins(func(newer bool, name func(suffix string) string) {
		e.family("counter", name("flow_control_dispatch_cycle_duration_seconds_count"), p.cycles)
		p.pool(&e, newer, name)
		for _, f := range p.Flows {
			labels := []string{"model_name", f.Model, "target_model_name", f.Target}
			flow := slices.Concat(labels, []string{"fairness_id", "default", "priority", "0"})
			if f.Queue > 0 {
				e.family("gauge", name("flow_control_queue_size"), f.Queue, slices.Concat(flow, []string{"inference_pool", p.Pool})...)
			}
			requests, errors := "inference_objective_request_total", "inference_objective_request_error_total"
			if newer {
				requests, errors, labels = name("request_total"), name("request_error_total"), flow
			}
			e.family("counter", requests, f.Sent, labels...)
			e.family("counter", errors, f.Refused, slices.Concat(labels, []string{"error_code", "ResourceExhausted"})...)
			e.family("counter", errors, f.Bad, slices.Concat(labels, []string{"error_code", "BadRequest"})...)
		}
	})
	return e.Bytes()
}

// pool writes the picker's series of the pods of its pool.
func (p *Picker) pool(e *output, newer bool, name func(suffix string) string) {
	if len(p.Endpoints) == 0 {
		return
	}
	perPod, ready, endpoint := "inference_pool_per_pod_queue_size", "inference_pool_ready_pods", "model_server_pod"
	mean := func(suffix string) string { return "inference_pool_average_" + suffix }
	if newer {
		perPod, ready, endpoint = name("per_endpoint_queue_size"), name("ready_endpoints"), "model_server_endpoint"
		mean = func(suffix string) string { return name("average_" + suffix) }
	}
	var usage, running float64
	n := float64(len(p.Endpoints))
	for _, of := range p.Endpoints {
		usage, running = usage+of.Usage/n, running+of.Running/n
		e.family("gauge", perPod, of.Queue, "name", p.Pool, endpoint, of.Name)
	}
	e.family("gauge", ready, n, "name", p.Pool)
	e.family("gauge", mean("kv_cache_utilization"), usage, "name", p.Pool)
	e.family("gauge", mean("running_requests"), running, "name", p.Pool)
}

// twins calls write for each set of names, the newer last.
func (p *Picker) twins(write func(newer bool, name func(suffix string) string)) {
	prefixes := []string{"inference_extension_"}
	if p.Twins {
		prefixes = append(prefixes, "llm_d_epp_")
	}
	for _, prefix := range prefixes {
		write(strings.HasPrefix(prefix, "llm_d"), func(suffix string) string { return prefix + suffix })
	}
}
