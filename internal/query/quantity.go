package query

import (
	"strings"
	"time"
)

// Quantity is one entry of the catalogue. The values are dense from 0, so that
// answers can be kept in an array of length Count.
type Quantity uint8

// The quantities. The comment of each says what one row of the answer means;
// the reasons for the expression stand at its builder.
const (
	// LastScrape is when each pod was scraped last and how often, the witness
	// that a pod's page is alive. Rows carry LabelStat.
	LastScrape Quantity = iota
	// KVCacheUsagePeak is the highest KV cache usage within the window.
	KVCacheUsagePeak
	// KVCacheUsage is the KV cache usage at the last scrape.
	KVCacheUsage
	// QueueLengthPeak is the highest number of waiting requests within the
	// window.
	QueueLengthPeak
	// QueueLength is the number of waiting requests at the last scrape.
	QueueLength
	// Running is the number of requests in the batch at the last scrape.
	Running
	// KVCapacity describes the KV cache. Its value is 1: the numbers are in the
	// labels LabelCacheTokens, LabelBlocks and LabelBlockSize, as text.
	KVCapacity
	// Completions is the rate at which requests finish, for whatever reason.
	Completions
	// InFlightGrowth is the rate at which running and waiting requests together
	// grow; negative while they become fewer.
	InFlightGrowth
	// InputTokens is the mean length of the prompts of finished requests.
	InputTokens
	// OutputTokens is the mean length of the answers of finished requests.
	OutputTokens
	// TTFT is the mean time to first token, the queue of the engine included.
	TTFT
	// ITL is the mean inter-token latency.
	ITL
	// GatewayQueue is the number of requests that the gateway's endpoint picker
	// holds back, and when that picker was scraped last. Rows carry LabelStat.
	GatewayQueue

	// Count is the number of quantities, and so of queries in one cycle.
	Count = iota
)

// Unit is what the value of a row counts.
type Unit string

// The units.
const (
	Ratio             Unit = "ratio"      // in [0, 1]
	Requests          Unit = "requests"   // >= 0
	RequestsPerSecond Unit = "requests/s" // InFlightGrowth may be negative
	Tokens            Unit = "tokens"     // >= 0
	Milliseconds      Unit = "ms"         // >= 0
	UnixSeconds       Unit = "s"          // since 1970, with fractions
	Info              Unit = "info"       // always 1, the labels count
)

// Scope is what one row of an answer is about.
type Scope string

// The scopes, with the labels that identify a row.
const (
	PerPod   Scope = "pod"   // LabelNamespace, LabelPod or LabelPodName, LabelModel
	PerModel Scope = "model" // LabelNamespace, LabelModel
	// PerGateway rows have LabelNamespace, that of the endpoint picker, and
	// LabelGatewayModel.
	PerGateway Scope = "gateway"
)

// The labels of the rows.
const (
	LabelNamespace = "namespace"
	// LabelPod names the pod, LabelPodName where the former is missing.
	LabelPod     = "pod"
	LabelPodName = "pod_name"
	LabelModel   = "model_name"
	LabelJob     = "job" // of LastScrape: scrape intervals differ by job
	// LabelGatewayModel is the target model of a held request, or what the
	// client asked for where the target is unknown.
	LabelGatewayModel = "model"
	// LabelCacheTokens is the KV cache of one pod in tokens. Where it is missing,
	// LabelBlocks x LabelBlockSize. Text, "None" when unknown.
	LabelCacheTokens = "kv_cache_size_tokens"
	LabelBlocks      = "num_gpu_blocks"
	LabelBlockSize   = "block_size"
	// LabelStat tells apart the rows of an expression that answers two
	// questions: StatAt, StatScrapes, StatQueue.
	LabelStat = "stat"
)

// The values of LabelStat.
const (
	StatAt      = "at"      // the value is the time of the last scrape [unix s]
	StatScrapes = "scrapes" // the value counts the scrapes within ScrapeSpan
	StatQueue   = "queue"   // the value counts held requests
)

// entry is one line of the catalogue. A builder takes the rendered window.
type entry struct {
	name     string
	unit     Unit
	scope    Scope
	windowed bool
	vllm     func(window time.Duration) string
	gateway  func(window time.Duration) string
}

// catalogue returns the table. It is a function because a table in a variable
// could be changed.
func catalogue() [Count]entry {
	return [Count]entry{
		LastScrape:       {name: "last_scrape", unit: UnixSeconds, scope: PerPod, vllm: vllmLastScrape},
		KVCacheUsagePeak: {name: "kv_cache_usage_peak", unit: Ratio, scope: PerPod, windowed: true, vllm: vllmKVCacheUsagePeak},
		KVCacheUsage:     {name: "kv_cache_usage", unit: Ratio, scope: PerPod, vllm: vllmKVCacheUsage},
		QueueLengthPeak:  {name: "queue_length_peak", unit: Requests, scope: PerPod, windowed: true, vllm: vllmQueueLengthPeak},
		QueueLength:      {name: "queue_length", unit: Requests, scope: PerPod, vllm: vllmQueueLength},
		Running:          {name: "running", unit: Requests, scope: PerPod, vllm: vllmRunning},
		KVCapacity:       {name: "kv_capacity", unit: Info, scope: PerPod, vllm: vllmKVCapacity},
		Completions:      {name: "completions", unit: RequestsPerSecond, scope: PerModel, windowed: true, vllm: vllmCompletions},
		InFlightGrowth:   {name: "in_flight_growth", unit: RequestsPerSecond, scope: PerModel, windowed: true, vllm: vllmInFlightGrowth},
		InputTokens:      {name: "input_tokens", unit: Tokens, scope: PerModel, windowed: true, vllm: vllmInputTokens},
		OutputTokens:     {name: "output_tokens", unit: Tokens, scope: PerModel, windowed: true, vllm: vllmOutputTokens},
		TTFT:             {name: "ttft", unit: Milliseconds, scope: PerModel, windowed: true, vllm: vllmTTFT},
		ITL:              {name: "itl", unit: Milliseconds, scope: PerModel, windowed: true, vllm: vllmITL},
		GatewayQueue:     {name: "gateway_queue", unit: Requests, scope: PerGateway, gateway: gatewayQueue},
	}
}

// entry returns the line of q. It panics on a value that is not in the
// catalogue.
func (q Quantity) entry() entry {
	if int(q) >= Count {
		panic("query: no such quantity")
	}
	return catalogue()[q]
}

// All returns every quantity in catalogue order.
func All() []Quantity {
	all := make([]Quantity, Count)
	for i := range all {
		all[i] = Quantity(i)
	}
	return all
}

// String returns the name of q, fit for a log key or a metric label.
func (q Quantity) String() string { return q.entry().name }

// Unit returns what the values of q count.
func (q Quantity) Unit() Unit { return q.entry().unit }

// Scope returns what one row of the answer is about.
func (q Quantity) Scope() Scope { return q.entry().scope }

// Windowed reports whether Expr depends on the window.
func (q Quantity) Windowed() bool { return q.entry().windowed }

// Expr returns the PromQL expression of q, for all pods and models. Peaks, rates
// and means are taken over window, which should span four scrape intervals or
// more: below two a rate has no result.
func (q Quantity) Expr(window time.Duration) string {
	e := q.entry()
	var columns []string
	for _, build := range []func(time.Duration) string{e.vllm, e.gateway} {
		if build != nil {
			columns = append(columns, build(window))
		}
	}
	return strings.Join(columns, " or ")
}
