package query

import (
	"fmt"
	"strings"
	"time"
)

// earlier is how far back a page is looked for that is not there now, beyond the
// look-back of a selector and a staleness marker: what stopped answering is not
// what never did. The steps lie on multiples of 30s, so a scrape seems up to 30s
// older than it is.
const earlier = "[15m:30s]"

// pages is when each page was scraped last, by job. timestamp must stand on a
// bare selector: of an aggregate it is the time of the evaluation.
func (r renderer) pages(e Engine) string {
	return r.eachWitness(e, func(witness string) string {
		return "max by (" + podOf + ", " + LabelJob + ") (timestamp(" + witness + "))"
	})
}

// earlierPages is pages of the last 15 minutes.
func (r renderer) earlierPages(e Engine) string {
	return r.eachWitness(e, func(witness string) string {
		return "max by (" + podOf + ", " + LabelJob + ") (max_over_time(timestamp(" + witness + ")" + earlier + "))"
	})
}

// eachWitness unites what is rendered of each witness of e. It marks the rows of every
// one but vLLM's own, whose pages are the most.
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

// scrapeIntervals divides a span by the scrapes of the witness within it: those
// of the median pod of each job. Only pods count that were there at the
// beginning of ScrapeSpan, else a young pod would pass for one that is scraped
// rarely, and of the counts of the last ScrapeSpan the largest, so that an outage
// does not pass for a long interval. While no pod is that old, a minute stands
// for it, if the scrapes are enough to be divided by: an interval of 15 seconds
// or less, which of a pod younger than that minute seems longer than it is but
// no longer than 15 seconds. There is no row before that.
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

// moving renders Moving. How often a value changed does not matter, so that
// duplicates, ranks and series need no folding.
func (r renderer) moving(series []Series) string {
	terms := r.selectors(series)
	for i, selector := range terms {
		terms[i] = "group by (" + podOf + ") (changes(" + selector + "[" + Duration(StuckSpan(r.window)) + "]) > 0)"
	}
	return strings.Join(terms, " or ")
}

// leastResets is how often a counter of one address must fall within the ResetsSpan, or be that
// of another process, to count as those of several pods. Of two pods that are scraped at random it
// falls every fourth scrape, so five times in twenty, where one has counted more than the other
// between two scrapes; it is that of the other one every second scrape.
const leastResets = 3

// resets renders Fallen, by the address.
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

// idle renders Idle. The conditions are put one after the other onto rows that
// become few: each looks at every pod, but nothing is labelled or added up for
// it.
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

// selectors renders a selector of each name of each of the series.
func (r renderer) selectors(series []Series) []string {
	var all []string
	for _, s := range series {
		for _, name := range s.Names {
			all = append(all, r.of(s, name))
		}
	}
	return all
}
