// Package emulator is a fleet of LLM serving replicas in real time: it looks to clients
// like an OpenAI-compatible gateway and to Prometheus like vLLM pods and an endpoint picker
// (EPP), and needs no GPU. It is not a load generator, and it decides nothing about the
// number of replicas.
//
// A pod of the cluster that carries both annotations
//
//	wva.llmd.ai/emulated-profile: <name of a serving profile>
//	wva.llmd.ai/emulated-model: <model ID>
//
// on its template and is Ready is one internal/serving replica. A request goes to the least loaded
// Ready replica of its namespace and model (waiting + running, ties by pod name). While there is
// none, the request is held, first in first out, and counted in
// inference_extension_flow_control_queue_size. A Deployment whose template carries the annotations
// makes its model known before it has pods.
//
// A pod with the label llm-d.ai/role: prefill computes prompts. While one is Ready, each request
// first goes to prefill as a request of one token, which the page of that pod counts. When its KV
// cache has moved, it goes to a decode replica, which is any other, as a request whose prompt is
// computed except for the last token. While no decode replica is Ready, requests are held.
//
// # Life of a replica
//
//	pod                        replica
//	not Ready yet              none; its metrics page answers 503, as while a model loads
//	Ready                      takes requests
//	was Ready, is not          takes no new requests, continues those it has
//	terminating or gone        drains: has the grace to finish its requests
//	grace over                 requests with streamed output fail, others go to the head of the held ones
//
// # What is served
//
//	/NAMESPACE/MODEL/v1/completions        POST; MODEL may contain slashes
//	/NAMESPACE/MODEL/v1/chat/completions   POST
//	/NAMESPACE/MODEL/v1/models             GET
//	/v1/...                                the same, by the field "model" if only one namespace has it
//	/pods/NAMESPACE/POD/metrics            a vLLM page
//	/gateway/NAMESPACE/metrics             an EPP page
//	/sd                                    Prometheus HTTP service discovery
//	/healthz                               "ok"
//
// # Requests
//
// The input length is, in this order: the header X-Input-Tokens, the extension field
// "input_tokens", the number of whitespace-separated words of prompt or messages (for a prompt of
// token IDs, their number). The extension field "cached_tokens" is the number of them in the prefix
// cache. The output is exactly max_tokens (or max_completion_tokens) words of filler, by default 16
// for completions and 256 for chat, cut to what the replica's maxModelLen and KV cache allow; so
// finish_reason is always "length". The header X-Gateway-Inference-Fairness-Id names the flow.
//
// # Without a cluster
//
// Replica is one replica by itself, for a real pod, and Gateway holds requests in front of such
// pods. Each serves its page at /metrics.
//
// # Layers
//
// fleet and pool are pure: they take the time as an offset, and tests run them in virtual time.
// Emulator adds a lock, a clock and one goroutine; Handler adds HTTP; Cluster watches pods.
// catalogue.go holds every metric of a vLLM page with the releases that have it.
package emulator
