package emulator

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
)

// The outcomes of flow control in the emulator.
const (
	outcomeDispatched = "Dispatched"
	outcomeRejected   = "RejectedOther"
	outcomeCancelled  = "EvictedContextCancelled"
)

// A flow of an EPP is the requests of one fairness ID at one priority. The number of flows in a
// pool is limited, because the fairness ID comes from clients.
const (
	defaultFairness = "default-flow"
	otherFairness   = "other"
	maxFlows        = 100
	priority        = "0"
)

type flowKey struct{ fairness string }

// flow counts one flow's requests in flow control.
type flow struct {
	size      int
	durations map[string]*histogram // by outcome [s]
}

func (f *flow) enter() { f.size++ }

func (f *flow) leave(outcome string, after time.Duration) {
	f.size--
	h := f.durations[outcome]
	if h == nil {
		h = new(newHistogram(queueDurationBuckets()))
		f.durations[outcome] = h
	}
	h.observe(after.Seconds())
}

// flowOf returns the flow of a fairness ID, "" meaning the default one.
func (p *pool) flowOf(fairness string) *flow {
	key := flowKey{fairness: cmp.Or(fairness, defaultFairness)}
	if f := p.flows[key]; f != nil {
		return f
	}
	if len(p.flows) >= maxFlows {
		key.fairness = otherFairness
	}
	f := p.flows[key]
	if f == nil {
		f = &flow{durations: map[string]*histogram{}}
		p.flows[key] = f
	}
	return f
}

func queueDurationBuckets() []float64 {
	return []float64{.0001, .0005, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

func dispatchBuckets() []float64 {
	return []float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1}
}

// poolName returns a Kubernetes name made from a model ID.
func poolName(model string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(model)), "-")
}

// errorCode returns the EPP's label value for the reason why a call failed.
func errorCode(err error) string {
	switch {
	case errors.Is(err, errTooLong):
		return "BadRequest"
	case errors.Is(err, errBusy):
		return "InferencePoolResourceExhausted"
	default:
		return "ModelServerError"
	}
}

func (p *pool) countError(err error) { p.errors[errorCode(err)]++ }

func (p *pool) modelLabels() []string {
	return []string{"model_name", p.key.ID, "target_model_name", p.key.ID}
}

func (p *pool) flowLabels(key flowKey) []string {
	return append([]string{"fairness_id", key.fairness, "priority", priority, "inference_pool", p.name}, p.modelLabels()...)
}

func (p *pool) sortedFlows() []flowKey {
	return slices.SortedFunc(maps.Keys(p.flows), func(a, b flowKey) int { return cmp.Compare(a.fairness, b.fairness) })
}

// writeGatewayPage writes the page of an EPP with flow control (names of
// gateway-api-inference-extension 1.5) over the pools of one namespace. As in an EPP, a series
// appears when it is first used; ready_pods is always there.
func writeGatewayPage(e *exposition.Page, pools []*pool) {
	writeFlowControl(e, pools)
	writeObjectives(e, pools)
	e.Family("inference_pool_ready_pods", "gauge", "The number of ready pods in the inference server pool.")
	for _, p := range pools {
		e.Sample("inference_pool_ready_pods", exposition.Labels("name", p.name), float64(len(p.replicas)+len(p.prefills)))
	}
}

// writeFlowControl writes the families of flow control: the queue and the waiting times.
func writeFlowControl(e *exposition.Page, pools []*pool) {
	const name = "inference_extension_flow_control_"
	e.Family(name+"queue_size", "gauge", "Current number of requests being managed by the flow control layer.")
	for _, p := range pools {
		for _, key := range p.sortedFlows() {
			e.Sample(name+"queue_size", exposition.Labels(p.flowLabels(key)...), float64(p.flows[key].size))
		}
	}
	e.Family(name+"request_queue_duration_seconds", "histogram", "Time requests spend in the flow control layer.")
	for _, p := range pools {
		for _, key := range p.sortedFlows() {
			f := p.flows[key]
			for _, outcome := range slices.Sorted(maps.Keys(f.durations)) {
				f.durations[outcome].expose(e, name+"request_queue_duration_seconds", exposition.Labels(append(p.flowLabels(key), "outcome", outcome)...))
			}
		}
	}
	// This family shows that flow control is on, so that a missing queue_size means an
	// empty queue.
	e.Family(name+"dispatch_cycle_duration_seconds", "histogram", "Time taken for each dispatch cycle.")
	cycles := newHistogram(dispatchBuckets())
	for _, p := range pools {
		cycles.add(&p.dispatches)
	}
	cycles.expose(e, name+"dispatch_cycle_duration_seconds", "")
}

// writeObjectives writes the counts of requests; a pool without requests has no series.
func writeObjectives(e *exposition.Page, pools []*pool) {
	const name = "inference_objective_"
	e.Family(name+"request_total", "counter", "Counter of inference requests, raised after admission.")
	for _, p := range pools {
		if p.hasRequests {
			e.Sample(name+"request_total", exposition.Labels(append(p.modelLabels(), "priority", priority)...), float64(p.requests))
		}
	}
	e.Family(name+"request_error_total", "counter", "Counter of inference requests that failed.")
	for _, p := range pools {
		for _, code := range slices.Sorted(maps.Keys(p.errors)) {
			e.Sample(name+"request_error_total", exposition.Labels(append(p.modelLabels(), "error_code", code)...), float64(p.errors[code]))
		}
	}
	e.Family(name+"running_requests", "gauge", "Requests running on the pool.")
	for _, p := range pools {
		if p.hasRequests {
			e.Sample(name+"running_requests", exposition.Labels("model_name", p.key.ID), float64(p.running))
		}
	}
}
