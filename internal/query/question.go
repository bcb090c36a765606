package query

import "time"

// Question is what is asked at once, in one expression of a metrics store: one
// quantity where its rows are many, several where they are few. The values are
// dense from 0.
type Question uint8

// The questions.
const (
	// AskPages must be the first: the answers to the others are worth what the
	// pages are that they come from.
	AskPages Question = iota
	// AskEarlierPages asks for PageTime 15 minutes back. It costs several times
	// what AskPages does and is asked when a live pod has no page there.
	AskEarlierPages
	AskScrapeIntervals
	AskKVCacheUsagePeak
	AskKVCacheUsage
	AskQueueLengthPeak
	AskQueueLength
	AskRunning
	AskKVCapacity
	// AskPace is asked for the models that have a latency objective, or prefill and decode:
	// how fast each of their pods is.
	AskPace
	// AskGenerating also asks for Resets: their rows are few and have a LabelStat, while those
	// of Generating have none.
	AskGenerating
	// AskStuck costs ten times what AskGenerating does for as many pods, and is
	// asked about those that hold requests and generate nothing.
	AskStuck
	AskFlow
	AskMeans
	AskGateway
	// AskObjective is asked for the models that have a latency objective: what
	// only a prediction of latencies needs.
	AskObjective
	// AskRecent looks back over Request.Span, as long as no other question does. It
	// is asked beside the others, about some of the models that are idle, until it is
	// known how their quiet began.
	AskRecent

	// QuestionCount is the number of questions.
	QuestionCount = iota
)

// topic is one line of the table of questions: a name and the first and the last
// of the quantities asked about, which stand together in the catalogue.
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

// Quantities returns what the rows of an answer to q may be, in catalogue order.
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

// Request is a question with its particulars.
type Request struct {
	Ask Question
	// At is the instant to answer for. Zero asks for the source's own now, so
	// that the source's clock judges the source's samples.
	At time.Time
	// Window is the span of peaks, rates and means. It should span four scrape
	// intervals or more: below two a rate has no result. 0 where Ask has none.
	Window time.Duration
	// Namespaces restricts the answer. Empty means all.
	Namespaces []string
	// Prefixes are what the names of vLLM's metrics begin with.
	Prefixes Prefixes
	// Models restricts the answers to AskObjective, AskPace and AskRecent to these model
	// names. Empty means all. It is ignored elsewhere. Any text is a name: a store is
	// given it as a value.
	Models []string
	// Bounds restricts the buckets in an answer to AskObjective to those with these
	// upper bounds, as Row.Edge has them, and the bucket of everything. Empty means all.
	// It spares a store most of the work; a source may ignore it, as it is elsewhere.
	Bounds []string
	// Span is how far back AskRecent looks, > 0. It is ignored elsewhere.
	Span time.Duration
	// Whole lets the answer to AskRecent leave out the models that were not, or not
	// surely, quiet for the whole Span. It takes a store a fraction of the time. It
	// is ignored elsewhere.
	Whole bool
	// Pods restricts the answers to AskScrapeIntervals and AskStuck to pods of
	// these names, as rows have them. Empty means all. It is ignored elsewhere.
	Pods []string
	// Aged asks AskKVCacheUsagePeak and AskQueueLengthPeak for the last value
	// within ScrapeSpan of what has none within the window. It takes a store
	// twice as long, and is needed where a page is older than the window.
	Aged bool
}

// StuckSpan is how long nothing must move for a pod to be Stuck: the window, but
// 2 minutes at least.
func StuckSpan(window time.Duration) time.Duration { return max(2*time.Minute, window) }

// ResetsSpan is how far back Resets looks: five windows, which are twenty scrapes, within
// 5 to 30 minutes.
func ResetsSpan(window time.Duration) time.Duration {
	return min(max(ScrapeSpan, 5*window), 30*time.Minute)
}

// Answer is what came back for a Request.
type Answer struct {
	// At is the instant that the answer is for, on the source's clock. Zero where
	// the source did not say: an empty answer of Prometheus has no time.
	At   time.Time
	Rows []Row
}

// Row is one number of an answer. Which fields say what it is about depends on
// the Scope of its Quantity; the others are empty.
type Row struct {
	Quantity  Quantity
	Namespace string
	Pod       string  // as the source names it, a rank suffix included
	ByPodName bool    // of PageTime: the name stands in the label LabelPodName
	Witness   string  // of PageTime: the name of the series that the page shows (Engine.Witnesses)
	Model     string  // as the serving engine names it; "" where the source does not say
	Job       string  // what scraped the page: of PageTime, ScrapeInterval and Resets
	Instance  string  // the address of the page, of Resets; "" where the source does not say
	Bound     float64 // upper bound of a bucket [ms], of the histograms
	Edge      string  // the same as the source has it, "" where it does not say
	Value     float64 // in the Unit of Quantity; NaN and infinities as the source has them
}
