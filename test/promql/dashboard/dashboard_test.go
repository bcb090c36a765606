package dashboard

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
)

// told is a Prometheus that answers every instant query alike and notes what it was
// asked.
type told struct {
	asked  []string
	vector model.Vector
}

func (p *told) Query(_ context.Context, expr string, _ time.Time) (model.Vector, error) {
	p.asked = append(p.asked, expr)
	return p.vector, nil
}

func (p *told) Range(_ context.Context, expr string, _ Look) (model.Matrix, error) {
	p.asked = append(p.asked, expr)
	return nil, nil
}

func parse(t *testing.T, text string) *Dashboard {
	t.Helper()
	file := filepath.Join(t.TempDir(), "board.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAPanelOfAnUnknownTypeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "board.json")
	if err := os.WriteFile(file, []byte(`{"panels": [{"type": "heatmap", "title": "warm"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(file)
	if err == nil || !strings.Contains(err.Error(), `panel "warm" is a heatmap`) {
		t.Errorf("%v, want the panel and its type", err)
	}
}

func TestVariablesAreReplacedAsGrafanaDoes(t *testing.T) {
	const board = `{"templating": {"list": [
		{"name": "datasource", "type": "datasource", "query": "prometheus"},
		{"name": "limit", "label": "Limit", "type": "textbox", "query": "2"},
		{"name": "many", "label": "Many", "type": "query", "query": {"query": "query_result(count by (a) (x))"}, "regex": "/a=\"([^\"]+)\"/", "multi": true, "includeAll": true, "allValue": ".+"},
		{"name": "one", "label": "One", "type": "query", "query": {"query": "query_result(x{many=~\"$many\"})"}, "regex": "/a=\"([^\"]+)\"/"}
	]}, "panels": [{"type": "timeseries", "targets": [{"refId": "A", "expr": "$query"}]}]}`
	found := model.Vector{{Metric: model.Metric{"a": "z"}}, {Metric: model.Metric{"a": "b.c"}}, {Metric: model.Metric{"a": "z"}}}
	for _, c := range []struct {
		name   string
		expr   string
		choice map[string]string
		found  model.Vector
		want   string
	}{
		{"all where that may be chosen", `x{a=~"$many"}`, nil, found, `x{a=~".+"}`},
		{"the first in order else", `x{a="$one"}`, nil, found, `x{a="b.c"}`},
		{"nothing where there is nothing", `x{a="$one"}`, nil, nil, `x{a=""}`},
		{"a choice of several is a pattern", `x{a=~"$many"}`, map[string]string{"many": "b.c"}, nil, `x{a=~"b\\.c"}`},
		{"a choice of one is not", `x{a="$one"}`, map[string]string{"one": "b.c"}, nil, `x{a="b.c"}`},
		{"a text box", `vector($limit)`, nil, nil, `vector(2)`},
		{"a text box with another text", `vector(${limit})`, map[string]string{"limit": "5"}, nil, `vector(5)`},
		{"at least four scrapes to a rate", `rate(x[$__rate_interval])`, nil, nil, `rate(x[120s])`},
		{"the range", `x[$__range]`, nil, nil, `x[3600s]`},
		{"no variable at all", `label_replace(x, "a", "$1", "b", "(.+)")`, nil, nil, `label_replace(x, "a", "$1", "b", "(.+)")`},
	} {
		t.Run(c.name, func(t *testing.T) {
			quoted, err := json.Marshal(c.expr)
			if err != nil {
				t.Fatal(err)
			}
			d := parse(t, strings.Replace(board, `"$query"`, string(quoted), 1))
			prometheus := &told{vector: c.found}
			look := Look{Range: time.Hour, Step: 30 * time.Second, Scrape: 30 * time.Second, Choice: c.choice}
			if _, err := d.Ask(t.Context(), prometheus, look); err != nil {
				t.Fatal(err)
			}
			if got := prometheus.asked[len(prometheus.asked)-1]; got != c.want {
				t.Errorf("asked %s, want %s", got, c.want)
			}
		})
	}
}

func TestAVariableThatIsNotUnderstoodIsAnError(t *testing.T) {
	for _, c := range []struct{ name, variable, want string }{
		{"of another type", `{"name": "v", "type": "interval"}`, `type "interval" is not known`},
		{"by another function", `{"name": "v", "type": "query", "query": {"query": "label_values(x, a)"}, "regex": "(a)"}`, "known is query_result"},
		{"without a group", `{"name": "v", "type": "query", "query": {"query": "query_result(x)"}, "regex": "/a/"}`, "must compile and have one group"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parse(t, `{"title": "board", "templating": {"list": [`+c.variable+`]}}`)
			_, err := d.Ask(t.Context(), &told{}, Look{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestALegendNamesSeriesByTheirLabels(t *testing.T) {
	metric := model.Metric{"a": "1", "b": "2"}
	got := []string{legend("{{a}}/{{ b }} {{c}}", metric), legend("total", metric), legend("__auto", metric)}
	if diff := cmp.Diff(got, []string{"1/2 ", "total", `{a="1", b="2"}`}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestMappingsThresholdsAndOverridesOfAPanel(t *testing.T) {
	p := parse(t, `{"panels": [{"type": "stat", "fieldConfig": {"defaults": {"unit": "s",
		"mappings": [{"type": "value", "options": {"0": {"text": "none"}}}],
		"thresholds": {"steps": [{"color": "green", "value": null}, {"color": "red", "value": 2}]}},
		"overrides": [
			{"matcher": {"id": "byFrameRefID", "options": "B"}, "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash"}}]},
			{"matcher": {"id": "byName", "options": "failure"}, "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}, {"id": "unit", "value": "short"}]}
		]}}]}`).Panels[0]
	field := p.FieldConfig.Defaults
	none, mapped := field.Mapped(0)
	_, other := field.Mapped(1)
	got := []any{none, mapped, other, field.Color(1.9), field.Color(2), p.Dashed("A"), p.Dashed("B"), p.Hue("failure"), p.Hue("success"), p.Column("failure").Unit, p.Column("x").Unit}
	want := []any{"none", true, false, "green", "red", false, true, "red", "", "short", "s"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
