package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/api"
	apiv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Prometheus answers queries.
type Prometheus interface {
	// Query returns the value of expr at an instant.
	Query(ctx context.Context, expr string, at time.Time) (model.Vector, error)
	// Range returns the values of expr over the window of look.
	Range(ctx context.Context, expr string, look Look) (model.Matrix, error)
}

// Sheet is a dashboard with all its data.
type Sheet struct {
	Dashboard *Dashboard
	Look      Look
	// Choices are the label and the value of each variable, "All" where nothing is left out.
	Choices []Choice
	Answers []Answer // in reading order
}

// Choice is the value of a variable.
type Choice struct{ Label, Value string }

// Answer is the data of a panel.
type Answer struct {
	Panel Panel
	// Exprs are the queries as they were sent, in the order of the targets.
	Exprs []string
	// Series are in the order of the targets, then by name. Each series of an instant query has one
	// value.
	Series []Series
}

// Shown returns how many series of a query have a value.
func (a Answer) Shown(refID string) int {
	n := 0
	for _, s := range a.Series {
		if s.RefID == refID && slices.ContainsFunc(s.Points, func(p model.SamplePair) bool { return !math.IsNaN(float64(p.Value)) }) {
			n++
		}
	}
	return n
}

// Series is one line of a panel.
type Series struct {
	RefID  string
	Name   string // by the legend
	Labels model.Metric
	Points []model.SamplePair
}

// Last returns the latest value.
func (s Series) Last() float64 { return float64(s.Points[len(s.Points)-1].Value) }

// Ask sends all queries of the dashboard's panels.
func (d *Dashboard) Ask(ctx context.Context, prometheus Prometheus, look Look) (*Sheet, error) {
	values, err := d.variables(ctx, prometheus, look)
	if err != nil {
		return nil, err
	}
	sheet := &Sheet{Dashboard: d, Look: look, Choices: d.choices(values)}
	for _, p := range d.Pictures() {
		answer := Answer{Panel: p}
		for _, target := range p.Targets {
			expr := expand(target.Expr, values)
			answer.Exprs = append(answer.Exprs, expr)
			series, err := target.ask(ctx, prometheus, look, expr)
			if err != nil {
				return nil, fmt.Errorf("asking what %q of %s shows: query %s: %w", p.Title, d.Title, target.RefID, err)
			}
			answer.Series = append(answer.Series, series...)
		}
		sheet.Answers = append(sheet.Answers, answer)
	}
	return sheet, nil
}

// choices returns the values of the variables for readers.
func (d *Dashboard) choices(values map[string]string) []Choice {
	var out []Choice
	for _, v := range d.Templating.List {
		value := values[v.Name]
		switch {
		case v.Type == "datasource":
			continue
		case value == v.AllValue && v.IncludeAll:
			value = "All"
		case value == "":
			value = "none"
		}
		out = append(out, Choice{v.Label, value})
	}
	return out
}

// ask evaluates expr, the expanded query of one target.
func (t Target) ask(ctx context.Context, prometheus Prometheus, look Look, expr string) ([]Series, error) {
	var out []Series
	if t.Instant {
		vector, err := prometheus.Query(ctx, expr, look.At)
		if err != nil {
			return nil, err
		}
		for _, s := range vector {
			out = append(out, t.series(s.Metric, []model.SamplePair{{Timestamp: s.Timestamp, Value: s.Value}}))
		}
	} else {
		matrix, err := prometheus.Range(ctx, expr, look)
		if err != nil {
			return nil, err
		}
		for _, s := range matrix {
			out = append(out, t.series(s.Metric, s.Values))
		}
	}
	slices.SortFunc(out, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Labels.String(), b.Labels.String()))
	})
	return out, nil
}

func (t Target) series(metric model.Metric, points []model.SamplePair) Series {
	return Series{RefID: t.RefID, Name: legend(t.Legend, metric), Labels: metric, Points: points}
}

// Server is a Prometheus behind its HTTP API.
type Server struct{ api apiv1.API }

var _ Prometheus = (*Server)(nil)

// Dial returns the Prometheus at a base URL. It sends no request yet.
func Dial(url string) (*Server, error) {
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		return nil, fmt.Errorf("reading the address of Prometheus: %w", err)
	}
	return &Server{apiv1.NewAPI(client)}, nil
}

// Query returns the value of expr at an instant.
func (s *Server) Query(ctx context.Context, expr string, at time.Time) (model.Vector, error) {
	value, _, _, err := s.api.Query(ctx, expr, at)
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", expr, err)
	}
	switch value := value.(type) {
	case model.Vector:
		return value, nil
	case *model.Scalar:
		return model.Vector{{Value: value.Value, Timestamp: value.Timestamp}}, nil
	default:
		return nil, fmt.Errorf("querying %s: a %s, want a vector", expr, value.Type())
	}
}

// Range returns the values of expr over the window of look.
func (s *Server) Range(ctx context.Context, expr string, look Look) (model.Matrix, error) {
	value, _, _, err := s.api.QueryRange(ctx, expr, apiv1.Range{Start: look.At.Add(-look.Range), End: look.At, Step: look.Step})
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", expr, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("querying %s: a %s, want a matrix", expr, value.Type())
	}
	return matrix, nil
}
