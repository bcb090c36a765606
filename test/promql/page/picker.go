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
	// Flows are what the picker knows of each model.
	Flows  []*Flow
	cycles float64
}

// Flow is one model of a Picker.
type Flow struct {
	Model, Target string  // asked for; what it was rewritten to, "" for the same
	Queue         float64 // requests held now
	Sent          float64 // requests sent on so far
	Refused       float64 // requests refused so far for want of room
	Bad           float64 // requests that were wrong, so far
}

// Page returns the picker's page.
func (p *Picker) Page() []byte {
	p.cycles += 10
	var e output
	p.twins(func(newer bool, name func(suffix string) string) {
		e.family("counter", name("flow_control_dispatch_cycle_duration_seconds_count"), p.cycles)
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
