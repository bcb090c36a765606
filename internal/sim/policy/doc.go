// Package policy is the autoscalers of this field as plain values, for a simulator to step: the
// rule of each with the defaults that it is shipped with, and a HorizontalPodAutoscaler in series
// where it needs one.
//
// It is neither the decision core of this project nor a client of any of these projects. The rules
// are restated from public sources and documents; a difference between a rule here and the peer is
// a fault of this package, unless it is listed under Differences. The HPA is compared with the
// controller's own code: a test replays the controller's answers to random metrics
// (test/localcluster/hpa).
//
//	p, err := policy.ByName("kpa", map[string]string{"utilization": "0.6"})
//	for now := begin; now.Before(end); now = now.Add(p.Interval()) {
//		targets := p.Decide(now, observe(now))
//	}
//
// An [Autoscaler] decides for one model. It does not know the roles of its variants; only
// dynamo-sla and the policies of RoleCatalogue do, which scale prefill and decode. Apart from
// static, aibrix-ilp and the rules of this project, a peer scales each variant alone: it sees the
// load of its own pods, and all of the gateway queue. It treats a missing value as the peer does:
// an HPA holds, a ScaledObject reads 0, Knative and Ray count the reports that they get.
//
// An Autoscaler returns the number of replicas that the scale subresource is set to. The HPAs,
// aibrix-apa and the rules of this project keep the last replica and do nothing at zero; the two of
// Dynamo never have fewer than one. static, keda, the rules of KEDA on the endpoint picker, kpa,
// ray-serve and aibrix-ilp go to zero where the bounds of the variant allow it, and come back.
//
// # Policies
//
//	static
//	    source    published benchmarks
//	    reads     nothing
//	    defaults  every 1m: replicas=2
//	hpa-queue
//	    source    Kubernetes pkg/controller/podautoscaler
//	    reads     queue length
//	    defaults  every 15s: target=5 stabilize-down=5m stabilize-up=0s tolerance=0.1 sync=15s type=AverageValue
//	hpa-kv
//	    source    Kubernetes pkg/controller/podautoscaler
//	    reads     KV cache usage
//	    defaults  every 15s: target=0.7 stabilize-down=5m stabilize-up=0s tolerance=0.1 sync=15s
//	hpa-rate
//	    source    Kubernetes pkg/controller/podautoscaler
//	    reads     arrival rate, benchmark
//	    defaults  every 15s: share=1 stabilize-down=5m stabilize-up=0s tolerance=0.1 sync=15s
//	hpa-inflight
//	    source    Kubernetes pkg/controller/podautoscaler
//	    reads     running, queue length, benchmark
//	    defaults  every 15s: share=1 stabilize-down=5m stabilize-up=0s tolerance=0.1 sync=15s
//	keda
//	    source    KEDA pkg/scaling/executor, apis/keda/v1alpha1
//	    reads     gateway queue, queue length
//	    defaults  every 15s: target=5 stabilize-down=5m polling=30s cooldown=5m
//	keda-epp
//	    source    llm-d guides/workload-autoscaling
//	    reads     gateway queue, running
//	    defaults  every 15s: running=16 stabilize-down=5m queue=1
//	keda-queue-guard
//	    source    llm-d guides/workload-autoscaling
//	    reads     gateway queue, running, pending
//	    defaults  every 15s: running=16 stabilize-down=5m queue=1
//	keda-token
//	    source    llm-d guides/workload-autoscaling; TokenScale, arXiv 2512.03416
//	    reads     uncached tokens, KV cache usage, benchmark, TTFT objective
//	    defaults  every 15s: share=1 kv=0.8 stabilize-down=5m
//	keda-slo
//	    source    llm-d guides/workload-autoscaling
//	    reads     P90 of TTFT and ITL, objectives, ready
//	    defaults  every 15s: up=0.55 down=0.4 window=45s
//	kpa
//	    source    Knative pkg/autoscaler/scaling, config-autoscaler
//	    reads     requests in flight, ready, benchmark
//	    defaults  every 2s: utilization=0.7 stable-window=1m target=0 panic-window=0.1 panic-threshold=2 max-up=1000 max-down=2 grace-period=30s tick=2s
//	aibrix-apa
//	    source    AIBrix pkg/controller/podautoscaler
//	    reads     KV cache usage
//	    defaults  every 10s: target=0.7 window=3m tolerance=0.1 max-up=2 max-down=2 cooldown-up=0s cooldown-down=5m resync=10s
//	aibrix-ilp
//	    source    AIBrix gpu_optimizer; Melange, arXiv 2404.14527
//	    reads     arrivals by length, profile, cost, benchmark
//	    defaults  every 10s: window=4m slices=1 max-up=2 max-down=2 cooldown=5m resync=10s
//	dynamo-sla
//	    source    Dynamo docs/planner/sla_planner.md
//	    reads     arrival rate, lengths, TTFT, ITL, profile, objectives
//	    defaults  every 15s: interval=3m predictor=kalman tick=15s max-gpus=0
//	dynamo-load
//	    source    Dynamo planner/core/load_scaling.py
//	    reads     KV cache usage, queued tokens, ready
//	    defaults  every 5s: up=1 down=0.6 interval=5s max-gpus=0
//	ray-serve
//	    source    Ray serve/autoscaling_policy.py
//	    reads     requests in flight, ready
//	    defaults  every 1s: target=2 downscale-delay=10m upscale-delay=30s look-back=30s push=10s upscaling-factor=1 downscaling-factor=1 loop=1s
//	spare-capacity
//	    source    this project, first published rule
//	    reads     peaks of KV cache usage and queue length, cost
//	    defaults  every 15s: kv-spare=0.1 queue-spare=3 kv=0.8 queue=5 window=1m tolerance=0.1
//	spare-tokens
//	    source    this project, second published rule
//	    reads     peaks of KV cache usage and queue length, KV cache size, lengths, cost
//	    defaults  every 15s: up=0.85 down=0.7 kv=0.8 queue=5 window=1m tolerance=0.1
//
// # Prefill and decode
//
//	hpa-paired
//	    source    Kubernetes pkg/controller/podautoscaler, a fixed ratio
//	    reads     running, queue length or KV cache usage of decode, profile, ITL objective
//	    defaults  every 15s: share=0.8 ratio=0 signal=inflight stabilize-down=5m tolerance=0.1 sync=15s
//	heteroscale
//	    source    HeteroScale, arXiv 2508.19559
//	    reads     decode tokens/s, ITL, profile, ITL objective
//	    defaults  every 15s: share=0.8 ratio=0 out=0.1 in=0.1 trigger=1.2 step=0.2 cooldown-out=1m cooldown-in=5m tick=15s
//
// # Differences
//
//   - Dynamo's default predictor is an ARIMA that searches its order at run
//     time. Here it is the Kalman filter that Dynamo offers too, with its settings.
//     Where Dynamo interpolates in a measured grid, the rule here reads the variant's Profile,
//     and an aggregated pool gets the sum of the engines for prefill and
//     decode. Dynamo's planner that estimates latencies by regression is not here.
//   - HeteroScale's paper leaves targets and times between changes to measurements of a
//     model; here the target is a part of what the profile generates within the ITL
//     objective. Its placement of replicas and its other latencies are not here.
//   - The ratio of hpa-paired and heteroscale, unless stated, is the one that the
//     profiles call for at the first known load, as an operator sets it up after
//     measuring. It stays, and a run shows what that costs.
//   - AIBrix clusters the lengths of requests before it maps them to its grid;
//     here each length goes to the nearest point of the grid, which does not end
//     at AIBrix's 2048 input and 512 output tokens: an operator with longer requests
//     measures them. AIBrix reads a measured rate for each point of the grid;
//     here the benchmark's rate is scaled by the time that a request of the length
//     takes: a length that misses the objectives by itself counts for that
//     time, and does not stop the plan. AIBrix's solver is exact;
//     the search here is exact until it has looked at 20000 nodes, and then
//     returns the best plan that it has found.
//   - Ray Serve decides every 0.1 s; the default here is 1 s. Its delays are times
//     and not counts of rounds. The bounds limit what it wants, so its separate
//     delay for the last replica is the ordinary one.
//   - Knative's proxies report every second and Ray's replicas every Push; here both
//     read the count of the instant, Ray once every Push.
//   - Knative's scale to zero is reduced to its two times: active for a stable
//     window, then inactive for the grace period.
//   - KEDA's fallback, pausing and idle replicas are left out: they are off by
//     default.
//   - The rules of this project do not scale to zero by themselves, and their HPA
//     keeps one replica.
//
// # Time
//
// The caller gives the times of decisions, Interval apart. All memory (windows, stabilization,
// panic, filters) is in the Autoscaler; a new one is like a controller that has just restarted.
package policy
