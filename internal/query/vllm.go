package query

import (
	"fmt"
	"strings"
	"time"
)

// ScrapeSpan is the span over which LastScrape counts scrapes. It is the
// look-back of Prometheus, beyond which no scrape interval works anyway, and a
// multiple of the usual intervals, so that the count does not depend on where
// the span begins.
const ScrapeSpan = 5 * time.Minute

// The labels that identify one series of a pod, before ranks are added, and
// the rows that come out.
const (
	seriesOf = "namespace, pod, pod_name, model_name, engine"
	podOf    = "namespace, pod, pod_name, model_name"
	modelOf  = "namespace, model_name"
)

// The metric names of vLLM from 0.6 to 0.32. Of twins the first name is
// preferred.
const (
	vllmRunningName     = "vllm:num_requests_running"
	vllmWaitingName     = "vllm:num_requests_waiting"
	vllmCacheName       = "vllm:cache_config_info"
	vllmSuccessName     = "vllm:request_success_total"
	vllmUsageName       = "vllm:kv_cache_usage_perc"  // 0.9.2 on
	vllmUsageOldName    = "vllm:gpu_cache_usage_perc" // to 0.11
	vllmInputName       = "vllm:request_prompt_tokens"
	vllmOutputName      = "vllm:request_generation_tokens"
	vllmTTFTName        = "vllm:time_to_first_token_seconds"
	vllmITLName         = "vllm:inter_token_latency_seconds"   // 0.10.2 on
	vllmITLOldName      = "vllm:time_per_output_token_seconds" // to 0.12
	vllmRequestTPOTName = "vllm:request_time_per_output_token_seconds"
)

// vllmLastScrape asks for the time and the number of scrapes of the witness
// num_requests_running, which every vLLM page carries.
//
// timestamp must stand on a bare selector: of an aggregate it is the time of
// the evaluation. The selector alone ends at the look-back of 5m and at a
// staleness marker, so it cannot tell a pod that stopped answering from one
// that never did; the subquery reaches 15m back, but its steps lie on multiples
// of 30s and show a scrape up to 30s late. Hence the first where there is one,
// else the second. Scrapes are counted only of series that existed a ScrapeSpan
// ago, so that ScrapeSpan / count is the scrape interval and not the age of a
// young pod, and of the counts of the last ScrapeSpan the largest, so that an
// outage does not pass for a long interval. While there is none that old, those
// of a shorter span stand for them, if they are enough (four) to be divided by.
func vllmLastScrape(time.Duration) string {
	const of = podOf + ", job"
	at := fmt.Sprintf("max by (%[1]s) (timestamp(%[2]s)) or max by (%[1]s) (max_over_time(timestamp(%[2]s)[15m:30s]))", of, vllmRunningName)
	terms := []string{fmt.Sprintf("(max_over_time(count_over_time(%[1]s[%[2]s])[%[2]s:1m]) and %[1]s offset %[2]s)", vllmRunningName, Duration(ScrapeSpan))}
	for _, span := range []time.Duration{time.Minute, 30 * time.Second} {
		terms = append(terms, fmt.Sprintf("((count_over_time(%[1]s[%[2]s]) and %[1]s offset %[2]s) >= 4) * %[3]d", vllmRunningName, Duration(span), ScrapeSpan/span))
	}
	return stat(StatAt, at) + " or " + stat(StatScrapes, fmt.Sprintf("max by (%s) (%s)", of, strings.Join(terms, " or ")))
}

// vllmKVCacheUsagePeak takes the worst rank; vLLM to 0.11 behind several API
// servers adds a series per process (label pid), most of them 0, which the same
// max removes.
func vllmKVCacheUsagePeak(window time.Duration) string {
	return twins("max by ("+podOf+") (max_over_time(%s["+Duration(window)+"]))", vllmUsageName, vllmUsageOldName) + " or " +
		twins("max by ("+podOf+") (last_over_time(%s["+aging(window)+"]))", vllmUsageName, vllmUsageOldName)
}

