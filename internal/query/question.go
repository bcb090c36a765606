package query

import "time"

// Question is one question, in one expression of a metrics store: about one quantity where its rows
// are many, about several where they are few. The values are dense from 0.
type Question uint8

// The questions.
const (
	// AskPages must be the first: the other answers are only as good as the pages that they come
	// from.
	AskPages Question = iota
	// AskEarlierPages asks for PageTime 15 minutes back. It costs several times as much as
	// AskPages, and is asked when a Ready pod has no page there.
	AskEarlierPages
	AskScrapeIntervals
	AskKVCacheUsagePeak
	AskKVCacheUsage
	AskQueueLengthPeak
	AskQueueLength
	AskRunning
	AskKVCapacity
	// AskPace asks for the speed of each pod, for the models that have a latency objective, or
	// prefill and decode.
	AskPace
	// AskGenerating asks for Generating and Resets. The rows of Resets are few and have a
	// LabelStat, while those of Generating have none.
	AskGenerating
	// AskStuck costs ten times as much as AskGenerating for as many pods. It is asked about the
	// pods that hold requests and generate nothing.
	AskStuck
	AskFlow
	AskMeans
	AskGateway
	// AskObjective asks for quantities that only a prediction of latencies needs, for the models
	// that have a latency objective.
	AskObjective
	// AskRecent looks back over Request.Span, further than any other question. It is asked beside
	// the others, about some of the idle models, until it is known since when they are idle.
	AskRecent

	// QuestionCount is the number of questions.
	QuestionCount = iota
)

// topic is one line of the table of questions: a name, and the first and the last of its
// quantities, which are consecutive in the catalogue.
type topic struct {
	name        string
	first, last Quantity
}

func topics() [QuestionCount]topic {
	return [QuestionCount]topic{
		AskPages:            {"pages", PageTime, PageTime},
		AskEarlierPages:     {"earlier_pages", PageTime, PageTime},
		AskScrapeIntervals:  {"scrape_intervals", ScrapeInterval, ScrapeInterval},
		AskKVCacheUsagePeak: {"kv_cache_usage_peak", KVCacheUsagePeak, KVCacheUsagePeak},
		AskKVCacheUsage:     {"kv_cache_usage", KVCacheUsage, KVCacheUsage},
		AskQueueLengthPeak:  {"queue_length_peak", QueueLengthPeak, QueueLengthPeak},
		AskQueueLength:      {"queue_length", QueueLength, QueueLength},
		AskRunning:          {"running", Running, Running},
		AskKVCapacity:       {"kv_capacity", KVCapacity, KVCapacity},
		AskPace:             {"pace", Decoding, Started},
		AskGenerating:       {"generating", Generating, Resets},
		AskStuck:            {"stuck", Stuck, Stuck},
		AskFlow:             {"flow", Completions, InFlightGrowth},
		AskMeans:            {"means", InputTokens, ITL},
		AskGateway:          {"gateway", GatewaySeen, GatewayArrivals},
		AskObjective:        {"objective", PrefixHits, RequestITLBuckets},
		AskRecent:           {"recent", NoRequestSince, NoRequestSince},
	}
}

// Questions returns every question.
func Questions() []Question {
	all := make([]Question, QuestionCount)
	for i := range all {
		all[i] = Question(i)
	}
	return all
}

// String returns the name of q, fit for a log key or a metric label.
func (q Question) String() string { return q.topic().name }

// Quantities returns the quantities of the rows of an answer to q, in catalogue order.
func (q Question) Quantities() []Quantity {
	t := q.topic()
	var all []Quantity
	for quantity := t.first; quantity <= t.last; quantity++ {
		all = append(all, quantity)
	}
	return all
}

// topic returns the line of q. It panics on a value that is not in the table.
func (q Question) topic() topic {
	if int(q) >= QuestionCount {
		panic("query: no such question")
	}
	return topics()[q]
}

// Request is a question with its parameters.
type Request struct {
	Ask Question
	// At is the instant to answer for. Zero means the source's own now, so that the source's clock
	// judges the source's samples.
	At time.Time
	// Window is the span of peaks, rates and means. It should span four scrape
	// intervals or more: below two a rate has no result. 0 where Ask has none.
	Window time.Duration
	// Namespaces restricts the answer. Empty means all.
	Namespaces []string
	// Prefixes are the prefixes of vLLM's metric names.
	Prefixes Prefixes
	// Models restricts the answers to AskObjective, AskPace and AskRecent to these model names.
	// Empty means all. Other questions ignore it. Any text is a name: it reaches a store as a
	// quoted value.
	Models []string
	// Bounds restricts the buckets in an answer to AskObjective to those with these upper bounds,
	// as Row.Edge has them, and the bucket of everything. Empty means all. It spares a store most
	// of the work. A source may ignore it, and other questions do.
	Bounds []string
	// Span is how far back AskRecent looks, > 0. Other questions ignore it.
	Span time.Duration
	// Whole lets the answer to AskRecent leave out the models that were not surely idle for the
	// whole Span. That takes a store a fraction of the time. Other questions ignore it.
	Whole bool
	// Pods restricts the answers to AskScrapeIntervals and AskStuck to pods of these names, as rows
	// have them. Empty means all. Other questions ignore it.
	Pods []string
	// Aged lets AskKVCacheUsagePeak and AskQueueLengthPeak answer with the last value within
	// ScrapeSpan where the window has none. That takes a store twice as long, and is needed where a
	// page is older than the window.
	Aged bool
}

// StuckSpan returns for how long nothing must move before a pod is Stuck: the window, but 2 minutes
// at least.
func StuckSpan(window time.Duration) time.Duration { return max(2*time.Minute, window) }

// ResetsSpan returns how far back Resets looks: five windows, which are twenty scrapes, within 5 to
// 30 minutes.
func ResetsSpan(window time.Duration) time.Duration {
	return min(max(ScrapeSpan, 5*window), 30*time.Minute)
}

// Answer is the answer to a Request.
type Answer struct {
	// At is the instant that the answer is for, on the source's clock. Zero where the source did
	// not say: an empty answer of Prometheus has no time.
	At   time.Time
	Rows []Row
}

// Row is one number of an answer. The Scope of its Quantity determines which fields identify its
// subject; the others are empty.
type Row struct {
	Quantity  Quantity
	Namespace string
	Pod       string  // as the source names it, a rank suffix included
	ByPodName bool    // of PageTime: the label LabelPodName has the name
	Witness   string  // of PageTime: the witness that the page shows (Engine.Witnesses)
	Model     string  // as the serving engine names it; "" where the source does not say
	Job       string  // that scrapes the page: of PageTime, ScrapeInterval and Resets
	Instance  string  // of Resets: the address of the page; "" where the source does not say
	Bound     float64 // of histograms: the upper bound of a bucket [ms]
	Edge      string  // Bound as the source has it, "" where it does not say
	Value     float64 // in the Unit of Quantity; NaN and infinities as the source has them
}
