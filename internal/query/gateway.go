package query

import (
	"fmt"
	"time"
)

// The flow control metrics of the endpoint picker: the name of llm-d-router
// (0.9 on), then that of gateway-api-inference-extension (queue 1.1 on, dispatch
// cycles 1.4 on). llm-d-router writes both: never add them.
const (
	gatewayQueueName       = "llm_d_epp_flow_control_queue_size"
	gatewayQueueOldName    = "inference_extension_flow_control_queue_size"
	gatewayDispatchName    = "llm_d_epp_flow_control_dispatch_cycle_duration_seconds_count"
	gatewayDispatchOldName = "inference_extension_flow_control_dispatch_cycle_duration_seconds_count"
)

// gatewayQueue asks two things at once: how many requests are held for each
// model, and per namespace when a picker with flow control was scraped last.
//
// Of the queue the twins fold into one, flows and pickers add up, and the target
// model counts where there is one, since it is what the engine calls the model. A picker names no namespace but its own, and serves one pool:
// its namespace is the models'.
//
// The time comes from the queue series or, since those vanish while a flow is
// idle, from the counter of dispatch cycles: its presence makes an absent queue
// a queue of 0. timestamp stands on bare selectors (see vllmLastScrape) and the
// names are joined by `or`, because timestamp of a pattern would make two series
// that differ in nothing but the name collide.
func gatewayQueue(time.Duration) string {
	queue := fmt.Sprintf(`sum by (namespace, model) (label_replace(label_replace(max by (namespace, pod, pod_name, fairness_id, priority, inference_pool, model_name, target_model_name) `+
		`({__name__=~"%s|%s"}), "%[3]s", "$1", "model_name", "(.+)"), "%[3]s", "$1", "target_model_name", "(.+)"))`,
		gatewayQueueName, gatewayQueueOldName, LabelGatewayModel)
	seen := "(" + twins("timestamp(%s)", gatewayDispatchName, gatewayDispatchOldName, gatewayQueueName, gatewayQueueOldName) + ")"
	at := fmt.Sprintf("max by (namespace) %[1]s or max by (namespace) (max_over_time(%[1]s[15m:30s]))", seen)
	return stat(StatQueue, queue) + " or " + stat(StatAt, at)
}
