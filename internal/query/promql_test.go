package query

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestCatalogue pins every expression: a change of what is asked shows as a
// difference to review. That a PromQL engine accepts them and that they answer
// as described is tested in test/promql.
func TestCatalogue(t *testing.T) {
	var got bytes.Buffer
	fmt.Fprintln(&got, "# Question, then what each of its quantities is and how it is asked for of each engine, over a window of 2m and a span of 10m.")
	window, span := 2*time.Minute, 10*time.Minute
	own := Prefixes{vllmOwn}
	of := renderer{window: window, span: span, prefixes: own}
	for _, ask := range Questions() {
		fmt.Fprintf(&got, "\n## %s\n", ask)
		for _, q := range ask.Quantities() {
			fmt.Fprintf(&got, "%s [%s] per %s\n", q, q.Unit(), q.Scope())
			if q.Scope() == PerModel {
				if len(of.recipesOf(q)) == 0 {
					t.Fatalf("%s: no engine has a recipe", q)
				}
				fmt.Fprintf(&got, "  all: %s\n", of.perModel(q))
				continue
			}
			for _, e := range of.recipesOf(q) {
				fmt.Fprintf(&got, "  %s: %s\n", e.engine, of.perPod(e.engine, q))
			}
		}
		if _, ok := RecipeOf(VLLM, ask.Quantities()[0], nil); !ok {
			fmt.Fprintf(&got, "  %s\n", Request{Ask: ask, Window: window, Prefixes: own}.PromQL())
		}
	}
	fmt.Fprintf(&got, "\n## Whole, restricted\n%s\n", Request{
		Ask: AskObjective, Window: window, Prefixes: own, Namespaces: []string{"a", "b"}, Models: []string{"org/m-1.5", `"}\`},
	}.PromQL())
	fmt.Fprintf(&got, "\n## Aged\n%s\n", Request{Ask: AskQueueLengthPeak, Window: window, Prefixes: own, Aged: true}.PromQL())
	fmt.Fprintf(&got, "\n## Whole span\n%s\n", Request{Ask: AskRecent, Window: window, Prefixes: own, Span: 10 * time.Minute, Whole: true}.PromQL())
	for _, ask := range []Question{AskPages, AskScrapeIntervals, AskKVCacheUsage, AskKVCapacity, AskStuck, AskRecent} {
		fmt.Fprintf(&got, "\n## Under two prefixes, %s\n%s\n", ask, Request{Ask: ask, Window: window, Span: span, Prefixes: Prefixes{vllmOwn, "k_vllm:"}}.PromQL())
	}
	path := filepath.Join("testdata", "catalogue.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
}

// metric finds the metric names of an expression with what restricts them.
var metric = regexp.MustCompile(`((?:\w*vllm|sglang):\w+|ray_vllm_\w+|(?:llm_d_epp|inference)_\w+_\w+)(\{[^}]*\})?`)

// selectorsOf returns the selectors of an expression, each with its name and what
// restricts it. A witness that a row is marked with is no selector.
func selectorsOf(expression string) [][]string {
	return metric.FindAllStringSubmatch(regexp.MustCompile(`"witness", "[^"]*"`).ReplaceAllString(expression, ""), -1)
}

// expr asks with a window, for every namespace and model.
func expr(ask Question) string { return Request{Ask: ask, Window: time.Minute}.PromQL() }

func TestEveryQuestionIsAskedOfEveryEngineAndOnlyOnce(t *testing.T) {
	for _, ask := range Questions() {
		whole := expr(ask)
		if ask == AskGateway {
			continue
		}
		for _, e := range Engines() {
			if !strings.Contains(whole, string(e)+":") {
				t.Errorf("%s does not ask %s: %s", ask, e, whole)
			}
			for _, q := range ask.Quantities() {
				if column := columnOf(e, q); column != "" && strings.Count(whole, column) != 1 {
					t.Errorf("%s of %s is not once in %s", q, e, ask)
				}
			}
		}
	}
}

// columnOf renders what a quantity is asked by of an engine: with the others, if
// it is about models. It is "" where there is no recipe.
func columnOf(e Engine, q Quantity) string {
	of := renderer{window: time.Minute}
	switch _, ok := RecipeOf(e, q, nil); {
	case !ok:
		return ""
	case q.Scope() == PerModel:
		return of.perModel(q)
	default:
		return of.perPod(e, q)
	}
}

func TestEnginesDifferInSeriesAlone(t *testing.T) {
	for _, q := range All() {
		if q.Scope() != PerModel {
			continue
		}
		for _, e := range (renderer{}).recipesOf(q) {
			first := renderer{}.recipesOf(q)[0].recipe
			if e.recipe.Over != first.Over || e.recipe.Factor() != first.Factor() {
				t.Errorf("%s of %s: over %v scaled by %v, want %v and %v as the others", q, e.engine, e.recipe.Over, e.recipe.Factor(), first.Over, first.Factor())
			}
		}
	}
}

func TestQuestionsAboutSeveralQuantitiesSayWhichARowIs(t *testing.T) {
	stats := regexp.MustCompile(`"stat", "(\w+)", "", ""\)`)
	for _, ask := range Questions() {
		var got, want []string
		for _, match := range stats.FindAllStringSubmatch(expr(ask), -1) {
			got = append(got, match[1])
		}
		quantities := ask.Quantities()
		if ask == AskGenerating {
			quantities = quantities[1:] // the many rows of the first have no label
		}
		if len(quantities) > 1 || ask == AskGenerating {
			for _, q := range quantities {
				want = append(want, q.String())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ask, diff)
		}
	}
}

func TestNamespacesRestrictEverySelector(t *testing.T) {
	for _, test := range []struct {
		namespaces []string
		want       string
	}{
		{[]string{"team-a"}, `namespace="team-a"`},
		{[]string{"team-a", "b.c"}, `namespace=~"team-a|b\\.c"`},
	} {
		for _, ask := range Questions() {
			whole := Request{Ask: ask, Window: time.Minute, Namespaces: test.namespaces}.PromQL()
			selectors := selectorsOf(whole)
			if len(selectors) == 0 {
				t.Errorf("%s has no selector: %s", ask, whole)
			}
			for _, selector := range selectors {
				if !strings.HasPrefix(selector[2], "{"+test.want) {
					t.Errorf("%s: %s is not restricted to %s", ask, selector[0], test.want)
				}
			}
		}
	}
}

func TestBoundsRestrictBucketsAlone(t *testing.T) {
	for _, ask := range Questions() {
		all := Request{Ask: ask, Window: time.Minute, Namespaces: []string{"a"}}
		some := all
		some.Bounds = []string{"0.05", "1.0"}
		const matcher = `,le=~"0\\.05|1\\.0|\\+Inf"`
		got := some.PromQL()
		if without := strings.ReplaceAll(got, matcher, ""); without != all.PromQL() {
			t.Errorf("%s: without the matcher got %s, want %s", ask, without, all.PromQL())
		}
		if buckets := strings.Count(got, "_bucket{"); buckets != strings.Count(got, matcher) {
			t.Errorf("%s: not %d buckets restricted: %s", ask, buckets, got)
		}
		if restricted := strings.Contains(got, matcher); restricted != (ask == AskObjective) {
			t.Errorf("%s: has buckets: %v", ask, restricted)
		}
	}
}

func TestModelsRestrictOnlyWhatIsAskedOfSome(t *testing.T) {
	for _, ask := range Questions() {
		whole := Request{Ask: ask, Window: time.Minute, Models: []string{"a", "b"}}.PromQL()
		for _, selector := range selectorsOf(whole) {
			if got, want := strings.Contains(selector[2], `model_name=~"a|b"`), ask == AskObjective || ask == AskPace || ask == AskRecent; got != want {
				t.Errorf("%s: %s restricted to models: %v, want %v", ask, selector[0], got, want)
			}
		}
	}
}

// TestPodsRestrictWhatIsAskedAboutPods checks that a name is looked for under
// either label of a pod, and nowhere but where the request says so.
func TestPodsRestrictWhatIsAskedAboutPods(t *testing.T) {
	for _, ask := range Questions() {
		counts := map[string]int{}
		for _, selector := range selectorsOf(Request{Ask: ask, Window: time.Minute, Pods: []string{"p-0", "p-1"}}.PromQL()) {
			restricted := ""
			for _, label := range []string{"pod", "pod_name"} {
				if strings.Contains(selector[2], "{"+label+`=~"p-0|p-1"`) {
					restricted = label
				}
			}
			counts[restricted]++
		}
		if ask != AskScrapeIntervals && ask != AskStuck {
			if len(counts) != 1 || counts[""] == 0 {
				t.Errorf("%s is restricted to pods: %v", ask, counts)
			}
		} else if counts[""] != 0 || counts["pod"] == 0 || counts["pod"] != counts["pod_name"] {
			t.Errorf("%s: got %v selectors by label of the pod, want as many of either and none without", ask, counts)
		}
	}
}

func TestOnlyPeaksOfAgedPagesLookBeyondTheWindow(t *testing.T) {
	for _, ask := range Questions() {
		for _, window := range []time.Duration{time.Minute, ScrapeSpan} {
			plain, aged := Request{Ask: ask, Window: window}.PromQL(), Request{Ask: ask, Window: window, Aged: true}.PromQL()
			peak := ask == AskKVCacheUsagePeak || ask == AskQueueLengthPeak
			if got, want := plain != aged, peak && window < ScrapeSpan; got != want {
				t.Errorf("%s over %s: an aged request differs: %v, want %v", ask, window, got, want)
			}
			if whole := (Request{Ask: ask, Window: window, Whole: true}).PromQL(); (whole != plain) != (ask == AskRecent) {
				t.Errorf("%s over %s: a request for the whole span differs: %v", ask, window, whole != plain)
			}
			if strings.Contains(plain, "last_over_time") {
				t.Errorf("%s looks beyond its window unasked: %s", ask, plain)
			}
		}
	}
}

func TestTwinsAreFoldedOneByOneAndNeverAdded(t *testing.T) {
	for _, ask := range Questions() {
		whole := expr(ask)
		if strings.Contains(whole, " + ") || strings.Contains(whole, "__name__") {
			t.Errorf("%s adds vectors or selects by a pattern of names: %s", ask, whole)
		}
	}
	for _, e := range Engines() {
		for _, q := range All() {
			recipe, ok := RecipeOf(e, q, nil)
			if !ok || recipe.Over == Idle || recipe.Over == Moving || recipe.Over == Fallen {
				continue
			}
			column := columnOf(e, q)
			for _, s := range slices.Concat(recipe.Of, []Series{recipe.Per}) {
				for i := 1; i < len(s.Names); i++ {
					joined := regexp.MustCompile(regexp.QuoteMeta(s.Names[i-1]) + `[^ ]* ?[^ ]*\) or max by \([^)]*\) \([^(]*\(?` + regexp.QuoteMeta(s.Names[i]))
					if recipe.Over != Peak && !joined.MatchString(column) {
						t.Errorf("%s of %s: %s and %s are not joined by `or` after a fold: %s", q, e, s.Names[i-1], s.Names[i], column)
					}
				}
			}
		}
	}
}

func TestRatesAreTakenBeforeAnythingIsAdded(t *testing.T) {
	for _, ask := range Questions() {
		if whole := expr(ask); regexp.MustCompile(`(rate|delta|changes)\((sum|max|label)`).MatchString(whole) {
			t.Errorf("%s takes the rate of an aggregate, which fakes resets: %s", ask, whole)
		}
	}
}

func TestExpressionsAreBalancedAndUseTheWindow(t *testing.T) {
	for _, ask := range Questions() {
		one, two := expr(ask), Request{Ask: ask, Window: 90 * time.Minute}.PromQL()
		for _, pair := range []string{"()", "[]", "{}"} {
			if strings.Count(one, pair[:1]) != strings.Count(one, pair[1:]) {
				t.Errorf("%s: unbalanced %s in %s", ask, pair, one)
			}
		}
		if strings.Contains(one, "%") || strings.Contains(one, "\n") {
			t.Errorf("%s: a verb or a line break was left in %s", ask, one)
		}
		if one != two && !strings.Contains(two, "[90m]") {
			t.Errorf("%s: no window of 90m in %s", ask, two)
		}
		windowless := []Question{AskPages, AskEarlierPages, AskScrapeIntervals, AskKVCacheUsage, AskQueueLength, AskRunning, AskKVCapacity}
		if got, want := one == two, slices.Contains(windowless, ask); got != want {
			t.Errorf("%s: independent of the window: %v, want %v", ask, got, want)
		}
	}
}

// FuzzModelNamesAreValues checks that whatever a model is called, its name is one
// string of the expression, and that string matches the name and no other.
func FuzzModelNamesAreValues(f *testing.F) {
	for _, name := range []string{"", "org/m-1.5", `a"b`, `a\b`, `a\`, "a{b}c", "a\nb", "a|b", ".*", `\Q`, "\x00", "ü", "\u2028", "\xff", `"} or vector(1) #`, "`"} {
		f.Add(name, name+"x")
	}
	shape := func(a, b string) string {
		return Request{Ask: AskObjective, Window: time.Minute, Models: []string{a, b}}.PromQL()
	}
	plain := strings.Split(shape("a", "b"), `"a|b"`)
	f.Fuzz(func(t *testing.T, name, other string) {
		literal := alternatives([]string{name, "model"})
		if got := shape(name, "model"); got != strings.Join(plain, literal) {
			t.Fatalf("%q changed more than a literal: %s", name, got)
		}
		pattern := unquote(t, literal)
		expression, err := regexp.Compile("^(?s:" + pattern + ")$")
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if name := strings.ToValidUTF8(name, "\uFFFD"); !expression.MatchString(name) {
			t.Errorf("%s does not match %q", pattern, name)
		}
		if other := strings.ToValidUTF8(other, "\uFFFD"); other != valid(name) && other != "model" && expression.MatchString(other) {
			t.Errorf("%s, of %q, matches %q", pattern, name, other)
		}
		one := strings.TrimPrefix(oneOf([]string{name}), "=")
		if got, want := unquote(t, one), strings.ToValidUTF8(name, "\uFFFD"); got != want {
			t.Errorf("one name: got %q, want %q", got, want)
		}
	})
}
