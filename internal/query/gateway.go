package query

import "strings"

// GatewaySeries are the series of an endpoint picker: the name of llm-d-router (0.9 on) first, then
// those of gateway-api-inference-extension. llm-d-router writes both: the first that a pod has
// counts.
type GatewaySeries struct {
	// Queue is the number of requests that flow control holds: raised on entry, lowered on leaving.
	// The series of an idle flow may vanish.
	Queue []string
	// Dispatch counts flow control's dispatch cycles: where the series exists, flow control is on,
	// and an absent queue is a queue of 0.
	Dispatch []string
	// Requests counts requests sent on to a model server, after admission: without requests that
	// wait or were refused.
	Requests []string
	// Errors counts requests that ended with an error, by LabelErrorCode.
	Errors []string
	// Refusals are the values of LabelErrorCode of requests that the picker did not send on.
	Refusals []string
	// Identity lists the labels of the picker's series, beyond LabelErrorCode,
	// whose values count separate things, which add up. No version has them all.
	Identity []string
}

// Gateway returns the series of the endpoint picker: flow control from
// gateway-api-inference-extension 1.1 on (dispatch cycles 1.4 on), requests from 1.0 on. A picker
// names no namespace but its own, and serves one pool: the models are in its namespace.
//
// The refusals are those of llm-d-router (ResourceExhausted: saturated; ServiceUnavailable: no
// endpoint, waited too long, shutting down) and of the older picker
// (InferencePoolResourceExhausted). A request evicted after it was sent on has the same codes and
// counts twice, which errs towards growth. Other codes do not count: a bad request is no arrival,
// and an error of a model server is counted already.
func Gateway() GatewaySeries {
	return GatewaySeries{
		Queue:    []string{"llm_d_epp_flow_control_queue_size", "inference_extension_flow_control_queue_size"},
		Dispatch: []string{"llm_d_epp_flow_control_dispatch_cycle_duration_seconds_count", "inference_extension_flow_control_dispatch_cycle_duration_seconds_count"},
		Requests: []string{"llm_d_epp_request_total", "inference_objective_request_total", "inference_model_request_total"},
		Errors:   []string{"llm_d_epp_request_error_total", "inference_objective_request_error_total", "inference_model_request_error_total"},
		Refusals: []string{"ResourceExhausted", "ServiceUnavailable", "InferencePoolResourceExhausted"},
		Identity: []string{"fairness_id", "priority", "inference_pool", LabelModel, LabelTargetModel},
	}
}

const (
	// pickerOf identifies the pod of an endpoint picker.
	pickerOf = "namespace, pod, pod_name"
	// gatewayOf identifies a row of a gateway.
	gatewayOf = "namespace, " + LabelGatewayModel
)

// gateway renders AskGateway: three quantities, each with its name in LabelStat. A picker has tens
// of series, not thousands, so rows are few.
func (r renderer) gateway() string {
	return strings.Join([]string{
		stat(GatewaySeen, r.gatewaySeen()),
		stat(GatewayQueue, r.gatewayQueue()),
		stat(GatewayArrivals, r.gatewayArrivals()),
	}, " or ")
}

// gatewaySeen renders when a picker with flow control was scraped last: the time of the counter of
// dispatch cycles or, where there is none, of the queue. The subquery reaches back beyond the 5m of
// a selector, to tell a picker that stopped answering from one that never answered. timestamp is
// applied to bare selectors joined by `or`: with a pattern of names, two series that differ in the
// name alone would collide.
func (r renderer) gatewaySeen() string {
	series := Gateway()
	var times []string
	for _, name := range append(series.Dispatch, series.Queue...) {
		times = append(times, "timestamp("+r.selector(name)+")")
	}
	at := "(" + strings.Join(times, " or ") + ")"
	return "max by (namespace) " + at + " or max by (namespace) (max_over_time(" + at + earlier + "))"
}

func (r renderer) gatewayQueue() string {
	return byGatewayModel(r.perPicker(Last, Gateway().Queue))
}

// gatewayArrivals adds requests sent on, refusals, and the growth of the queue.
func (r renderer) gatewayArrivals() string {
	series := Gateway()
	return byGatewayModel(strings.Join([]string{
		r.perPicker(Rate, series.Requests),
		part(1, r.perPicker(Rate, series.Errors, LabelErrorCode+"=~"+alternatives(series.Refusals))),
		part(2, r.perPicker(Growth, series.Queue)+" / "+seconds(r.window)),
	}, " or "))
}

// perPicker renders the sum of a metric for each pod of a picker and each pair of model and target.
// Of twins the first that the pod has counts: by pod, not by series, because the labels of twins
// differ.
func (r renderer) perPicker(over Over, names []string, matchers ...string) string {
	identity := strings.Join(append([]string{pickerOf, LabelErrorCode}, Gateway().Identity...), ", ")
	var terms []string
	for _, name := range names {
		terms = append(terms, "sum by ("+pickerOf+", "+LabelModel+", "+LabelTargetModel+") (max by ("+identity+") ("+
			r.samples(over, r.selector(name, matchers...))+"))")
	}
	return "(" + strings.Join(terms, " or on ("+pickerOf+") ") + ")"
}

// byGatewayModel adds up the pickers per model: the target where there is one, else the model.
func byGatewayModel(vector string) string {
	for _, label := range []string{LabelModel, LabelTargetModel} {
		vector = `label_replace(` + vector + `, "` + LabelGatewayModel + `", "$1", "` + label + `", "(.+)")`
	}
	return "sum by (" + gatewayOf + ") (" + vector + ")"
}
