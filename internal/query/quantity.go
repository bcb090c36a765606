package query

// Quantity is one number that a decision may need. The values are dense from 0,
// so that numbers can be kept in an array of length Count.
type Quantity uint8

// The quantities. The recipes of each serving engine say how they are computed.
const (
	// PageTime is when a pod's page was scraped last: a recent time shows that the page is alive. A
	// pod that several jobs scrape has a row for each.
	PageTime Quantity = iota
	// ScrapeInterval is how often a job scrapes its pods.
	ScrapeInterval
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
	// KVCapacity is the size of the KV cache.
	KVCapacity
	// Decoding is the mean number of requests that wait for their next token over the window: the
	// seconds between tokens, summed, per second.
	Decoding
	// Generated is the rate of tokens without the first of each request.
	Generated
	// Starting is the mean number of requests that wait for their first token over the window. A
	// request counts when that token comes.
	Starting
	// Started is the rate of first tokens.
	Started
	// Generating marks a pod that generated tokens within the StuckSpan: its value is 1. A pod that
	// holds requests and has no row may be stuck.
	Generating
	// Resets is how often a counter of one address fell within the ResetsSpan, at least
	// leastResets. It falls once when a process restarts. Where several pods answer at one address
	// in turn, it falls every few scrapes. Where it falls more rarely, as with pods that count in
	// step, Resets is how often the process behind the address changed (Recipe.Began).
	Resets
	// Stuck marks a pod that holds requests while nothing moved within the StuckSpan: neither the
	// requests, nor the KV cache usage, nor any counter. Its value is the number of waiting
	// requests: above 0 the replica is sick, at 0 it is frozen.
	Stuck
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
	// PrefixHits is the part of the prompt tokens found in the prefix cache.
	PrefixHits
	// TTFTBuckets and ITLBuckets are the rates of observations at or below each
	// bound [ms], over the window.
	TTFTBuckets
	ITLBuckets
	// RequestITLBuckets are the same for the mean ITL of each finished request, which is 0 for an
	// answer of one token.
	RequestITLBuckets
	// GatewaySeen is when an endpoint picker with flow control was scraped last.
	GatewaySeen
	// GatewayQueue is the number of requests that the endpoint picker holds back.
	GatewayQueue
	// GatewayArrivals is the rate at which requests reach the endpoint picker:
	// those it sent on, those it refused, and the growth of its queue.
	GatewayArrivals
	// NoRequestSince is the time since when the engines of a model show no request and cannot have
	// missed one: since then every pod that is there now was scraped without a gap longer than the
	// window, no counter of requests or tokens has moved, and no request ran or waited. It is no
	// earlier than the Span reaches back, and late by up to the window and two of IdleStep.
	NoRequestSince

	// Count is the number of quantities.
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
	TokensPerSecond   Unit = "tokens/s"   // >= 0
	Milliseconds      Unit = "ms"         // >= 0
	Seconds           Unit = "s"          // >= 0
	UnixSeconds       Unit = "unix s"     // since 1970, with fractions
	PerSecond         Unit = "1/s"        // observations
	Flag              Unit = "flag"       // always 1
	Times             Unit = "times"      // >= 0
)

// Scope is what one row is about.
type Scope string

// The scopes, with the fields of Row that identify the pod, model, job or gateway.
const (
	PerPod     Scope = "pod"     // Namespace, Pod; Model where the source names it; of PageTime also Job, of Resets Job and Instance
	PerModel   Scope = "model"   // Namespace, Model
	PerJob     Scope = "job"     // Namespace, Job
	PerGateway Scope = "gateway" // Namespace of the picker; Model, "" for GatewaySeen
)

// line is one line of the table of quantities.
type line struct {
	name  string
	unit  Unit
	scope Scope
}

// lines returns the table. It is a function because a table in a variable could
// be changed.
func lines() [Count]line {
	return [Count]line{
		PageTime:          {"page_time", UnixSeconds, PerPod},
		ScrapeInterval:    {"scrape_interval", Seconds, PerJob},
		KVCacheUsagePeak:  {"kv_cache_usage_peak", Ratio, PerPod},
		KVCacheUsage:      {"kv_cache_usage", Ratio, PerPod},
		QueueLengthPeak:   {"queue_length_peak", Requests, PerPod},
		QueueLength:       {"queue_length", Requests, PerPod},
		Running:           {"running", Requests, PerPod},
		KVCapacity:        {"kv_capacity", Tokens, PerPod},
		Decoding:          {"decoding", Requests, PerPod},
		Generated:         {"generated", TokensPerSecond, PerPod},
		Starting:          {"starting", Requests, PerPod},
		Started:           {"started", RequestsPerSecond, PerPod},
		Generating:        {"generating", Flag, PerPod},
		Resets:            {"resets", Times, PerPod},
		Stuck:             {"stuck", Requests, PerPod},
		Completions:       {"completions", RequestsPerSecond, PerModel},
		InFlightGrowth:    {"in_flight_growth", RequestsPerSecond, PerModel},
		InputTokens:       {"input_tokens", Tokens, PerModel},
		OutputTokens:      {"output_tokens", Tokens, PerModel},
		TTFT:              {"ttft", Milliseconds, PerModel},
		ITL:               {"itl", Milliseconds, PerModel},
		PrefixHits:        {"prefix_hits", Ratio, PerModel},
		TTFTBuckets:       {"ttft_buckets", PerSecond, PerModel},
		ITLBuckets:        {"itl_buckets", PerSecond, PerModel},
		RequestITLBuckets: {"request_itl_buckets", PerSecond, PerModel},
		GatewaySeen:       {"gateway_seen", UnixSeconds, PerGateway},
		GatewayQueue:      {"gateway_queue", Requests, PerGateway},
		GatewayArrivals:   {"gateway_arrivals", RequestsPerSecond, PerGateway},
		NoRequestSince:    {"quiet_since", UnixSeconds, PerModel},
	}
}

// line returns the line of q. It panics on a value that is not in the catalogue.
func (q Quantity) line() line {
	if int(q) >= Count {
		panic("query: no such quantity")
	}
	return lines()[q]
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
func (q Quantity) String() string { return q.line().name }

// Unit returns what the values of q count.
func (q Quantity) Unit() Unit { return q.line().unit }

// Scope returns what one row of q is about.
func (q Quantity) Scope() Scope { return q.line().scope }
