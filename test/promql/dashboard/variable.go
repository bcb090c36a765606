package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Look is the window of time of a dashboard.
type Look struct {
	At     time.Time     // the right end
	Range  time.Duration // > 0
	Step   time.Duration // between two points, > 0
	Scrape time.Duration // the scrape interval that the data source names
	// Choice are the variables that a user chose; the others take Grafana's default: all where that
	// may be chosen, else the first value in order.
	Choice map[string]string
}

// variables returns the value of each variable, in the form in which it replaces its name in a
// query.
func (d *Dashboard) variables(ctx context.Context, prometheus Prometheus, look Look) (map[string]string, error) {
	values := map[string]string{
		"__interval":      span(look.Step),
		"__range":         span(look.Range),
		"__rate_interval": span(max(look.Step+look.Scrape, 4*look.Scrape)),
	}
	for _, v := range d.Templating.List {
		value, err := v.value(ctx, prometheus, look, values)
		if err != nil {
			return nil, fmt.Errorf("resolving the variable %s of %s: %w", v.Name, d.Title, err)
		}
		values[v.Name] = value
	}
	return values, nil
}

// value returns the value of one variable; known has those before it.
func (v Variable) value(ctx context.Context, prometheus Prometheus, look Look, known map[string]string) (string, error) {
	choice, chosen := look.Choice[v.Name]
	switch v.Type {
	case "datasource":
		return "", nil
	case "textbox":
		var text string
		if err := json.Unmarshal(v.Query, &text); err != nil {
			return "", fmt.Errorf("reading its text: %w", err)
		}
		if chosen {
			return choice, nil
		}
		return text, nil
	case "query":
		if chosen {
			return v.quoted(choice), nil
		}
		if v.IncludeAll && v.AllValue != "" {
			return v.AllValue, nil
		}
		options, err := v.options(ctx, prometheus, look, known)
		if err != nil || len(options) == 0 {
			return "", err
		}
		return v.quoted(options[0]), nil
	default:
		return "", fmt.Errorf("type %q is not known; known are datasource, query and textbox", v.Type)
	}
}

// quoted returns a chosen value in the form of Grafana's data source for Prometheus: as a regular
// expression where several may be chosen.
func (v Variable) quoted(choice string) string {
	if v.Multi || v.IncludeAll {
		choice = regexp.QuoteMeta(choice)
	}
	return strings.ReplaceAll(choice, `\`, `\\`)
}

// options queries the values that may be chosen, in order.
func (v Variable) options(ctx context.Context, prometheus Prometheus, look Look, known map[string]string) ([]string, error) {
	var query struct{ Query string }
	if err := json.Unmarshal(v.Query, &query); err != nil {
		return nil, fmt.Errorf("reading its query: %w", err)
	}
	expr, ok := strings.CutPrefix(query.Query, "query_result(")
	if !ok {
		return nil, fmt.Errorf("its query is %q; known is query_result(...)", query.Query)
	}
	pattern, err := regexp.Compile(strings.Trim(v.Regex, "/"))
	if err != nil || pattern.NumSubexp() != 1 {
		return nil, fmt.Errorf("its regex is %q; it must compile and have one group", v.Regex)
	}
	result, err := prometheus.Query(ctx, expand(strings.TrimSuffix(expr, ")"), known), look.At)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, s := range result {
		// Grafana shows a row as labels, value, time.
		row := fmt.Sprintf("%s %v %d", s.Metric, s.Value, s.Timestamp)
		if match := pattern.FindStringSubmatch(row); match != nil {
			found[match[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// reference matches a variable's name in a query. "$1" of a label_replace names none.
var reference = regexp.MustCompile(`\$(?:(\w+)|\{(\w+)\})`)

// expand replaces the names of variables by their values. Unknown names stay.
func expand(query string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(query, func(found string) string {
		if value, ok := values[strings.Trim(found, "${}")]; ok {
			return value
		}
		return found
	})
}

// legend returns the name of a series: the pattern with its labels, or all labels without a
// pattern.
func legend(pattern string, metric model.Metric) string {
	if pattern == "" || pattern == "__auto" {
		return metric.String()
	}
	return labelInLegend.ReplaceAllStringFunc(pattern, func(found string) string {
		return string(metric[model.LabelName(strings.Trim(found, "{} "))])
	})
}

// labelInLegend matches {{label}} in a legend.
var labelInLegend = regexp.MustCompile(`\{\{\s*\w+\s*\}\}`)

// span formats a duration for PromQL.
func span(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) + "s" }
