package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ScrapeSpan is how far back the last value of a gauge is looked for where the window has none, and
// the span over which scrapes are counted. It is the look-back of Prometheus, beyond which no
// scrape interval works anyway.
const ScrapeSpan = 5 * time.Minute

// The labels that identify a row.
const (
	podOf   = LabelNamespace + ", " + LabelPod + ", " + LabelPodName + ", " + LabelModel
	modelOf = LabelNamespace + ", " + LabelModel
)

// PromQL returns the PromQL expression that answers r, for every pod and every model at once. RowOf
// reads its rows.
func (r Request) PromQL() string {
	of := newRenderer(r)
	switch r.Ask {
	case AskPages:
		return engines(of.pages)
	case AskEarlierPages:
		return engines(of.earlierPages)
	case AskScrapeIntervals:
		return of.named(r.Pods, func(of renderer) string { return engines(of.scrapeIntervals) })
	case AskStuck:
		return of.named(r.Pods, func(of renderer) string { return of.recipes(r.Ask.Quantities()) })
	case AskGenerating:
		return of.recipes([]Quantity{Generating}) + " or " + stat(Resets, of.recipes([]Quantity{Resets}))
	case AskGateway:
		return of.gateway()
	default:
		return of.recipes(r.Ask.Quantities())
	}
}

// named restricts a question to the pods with the given names, in either label of a pod. Without
// names it restricts nothing.
func (r renderer) named(pods []string, render func(renderer) string) string {
	if len(pods) == 0 {
		return render(r)
	}
	var columns []string
	for _, label := range []string{LabelPod, LabelPodName} {
		of := r
		of.matchers = append(slices.Clone(r.matchers), label+oneOf(pods))
		columns = append(columns, render(of))
	}
	return strings.Join(columns, " or ")
}

// recipes renders a question about quantities that have recipes.
func (r renderer) recipes(quantities []Quantity) string {
	vectors := make([]string, len(quantities))
	for i, q := range quantities {
		if q.Scope() == PerModel {
			vectors[i] = r.perModel(q)
		} else {
			vectors[i] = engines(func(e Engine) string { return r.perPod(e, q) })
		}
		if len(quantities) > 1 {
			vectors[i] = stat(q, vectors[i])
		}
	}
	return strings.Join(vectors, " or ")
}

// engines renders a vector for each engine and unites them.
func engines(render func(Engine) string) string {
	var columns []string
	for _, e := range Engines() {
		if column := render(e); column != "" {
			columns = append(columns, column)
		}
	}
	return strings.Join(columns, " or ")
}

// perPod renders q from the series of e, "" where e has no recipe for it.
func (r renderer) perPod(e Engine, q Quantity) string {
	recipe, ok := RecipeOf(e, q, r.prefixes)
	if !ok {
		return ""
	}
	switch {
	case recipe.Over == Info:
		return r.info(recipe.Of[0])
	case recipe.Over == Moving:
		return r.moving(recipe.Of)
	case recipe.Over == Fallen:
		return r.resets(recipe)
	case recipe.Over == Idle:
		return r.idle(e, recipe)
	case recipe.Worst:
		return r.worst(recipe.Over, recipe.Of[0])
	default:
		return r.sum(e, recipe.Over, podOf, recipe.Of)
	}
}

// perModel renders q from the series of all engines, which may serve one model side by side: counts
// add up, and a mean is over all.
func (r renderer) perModel(q Quantity) string {
	of := func(recipe Recipe) []Series { return recipe.Of }
	per := func(recipe Recipe) []Series { return []Series{recipe.Per} }
	recipe := r.recipesOf(q)[0].recipe // engines differ in series alone
	var vector string
	switch recipe.Over {
	case NoRequests:
		if r.whole {
			return r.idleThroughout()
		}
		return r.idleSince()
	case Mean:
		// `> 0` drops a model without observations, whose 0/0 would be NaN.
		vector = "(" + r.total(q, Rate, modelOf, of) + " / (" + r.total(q, Rate, modelOf, per) + " > 0))"
	case Growth:
		vector = r.total(q, Growth, modelOf, of) + " / " + seconds(r.window)
	case Buckets:
		vector = r.total(q, Buckets, modelOf+", "+LabelBound, of)
	default:
		vector = r.total(q, recipe.Over, modelOf, of)
	}
	if factor := recipe.Factor(); factor != 1 {
		vector = strconv.FormatFloat(factor, 'f', -1, 64) + " * " + vector
	}
	return vector
}

// total renders the sum, over all engines, of the series that series selects from a recipe.
func (r renderer) total(q Quantity, over Over, scope string, series func(Recipe) []Series) string {
	recipes := r.recipesOf(q)
	if len(recipes) == 1 {
		return r.sum(recipes[0].engine, over, scope, series(recipes[0].recipe))
	}
	parts := make([]string, len(recipes))
	for i, e := range recipes {
		parts[i] = part(i, r.sum(e.engine, over, scope, series(e.recipe)))
	}
	return "sum by (" + scope + ") (" + strings.Join(parts, " or ") + ")"
}

