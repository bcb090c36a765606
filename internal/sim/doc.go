// Package sim runs a workload against a simulated cluster in virtual time, under
// a policy that sets replicas, and measures what came of it: attainment,
// latencies, cost, failures. The policy may be the autoscaler itself: [Engine]
// calls the very function that the manager calls, on Snapshots that are made as
// internal/collector makes them.
//
// Other autoscalers are rules of internal/sim/policy. [Peer] gives them what they read.
//
// It reads no clock and draws no ambient randomness. A run is a function of its
// Config and the policy: the same seed gives the same Report, byte for byte. A
// run is for one goroutine; runs side by side share nothing.
//
// # Events
//
// Time is an offset from the start of the run, in whole nanoseconds. A heap holds the events; the
// run reads arrivals from the workloads one at a time, so memory does not grow with the length of a
// trace. At one instant arrivals come first, then events in the order in which they were scheduled.
//
//	ready     a replica has started and takes requests
//	drained   a removed replica may have finished its last request
//	kill      the grace of a removed replica is over: its requests are lost
//	expire    a request that waits at the gateway may have waited too long
//	scrape    the store reads the page of a pod or of a gateway
//	look      an attentive policy looks whether it should decide now
//	decide    the run asks the policy
//	sync      the scaler carries out the decisions of the policy
//	interval  an interval of the measurements ends
//	begin     a fault begins; end ends it
//	wave      a rollout replaces some replicas
//	leave     a client has lost its patience
//	return    a client that left comes back
//	turn      a fault makes a pod crash, lose its readiness or get it back
//	node      a fault that kept a pod without a node lets it have one
//	step      a step of a prefill replica has ended
//	pass      prefill is done with a request, which looks for a decode replica
//	moved     the KV cache of a request has moved to a decode replica
//
// The steps of a replica are not events, except in prefill, where requests go on when a step ends.
// A replica does nothing until an event looks at it, and then catches up, so a run costs little
// more than its steps. An event sees everything that ended before its instant: a step that begins
// at that instant still takes in every request of it, as internal/serving asks.
//
// # A request
//
//	arrives ── no replica is ready ──> held ── one becomes ready ──> submitted
//	   │                                 └── waits longer than Hold ──> expired
//	   ├── routed ──> submitted ── last token ──> finished
//	   │                  ├── its replica is killed ──> lost
//	   │                  └── patience over before a batch takes it ──> abandoned
//	   └── no replica takes it ──> rejected
//
// A client whose patience is over abandons a held request, too, and may come back with another (see
// Patience). That is one more attempt of the same user: the user's request is counted already and
// is a miss; the attempt is load for the fleet and in no share or latency. An engine forgets a
// request that is taken back: it leaves running and waiting, and no counter of requests that ended
// has it (vLLM issue 31503).
//
// At every end of an interval, and in tests after every event,
//
//	arrived + came back = finished + rejected + expired + lost + abandoned + held + submitted
//
// must hold, with the last term counted by the replicas. Run returns an error
// if it does not.
//
// A part of the prompts may begin like earlier ones (see Prefix): the cache of a replica has a part
// of them once the replica has seen enough prompts since it became Ready. Cached tokens take no
// room from running requests, and no gateway routes by them.
//
// # Prefill and decode
//
// A model with a variant of scaling.RolePrefill is served in two parts, as llm-d does it:
//
//	held or routed ──> prefill: one token ──> transfer ──> decode: all tokens ──> finished
//	                                │
//	                                └── no decode replica is ready ──> waits ── longer than Hold ──> expired
//
// The gateway routes among the Ready prefill replicas, and when a prompt is computed among the
// decode replicas. The token of prefill is dropped: the user's first token is that of decode, so
// the TTFT is the time in prefill, the transfer, the wait for decode and its first step. From the
// begin of the transfer the request is in the decode replica's queue and in its TTFT; the replica
// then computes the last token of the prompt again (vLLM). A request is lost with either pod while
// its KV cache moves. A client may take back a request that waits for a ready replica or in the
// queue of one. Prompts find prefixes in the caches of prefill only. The books count a request on
// its way from prefill to decode as submitted.
//
// Not simulated: the room that the KV cache of a prompt takes in prefill until it has moved, and in
// decode while it moves; transfers that share a network; prefixes in the caches of decode.
//
// # A replica
//
//	ordered ── a node has room ──> starting ──> serving ──> draining ──> gone
//	   └─────────────── removed ──────┴───────────────────────────────────┘
//
// A fault (internal/sim/fault) takes a serving replica back to starting, when it crashes, or out of
// service until it is ready again. Only in the latter case the replica keeps its requests.
//
// A replica occupies a node, and costs, from when it is placed until it is gone. A pod that waits
// takes free room at once. When replicas are removed, those without a node go first, then those
// that start, then the youngest, as a ReplicaSet does it.
//
// # What a policy sees
//
// A View has one Snapshot for each model, the stock of accelerators, and what the gateway and the
// cluster know without a metrics store. Config.Sync delays decisions like a
// HorizontalPodAutoscaler, which reads them at its own times.
//
// The run asks [Engine] when the manager would run a cycle: at its interval, when the replicas of a
// target change or become Ready, and when a look finds a change by the rule of
// internal/engines/watch. It asks any other policy at its interval.
//
// The store scrapes a page every ScrapeInterval, each pod at its own phase, from when the pod is
// ready. Peaks, rates, means and freshness follow internal/query and internal/collector: the window
// is max(1m, 4 intervals), 5m while the interval is not known; rates are extrapolated as Prometheus
// does; the counts of a pod that is gone stay in the window. A test compares the Snapshots with
// those of the real collector. Not simulated: several engines or ranks behind one pod, replicas
// that are stuck, failing queries, and the cache of answers. Histograms of the ITL count every
// token of a request with the mean of the request.
//
// In a model that is served in parts both roles count a request, as vLLM does. The Snapshot has the
// load of each role (Snapshot.Roles) from the paces of its pods.
//
// # What is measured
//
// A request meets its objective if its TTFT, counted from its arrival at the gateway, and its ITL,
// the mean over its own tokens, are within the SLO. A request that did not finish is a miss. Cost
// counts until the last arrival (or Duration), the same for every policy; the run then follows
// requests for Tail. Config.From leaves a first part of the run out of the Report, for a policy
// that was tuned on it. Quantiles come from [Sketch], within 1 %.
//
// # Whether it is right
//
// Tests compare a run with closed forms of queueing theory, the Snapshots with those of the
// collector, the scaler with the HorizontalPodAutoscaler controller, and a whole day with the local
// cluster (test/day).
package sim