// aging is how far back the last value of a gauge is looked for where the window
// has none: scrapes that stopped leave readings that age, and not a replica
// without any.
func aging(window time.Duration) string { return Duration(max(ScrapeSpan, window)) }

func vllmKVCacheUsage(time.Duration) string {
	return twins("max by ("+podOf+") (%s)", vllmUsageName, vllmUsageOldName)
}

// vllmQueueLengthPeak adds the peaks of the ranks, an upper bound of the peak
// of their sum: that would take a subquery for each pod, and the bound errs
// towards growth.
func vllmQueueLengthPeak(window time.Duration) string {
	return perPod("max_over_time(" + vllmWaitingName + "[" + Duration(window) + "]) or last_over_time(" + vllmWaitingName + "[" + aging(window) + "])")
}

func vllmQueueLength(time.Duration) string { return perPod(vllmWaitingName) }

func vllmRunning(time.Duration) string { return perPod(vllmRunningName) }

// vllmKVCapacity keeps the three labels that say how large the cache is and no
// other, because the label set changes with every release. The info metric has
// no model_name: its rows are joined by pod. There is one value per pod: every
// rank repeats the blocks of all.
func vllmKVCapacity(time.Duration) string {
	return fmt.Sprintf("max by (namespace, pod, pod_name, %s, %s, %s) (%s)", LabelBlocks, LabelBlockSize, LabelCacheTokens, vllmCacheName)
}

// vllmCompletions counts every reason. The label is finished_reason in vLLM and
// finish_reason in llm-d-inference-sim.
func vllmCompletions(window time.Duration) string {
	return fmt.Sprintf("sum by (%s) (max by (%s, finished_reason, finish_reason) (rate(%s[%s])))", modelOf, seriesOf, vllmSuccessName, Duration(window))
}

// vllmInFlightGrowth measures growth over the same window and with the same
// extrapolation as the rate of completions that it is added to. A series that
// ends (a pod that was drained) contributes its way down, a series that is born
// its way up.
func vllmInFlightGrowth(window time.Duration) string {
	grown := func(name string) string {
		return fmt.Sprintf("sum by (%s) (max by (%s) (delta(%s[%s])))", modelOf, seriesOf, name, Duration(window))
	}
	return fmt.Sprintf("(%s + %s) / %d", grown(vllmRunningName), grown(vllmWaitingName), max(int64(window/time.Second), 1))
}

func vllmInputTokens(window time.Duration) string { return mean(window, vllmInputName) }

func vllmOutputTokens(window time.Duration) string { return mean(window, vllmOutputName) }

func vllmTTFT(window time.Duration) string { return "1000 * " + mean(window, vllmTTFTName) }

// vllmITL prefers the latency between outputs. The mean per request stands last:
// it counts a request of one token as 0.
func vllmITL(window time.Duration) string {
	return "1000 * " + mean(window, vllmITLName, vllmITLOldName, vllmRequestTPOTName)
}

// mean divides the sum of a histogram by its count. `> 0` drops a model without
// observations, whose 0/0 would be NaN. The twins of sum and of count are chosen
// alike, so both come from the same name.
func mean(window time.Duration, histograms ...string) string {
	part := func(suffix string) string {
		each := "max by (" + seriesOf + ") (rate(%s" + suffix + "[" + Duration(window) + "]))"
		return "sum by (" + modelOf + ") (" + twins(each, histograms...) + ")"
	}
	return fmt.Sprintf("(%s / (%s > 0))", part("_sum"), part("_count"))
}

// perPod folds duplicates of a count and adds the ranks of each pod.
func perPod(vector string) string {
	return fmt.Sprintf("sum by (%s) (max by (%s) (%s))", podOf, seriesOf, vector)
}

// twins applies a format with one verb to each name and joins the results.
func twins(format string, names ...string) string {
	terms := make([]string, len(names))
	for i, name := range names {
		terms[i] = fmt.Sprintf(format, name)
	}
	return strings.Join(terms, " or ")
}

// stat marks the rows of a vector with LabelStat.
func stat(value, vector string) string {
	return fmt.Sprintf(`label_replace(%s, "%s", "%s", "", "")`, vector, LabelStat, value)
}
