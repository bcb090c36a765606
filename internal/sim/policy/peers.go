package policy

import "slices"

const kubernetes = "Kubernetes pkg/controller/podautoscaler"

// peers is the catalogue.
func peers() []peer {
	return slices.Concat(kubernetesPeers(), kedaPeers(), servingPeers(), ownPeers())
}

func kubernetesPeers() []peer {
	return []peer{
		define("static", "published benchmarks", "nothing", DefaultStaticParams(), (*StaticParams).fields, NewStatic),
		define("hpa-queue", kubernetes, "queue length", DefaultHPAParams(5),
			(*HPAParams).queueFields, NewHPAQueue),
		define("hpa-kv", kubernetes, "KV cache usage", DefaultHPAParams(0.7),
			func(p *HPAParams) []field { return p.fixedFields("KV cache usage", "0.5", "0.6", "0.7", "0.8", "0.9") }, NewHPAKV),
		define("hpa-rate", kubernetes, "arrival rate, benchmark", DefaultHPAParams(1),
			func(p *HPAParams) []field { return p.sharedFields("request rate") }, NewHPARate),
		define("hpa-inflight", kubernetes, "running, queue length, benchmark", DefaultHPAParams(1),
			func(p *HPAParams) []field { return p.sharedFields("concurrency") }, NewHPAInflight),
	}
}

func kedaPeers() []peer {
	const guides = "llm-d guides/workload-autoscaling"
	return []peer{
		define("keda", "KEDA pkg/scaling/executor, apis/keda/v1alpha1", "gateway queue, queue length", DefaultKEDAParams(5),
			func(p *KEDAParams) []field { return p.fields("1", "2", "5", "10", "20") }, NewKEDA),
		define("keda-epp", guides, "gateway queue, running", DefaultEPPParams(), (*EPPParams).fields, NewKEDAEPP),
		define("keda-queue-guard", guides, "gateway queue, running, pending", DefaultEPPParams(), (*EPPParams).fields, NewKEDAQueueGuard),
		define("keda-token", guides+"; TokenScale, arXiv 2512.03416", "uncached tokens, KV cache usage, benchmark, TTFT objective",
			DefaultTokenParams(), (*TokenParams).fields, NewKEDAToken),
		define("keda-slo", guides, "P90 of TTFT and ITL, objectives, ready", DefaultSLOParams(), (*SLOParams).fields, NewKEDASLO),
	}
}

func servingPeers() []peer {
	return []peer{
		define("kpa", "Knative pkg/autoscaler/scaling, config-autoscaler", "requests in flight, ready, benchmark",
			DefaultKPAParams(), (*KPAParams).fields, NewKPA),
		define("aibrix-apa", "AIBrix pkg/controller/podautoscaler", "KV cache usage", DefaultAPAParams(), (*APAParams).fields, NewAIBrixAPA),
		define("aibrix-ilp", "AIBrix gpu_optimizer; Melange, arXiv 2404.14527", "arrivals by length, profile, cost, benchmark",
			DefaultILPParams(), (*ILPParams).fields, NewAIBrixILP),
		define("dynamo-sla", "Dynamo docs/planner/sla_planner.md", "arrival rate, lengths, TTFT, ITL, profile, objectives",
			DefaultDynamoParams(), (*DynamoParams).fields, NewDynamoSLA),
		define("dynamo-load", "Dynamo planner/core/load_scaling.py", "KV cache usage, queued tokens, ready",
			DefaultDynamoLoadParams(), (*DynamoLoadParams).fields, NewDynamoLoad),
		define("ray-serve", "Ray serve/autoscaling_policy.py", "requests in flight, ready", DefaultRayParams(), (*RayParams).fields, NewRayServe),
	}
}

// rolePeers returns the peers for models that are served in prefill and decode.
func rolePeers() []peer {
	return []peer{
		define("hpa-paired", kubernetes+", a fixed ratio", "running, queue length or KV cache usage of decode, profile, ITL objective",
			DefaultPairedParams(), (*PairedParams).fields, NewPaired),
		define("heteroscale", "HeteroScale, arXiv 2508.19559", "decode tokens/s, ITL, profile, ITL objective",
			DefaultHeteroParams(), (*HeteroParams).fields, NewHetero),
	}
}

func ownPeers() []peer {
	return []peer{
		define("spare-capacity", "this project, first published rule", "peaks of KV cache usage and queue length, cost",
			DefaultSpareParams(), (*SpareParams).fields, NewSpareCapacity),
		define("spare-tokens", "this project, second published rule", "peaks of KV cache usage and queue length, KV cache size, lengths, cost",
			DefaultTokenSpareParams(), (*TokenSpareParams).fields, NewSpareTokens),
	}
}