// engineRecipe is the recipe of one engine.
type engineRecipe struct {
	engine Engine
	recipe Recipe
}

// recipesOf returns the recipes of the engines that have one for q.
func (r renderer) recipesOf(q Quantity) []engineRecipe {
	var all []engineRecipe
	for _, e := range Engines() {
		if recipe, ok := RecipeOf(e, q, r.prefixes); ok {
			all = append(all, engineRecipe{e, recipe})
		}
	}
	return all
}

// sum renders the sum of addends, and of the ranks of each, by the labels of scope. An arithmetic +
// would drop rows that only one side has: addends are united instead, told apart by a label of our
// own. Models are few, so addends are summed by model first; pods are as many before as after.
func (r renderer) sum(e Engine, over Over, scope string, addends []Series) string {
	by := "sum by (" + scope + ") ("
	if len(addends) == 1 {
		return by + r.fold(e, over, addends[0]) + ")"
	}
	parts := make([]string, len(addends))
	for i, addend := range addends {
		parts[i] = r.fold(e, over, addend)
		if scope != podOf {
			parts[i] = by + parts[i] + ")"
		}
		parts[i] = part(i, parts[i])
	}
	return by + strings.Join(parts, " or ") + ")"
}

// fold removes duplicates: after rates, never before, since raw counters of several processes would
// fake resets. Each twin is folded by itself, so that a page with both names counts once.
func (r renderer) fold(e Engine, over Over, s Series) string {
	labels := slices.Concat([]string{podOf}, e.Ranks(), s.By)
	suffix := ""
	if over == Buckets {
		labels, suffix = append(labels, LabelBound), "_bucket"
		if len(r.bounds) > 0 {
			r.matchers = append(slices.Clone(r.matchers), LabelBound+oneOf(r.bounds))
		}
	}
	identity := strings.Join(labels, ", ")
	terms := make([]string, len(s.Names))
	for i, name := range s.Names {
		terms[i] = "max by (" + identity + ") (" + r.samples(over, r.of(s, name+suffix)) + ")"
	}
	return strings.Join(terms, " or ")
}

// worst renders the largest value over ranks and duplicates at once.
func (r renderer) worst(over Over, s Series) string {
	terms := make([]string, len(s.Names))
	for i, name := range s.Names {
		terms[i] = "max by (" + podOf + ") (" + r.samples(over, r.of(s, name)) + ")"
	}
	return strings.Join(terms, " or ")
}

// info renders the series with the labels of By and of the pod alone.
func (r renderer) info(s Series) string {
	labels := strings.Join(append([]string{LabelNamespace, LabelPod, LabelPodName}, s.By...), ", ")
	return joined(r.selectors([]Series{s}), func(selector string) string { return "max by (" + labels + ") (" + selector + ")" })
}

// joined renders a vector for each name and unites them: of rows with equal labels the first
// counts.
func joined(names []string, render func(name string) string) string {
	vectors := make([]string, len(names))
	for i, name := range names {
		vectors[i] = render(name)
	}
	return strings.Join(vectors, " or ")
}

// samples renders the function over, applied to a selector.
func (r renderer) samples(over Over, selector string) string {
	span := "[" + Duration(r.window) + "]"
	switch over {
	case Peak:
		peak := "max_over_time(" + selector + span + ")"
		if !r.aged || r.window >= ScrapeSpan {
			return peak
		}
		// When scrapes stop, readings age instead of vanishing: the last value is looked for beyond
		// the window.
		return peak + " or last_over_time(" + selector + "[" + Duration(ScrapeSpan) + "])"
	case Rate, Buckets:
		return "rate(" + selector + span + ")"
	case Growth:
		// With the same window and extrapolation as the rate of completions to which it is added.
		return "delta(" + selector + span + ")"
	default:
		return selector
	}
}

// part marks every addend but the first with a label of our own, which the sum
// around it removes.
func part(i int, vector string) string {
	if i == 0 {
		return vector
	}
	return labelled("part", strconv.Itoa(i), vector)
}

// stat labels rows with their quantity, for a question about several.
func stat(q Quantity, vector string) string { return labelled(LabelStat, q.String(), vector) }

func labelled(label, value, vector string) string {
	return fmt.Sprintf(`label_replace(%s, "%s", "%s", "", "")`, vector, label, value)
}

// seconds renders d as a number to divide by, rounded as Duration rounds.
func seconds(d time.Duration) string { return strconv.FormatInt(max(int64(d/time.Second), 1), 10) }
