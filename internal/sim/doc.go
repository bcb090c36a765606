// Package sim runs a workload against a simulated cluster in virtual time, under
// a policy that sets replicas, and measures what came of it: attainment,
// latencies, cost, failures. The policy may be the autoscaler itself: [Engine]
// calls the very function that the manager calls, on Snapshots that are made as
// internal/collector makes them.
//
// Other autoscalers are rules of internal/sim/policy, which [Peer] shows what they
// read.
//
// It reads no clock and draws no ambient randomness. A run is a function of its
// Config and the policy: the same seed gives the same Report, byte for byte. A
// run is for one goroutine; runs side by side share nothing.
//
// # Events
//
// Time is an offset from the start of the run, in whole nanoseconds. A heap
// holds what is due; arrivals come from the workloads one at a time, so memory
// does not grow with the length of a trace. At one instant arrivals come first,
// then events in the order in which they were scheduled.
//
//	ready     a replica has started and takes requests
//	drained   a removed replica may have finished its last request
//	kill      the grace of a removed replica is over: what it holds is lost
//	expire    a request that waits at the gateway may have waited too long
//	scrape    the store reads the page of a pod or of a gateway
//	look      a policy that is attentive is shown what it would decide on
//	decide    the policy is asked
//	sync      what the policy said is carried out
//	interval  a stretch of the measurements ends
//	begin     a fault begins, and with end it is over
//	wave      a rollout replaces some replicas
//	leave     a client has lost its patience
//	return    a client that left comes back
//	turn      a fault has a pod crash, lose its readiness or get it back
//	node      a node comes for a pod that a fault kept without
//	step      a step of a prefill replica has ended
//	pass      prefill is done with a request, which looks for a decode replica
//	moved     the KV cache of a request has moved to a decode replica
//
// The steps of a replica are not events, but for those of prefill, whose requests go on
// when a step ends. A replica does nothing until an event looks at it, and then catches up,
// so a run costs little more than its steps.
// An event sees what ended before its instant: a step that begins then
// still takes in every request of that instant, as internal/serving asks.
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
// What is held is abandoned when the patience of its client is over, too. A client that
// abandoned a request may come back with another (see Patience). That is one more
// attempt of the same user: the request of the user was counted and is a miss, and the
// attempt is load for the fleet and no request in any share or latency. An engine
// forgets what is taken back: it leaves running and waiting, and no counter of
// requests that ended has it (vLLM issue 31503).
//
// At every end of an interval, and in tests after every event,
//
//	arrived + came back = finished + rejected + expired + lost + abandoned + held + submitted
//
// must hold, with the last term counted by the replicas. Run returns an error
// if it does not.
//
// A part of the prompts may begin like earlier ones (see Prefix): the cache of a
// replica then has a part of them, if it has seen enough prompts since it became Ready.
// What caches hold takes no room from running requests, and no gateway routes by it.
//
// # Prefill and decode
//
// A model with a variant of scaling.RolePrefill is served in parts, as llm-d does it:
//
//	held or routed ──> prefill: one token ──> transfer ──> decode: all tokens ──> finished
//	                                │
//	                                └── no decode replica is ready ──> waits ── longer than Hold ──> expired
//
// The gateway routes among the Ready replicas of prefill, and when a prompt is computed
// among those of decode. The token of prefill is dropped: the user's first is that of
// decode, so the TTFT is the time in prefill, the transfer, the wait for decode and its
// first step. The decode replica has the request from when the transfer begins, in its
// queue and in its TTFT, and then computes the last token of the prompt again (vLLM). A
// request is lost with either pod while its KV cache moves. A client takes a request back
// that waits for a replica to be ready or in the queue of one. Prefix caches are those of
// prefill. In the books of requests, what is on its way counts as submitted.
//
// Not simulated: the room that the KV cache of a prompt takes in prefill until it has moved,
// and in decode while it does; transfers that share a network; decode that finds a part of a
// prompt in its own cache.
//
// # A replica
//
//	ordered ── a node has room ──> starting ──> serving ──> draining ──> gone
//	   └─────────────── removed ──────┴───────────────────────────────────┘
//
// A fault (internal/sim/fault) takes a serving replica back to starting, when it
// crashes, or out of service until it is ready again; what it serves then it keeps in
// the latter case only.
//
// It occupies a node, and costs, from when it is placed until it is gone; a pod that
// waits takes the room at once. Those
// without a node go first when replicas are removed, then those that start, then
// the youngest, as a ReplicaSet does it.
//
// # What a policy sees
//
// A View is one Snapshot for each model, the stock of accelerators, and what the
// gateway and the cluster know without a store of metrics between. Config.Sync
// delays what is decided, as a HorizontalPodAutoscaler does that reads the decision
// at times of its own.
//
// [Engine] is asked when the manager runs a cycle: at its interval, when the
// replicas of a target change or become Ready, and when a look finds a change by the
// rule of internal/engines/watch. Any other policy is asked at its interval.
//
// Pages are scraped every ScrapeInterval, each pod at its own phase, from when
// it is ready. Peaks, rates, means and freshness follow internal/query and
// internal/collector: the window is max(1m, 4 intervals), 5m while the interval
// is not known; rates are extrapolated as Prometheus does; what was counted by a
// pod that is gone stays in the window. A test holds the Snapshots against the
// real collector's. Not simulated: several engines or ranks behind one pod,
// replicas that are stuck, failing queries, and the cache of answers. Histograms
// of the ITL count every token of a request with the mean of the request.
//
// Of a model that is served in parts both roles count a request, as vLLM does, and the Snapshot has
// the load of each role (Snapshot.Roles) from the paces of its pods.
//
// # What is measured
//
// A request meets its objective if its TTFT, counted from its arrival at the
// gateway, and its ITL, the mean over its own tokens, are within the SLO.
// Whatever did not finish is a miss. Cost counts until the last arrival (or
// Duration), the same for every policy; requests are then followed for Tail.
// Config.From leaves a first part of the run out of the Report, for a policy that
// was tuned on it.
// Quantiles come from [Sketch], within 1 %.
//
// # Whether it is right
//
// Tests hold a run to closed forms of queueing theory, the Snapshots to those of the
// collector, the scaler to the HorizontalPodAutoscaler controller, and a whole day to
// the local cluster (test/day).
package sim
