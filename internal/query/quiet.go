package query

import (
	"fmt"
	"strings"
	"time"
)

// QuietStep is how far apart the looks are that AskRecent makes within a span:
// what happened is known to one of them. A day is looked at more coarsely than an
// hour, so that neither takes a store long.
func QuietStep(span time.Duration) time.Duration {
	if span <= time.Hour {
		return 15 * time.Second
	}
	return time.Minute
}

// quietSince renders QuietSince: the last of the looks within the span at which a
// model showed a request or could have had one that nobody saw, else the beginning
// of the span.
//
// A look covers the window and two steps. Two samples that are no further apart
// than the window and one step are both in one look, which sees whether they
// differ; two that are further apart leave a look without any sample in the window,
// which is a gap. Of a counter that is new with more than 0 in it the first sample
// is such a difference.
func (r renderer) quietSince() string {
	step := QuietStep(r.span)
	var seen, there []string
	for _, e := range recipesOf(QuietSince) {
		witness := r.selector(e.engine.Witness())
		there = append(there, witness)
		seen = append(seen, r.signs(e.recipe, step), "("+witness+" @ end() unless count_over_time("+witness+"["+Duration(r.window)+"]))")
	}
	group := func(terms []string) string { return "group by (" + modelOf + ") (" + strings.Join(terms, " or ") + ")" }
	return fmt.Sprintf("max_over_time(timestamp(%s)[%s:%s]) and %s or %s * (time() - %s)",
		group(seen), Duration(r.span), Duration(step), group(there), group(there), seconds(r.span))
}

// signs renders what shows a request within the window and two steps.
func (r renderer) signs(recipe Recipe, step time.Duration) string {
	cover, rest := Duration(r.window+2*step), Duration(2*step)
	var terms []string
	for _, selector := range r.selectors(recipe.Holds) {
		terms = append(terms, "max_over_time("+selector+"["+cover+"]) > 0")
	}
	for _, selector := range r.selectors(recipe.Still) {
		terms = append(terms, "changes("+selector+"["+cover+"]) > 0",
			"("+selector+" > 0 unless count_over_time("+selector+"["+Duration(r.window)+"] offset "+rest+"))")
	}
	return strings.Join(terms, " or ")
}
