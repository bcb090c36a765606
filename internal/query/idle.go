package query

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// IdleStep returns the time between two evaluations of AskRecent within a span, which is the
// precision of the answer. A longer span has a longer step, so that it does not take a store long.
func IdleStep(span time.Duration) time.Duration {
	if span <= time.Hour {
		return 15 * time.Second
	}
	return time.Minute
}

// wholeStep is the time between two checks for a gap where one question covers the whole span: it
// finds gaps longer than the window and this step.
const wholeStep = 30 * time.Second

// idleSince renders NoRequestSince: the last step within the span at which a model showed a
// request, or could have had one that no scrape saw, else the beginning of the span.
//
// Each evaluation covers the window and two steps. Two samples no further apart than the window and
// one step are both in one evaluation, which sees whether they differ. Two that are further apart
// leave an evaluation without a sample in the window, which is a gap. The first sample of a new
// counter counts as a difference where it is above 0.
func (r renderer) idleSince() string {
	step := IdleStep(r.span)
	var seen []string
	for _, e := range r.recipesOf(NoRequestSince) {
		seen = append(seen, r.signs(e.recipe, r.window+2*step)...)
		for _, selector := range r.selectors(e.recipe.Born) {
			seen = append(seen, "group by ("+modelOf+") ("+selector+" > 0 unless count_over_time("+selector+"["+Duration(r.window)+"] offset "+Duration(2*step)+"))")
		}
		seen = append(seen, "group by ("+modelOf+") ("+r.unseen(e.engine)+")")
	}
	there := r.there()
	return fmt.Sprintf("max_over_time(timestamp(group by (%s) (%s))[%s:%s]) and %s or %s * (time() - %s)",
		modelOf, strings.Join(seen, " or "), Duration(r.span), Duration(step), there, there, seconds(r.span))
}

// idleThroughout renders NoRequestSince of the models that were surely idle for the whole span: the
// beginning of the span. It reads every sample once. It leaves out models with a pod that came or
// went, or whose scrapes have a gap. With the same pods all along, it compares the counters of Born
// at both ends alone: a restart in between shows in the other counters, where there are any.
func (r renderer) idleThroughout() string {
	window, span := Duration(r.window), Duration(r.span)
	var not []string
	for _, e := range r.recipesOf(NoRequestSince) {
		simple := e.recipe
		if others := without(simple.Still, simple.Born); len(others) > 0 {
			simple.Still = others
		}
		not = append(not, r.signs(simple, r.window+r.span)...)
		witnesses := r.witnesses(e.engine)
		for _, counter := range e.recipe.Born {
			sum := func(samples func(selector string) string) string {
				return "(sum by (" + modelOf + ") (" + joined(r.selectors([]Series{counter}), samples) + ") or 0 * " + present(witnesses) + ")"
			}
			now := sum(func(selector string) string { return selector })
			before := sum(func(selector string) string {
				return "last_over_time(" + selector + "[" + window + "] offset " + span + ")"
			})
			not = append(not, now+" != "+before)
		}
		for _, witness := range witnesses {
			not = append(not, fmt.Sprintf("min by (%s) (count_over_time((count_over_time(%s[%s]))[%s:%s])) < %d",
				modelOf, witness, window, span, Duration(wholeStep), r.span/wholeStep))
		}
	}
	return fmt.Sprintf("%s * (time() - %s) unless (%s)", r.there(), seconds(r.span), strings.Join(not, " or "))
}

// there renders the models that have a page now.
func (r renderer) there() string {
	var witnesses []string
	for _, e := range r.recipesOf(NoRequestSince) {
		witnesses = append(witnesses, r.witnesses(e.engine)...)
	}
	return present(witnesses)
}

// present renders the models of the series that any of the selectors finds.
func present(selectors []string) string {
	return "group by (" + modelOf + ") (" + strings.Join(selectors, " or ") + ")"
}

// unseen renders the witnesses that exist at the end and have no sample within the window, under
// any of their names: a monitor that stores a pod under a second name makes no gap.
func (r renderer) unseen(e Engine) string {
	names := r.witnesses(e)
	return "(" + joined(names, func(w string) string { return w + " @ end()" }) + ") unless on (" + strings.Join(append([]string{podOf}, e.Ranks()...), ", ") + ") (" +
		joined(names, func(w string) string { return "count_over_time(" + w + "[" + Duration(r.window) + "])" }) + ")"
}

// signs renders the models that show a request within a span. Pods are many and
// models are few: each metric is folded to models before they are united.
func (r renderer) signs(recipe Recipe, within time.Duration) []string {
	of := func(function, selector string) string {
		return "max by (" + modelOf + ") (" + function + "(" + selector + "[" + Duration(within) + "])) > 0"
	}
	var terms []string
	for _, selector := range r.selectors(recipe.Holds) {
		terms = append(terms, of("max_over_time", selector))
	}
	for _, selector := range r.selectors(recipe.Still) {
		terms = append(terms, of("changes", selector))
	}
	return terms
}

// without returns the metrics of all that are not among others.
func without(all, others []Series) []Series {
	return slices.DeleteFunc(slices.Clone(all), func(s Series) bool {
		return slices.ContainsFunc(others, func(o Series) bool { return slices.Equal(o.Names, s.Names) })
	})
}
