package query

import (
	"fmt"
	"strings"
	"time"
)

// earlier is how far back a missing page is looked for, beyond the look-back of a selector and a
// staleness marker, to tell a pod that stopped answering from one that never answered. The steps
// lie on multiples of 30s, so a scrape seems up to 30s older than it is.
const earlier = "[15m:30s]"

// pages renders when each page was scraped last, by job. timestamp must be applied to a bare
// selector: of an aggregate it is the time of the evaluation.
func (r renderer) pages(e Engine) string {
	return r.eachWitness(e, func(witness string) string {
		return "max by (" + podOf + ", " + LabelJob + ") (timestamp(" + witness + "))"
	})
}

// earlierPages renders the same for pages of the last 15 minutes.
func (r renderer) earlierPages(e Engine) string {
	return r.eachWitness(e, func(witness string) string {
		return "max by (" + podOf + ", " + LabelJob + ") (max_over_time(timestamp(" + witness + ")" + earlier + "))"
	})
}

// eachWitness renders a vector for each witness of e and unites them. It labels the rows of every
// witness but vLLM's own, whose pages are the most.
func (r renderer) eachWitness(e Engine, render func(witness string) string) string {
	return joined(e.Witnesses(r.prefixes), func(name string) string {
		vector := render(r.selector(name))
		if name == vllmRunning {
			return vector
		}
		return labelled(LabelWitness, name, vector)
	})
}

// witnesses renders a selector of each witness of e.
func (r renderer) witnesses(e Engine) []string {
	all := e.Witnesses(r.prefixes)
	for i, name := range all {
		all[i] = r.selector(name)
	}
	return all
}

// scrapeIntervals renders, for each job, a span divided by the number of scrapes of the witness
// within it, of the median pod. Only pods that were there at the beginning of ScrapeSpan count,
// else a young pod would pass for one that is scraped rarely. Of the counts within the last
// ScrapeSpan the largest counts, so that an outage does not pass for a long interval. While no pod
// is that old, the span is a minute, if it has enough scrapes: for an interval of 15 seconds or
// less, which may seem longer than it is for a pod younger than that minute, but not longer than 15
// seconds. Before that there is no row.
func (r renderer) scrapeIntervals(e Engine) string {
	return joined(r.witnesses(e), scrapeInterval)
}

func scrapeInterval(witness string) string {
	const enough = 4
	median := "quantile by (" + LabelNamespace + ", " + LabelJob + ") (0.5, %s)"
	scrapes := func(span time.Duration) string { return "count_over_time(" + witness + "[" + Duration(span) + "])" }
	old := fmt.Sprintf(median, scrapes(ScrapeSpan)+" and "+witness+" offset "+Duration(ScrapeSpan))
	young := fmt.Sprintf(median, scrapes(time.Minute))
	return fmt.Sprintf("%s / max_over_time((%s)[%s:1m]) or %s / (%s >= %d)",
		seconds(ScrapeSpan), old, Duration(ScrapeSpan), seconds(time.Minute), young, enough)
}

// moving renders Moving. It does not matter how often a value changed, so duplicates, ranks and
// series need no folding.
func (r renderer) moving(series []Series) string {
	terms := r.selectors(series)
	for i, selector := range terms {
		terms[i] = "group by (" + podOf + ") (changes(" + selector + "[" + Duration(StuckSpan(r.window)) + "]) > 0)"
	}
	return strings.Join(terms, " or ")
}

// leastResets is how often within the ResetsSpan a counter of one address must fall, or its process
// change, before it counts as the counter of several pods. With two pods that are scraped at random
// it falls every fourth scrape, so five times in twenty, if one has counted more than the other
// between two scrapes; the process changes every second scrape.
const leastResets = 3

// resets renders Fallen, by address.
func (r renderer) resets(recipe Recipe) string {
	often := func(function string) func(string) string {
		return func(selector string) string {
			return fmt.Sprintf("max by (%s, %s, %s) (%s(%s[%s]) >= %d)", podOf, LabelJob, LabelInstance, function, selector, Duration(ResetsSpan(r.window)), leastResets)
		}
	}
	vector := joined(r.selectors(recipe.Of), often("resets"))
	if len(recipe.Began) > 0 {
		vector += " or " + joined(r.selectors(recipe.Began), often("changes"))
	}
	return vector
}

// idle renders Idle. Each condition filters the rows that the ones before have left, so labels and
// sums are computed for the first vector alone.
func (r renderer) idle(e Engine, recipe Recipe) string {
	span, on := Duration(StuckSpan(r.window)), " on ("+podOf+") "
	holds := func(offset string) string {
		var terms []string
		for _, selector := range r.selectors(recipe.Holds) {
			terms = append(terms, selector+offset+" > 0")
		}
		return " and" + on + "(" + strings.Join(terms, " or ") + ")"
	}
	var vector strings.Builder
	vector.WriteString(r.sum(e, Last, podOf, recipe.Of) + holds("") + holds(" offset "+span))
	for _, selector := range r.selectors(recipe.Still) {
		vector.WriteString(" unless" + on + "(changes(" + selector + "[" + span + "]) > 0)")
	}
	if recipe.Scrapes > 0 {
		scrapes := joined(r.witnesses(e), func(witness string) string {
			return fmt.Sprintf("count_over_time(%s[%s]) >= %d", witness, span, recipe.Scrapes)
		})
		vector.WriteString(" and" + on + "(" + scrapes + ")")
	}
	return vector.String()
}

// selectors renders a selector for each name of each of the series.
func (r renderer) selectors(series []Series) []string {
	var all []string
	for _, s := range series {
		for _, name := range s.Names {
			all = append(all, r.of(s, name))
		}
	}
	return all
}
