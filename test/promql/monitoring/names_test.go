package monitoring

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// exported returns the names of all series that the manager and the serving engines
// are known to export: of the manager what docs/reference/metrics.md lists, of the
// engines what internal/query reads.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	add := func(name string, histogram bool) {
		names[name] = true
		if histogram {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				names[name+suffix] = true
			}
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(wva_\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(page), -1) {
		add(row[1], row[2] == "histogram")
	}
	if len(names) < len(metrics.Catalogue()) {
		t.Fatalf("docs/reference/metrics.md lists %d names, the catalogue has %d", len(names), len(metrics.Catalogue()))
	}
	for _, engine := range query.Engines() {
		for _, quantity := range query.All() {
			recipe, ok := query.RecipeOf(engine, quantity, nil)
			if !ok {
				continue
			}
			for _, series := range append(slices.Clone(recipe.Of), recipe.Per) {
				for _, name := range series.Names {
					add(name, recipe.Over == query.Buckets)
				}
			}
		}
	}
	return names
}

// named returns the names of the series that an expression selects. A selector
// without one is an error.
func named(t *testing.T, expr string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, m := range selector.LabelMatchers {
			if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
				names = append(names, m.Value)
				return nil
			}
		}
		t.Errorf("%s: %s names no metric", expr, selector)
		return nil
	})
	return names
}

// fromLibraries are the names that the manager's libraries export, which the
// reference names by their beginnings.
var fromLibraries = regexp.MustCompile(`^(controller_runtime|workqueue|rest_client|go|process)_`)

func TestDashboardsShowOnlyWhatIsExported(t *testing.T) {
	known := exported(t)
	prometheus, look := recorded(t, Recording{Fault: Healthy, Begin: noon, After: 5 * time.Minute, Empty: true})
	for name, board := range boards(t) {
		sheet, err := board.Ask(t.Context(), prometheus, look)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range sheet.Answers {
			for _, expr := range a.Exprs {
				for _, metric := range named(t, expr) {
					if !known[metric] && !fromLibraries.MatchString(metric) {
						t.Errorf("%s, %q: no page exports %s; recording rules may be missing", name, a.Panel.Title, metric)
					}
				}
			}
		}
	}
}

func TestRulesReadOnlyWhatIsExportedOrRecorded(t *testing.T) {
	known := exported(t)
	// What users may record for themselves: objectives.yaml says so.
	known["namespace_model:ttft_objective_seconds:own"] = true
	known["namespace_model:itl_objective_seconds:own"] = true
	read := map[string]bool{}
	records := map[string]bool{}
	var exprs []string
	for _, file := range ruleFiles() {
		_, recorded, of, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		exprs = append(exprs, of...)
		for _, name := range recorded {
			records[name] = true
		}
	}
	for _, expr := range exprs {
		for _, metric := range named(t, expr) {
			read[metric] = true
			if !known[metric] && !records[metric] {
				t.Errorf("no page exports and no rule records %s, in\n%s", metric, expr)
			}
		}
	}
	for _, record := range slices.Sorted(maps.Keys(records)) {
		if !read[record] {
			t.Errorf("%s is recorded and nothing reads it", record)
		}
	}
}
