package monitoring

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// Rules are the groups of PrometheusRule objects, evaluated as Prometheus does.
type Rules struct {
	groups []*rules.Group
}

// LoadRules reads PrometheusRule objects, one from each file. Their rules read from s and write to
// s. Groups are evaluated in the order of the files.
func LoadRules(ctx context.Context, s *store.Store, files ...string) (*Rules, error) {
	manager := rules.NewManager(&rules.ManagerOptions{
		Context: ctx, Appendable: s, Logger: slog.New(slog.DiscardHandler), GroupLoader: objects{parser.NewParser(parser.Options{})},
		QueryFunc: func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
			return s.Query(ctx, expr, at)
		},
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	r := &Rules{}
	for _, file := range files {
		groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		for _, group := range groups {
			r.groups = append(r.groups, group)
		}
	}
	return r, nil
}

// Firing is an alert that fired.
type Firing struct {
	Name   string
	Labels labels.Labels // without the name of the alert
	// Summary and Description are as they were sent.
	Summary, Description string
	At                   time.Time // when it began to fire
}

// Evaluate evaluates all rules at each time between from and to, and returns the alerts that fired,
// each once, in the order of the times, then of the names. A rule that fails is an error.
func (r *Rules) Evaluate(ctx context.Context, from, to time.Time, every time.Duration) ([]Firing, error) {
	seen := map[string]bool{}
	var fired []Firing
	for at := from; !at.After(to); at = at.Add(every) {
		for _, group := range r.groups {
			group.Eval(ctx, at)
			for _, rule := range group.Rules() {
				if err := rule.LastError(); err != nil {
					return nil, fmt.Errorf("evaluating the rule %s at %v: %w", rule.Name(), at, err)
				}
			}
			for _, rule := range group.AlertingRules() {
				for _, alert := range rule.ActiveAlerts() {
					id := rule.Name() + alert.Labels.String()
					if alert.State != rules.StateFiring || seen[id] {
						continue
					}
					seen[id] = true
					fired = append(fired, Firing{
						Name: rule.Name(), Labels: labels.NewBuilder(alert.Labels).Del("alertname").Labels(), At: at,
						Summary: alert.Annotations.Get("summary"), Description: alert.Annotations.Get("description"),
					})
				}
			}
		}
	}
	slices.SortStableFunc(fired, func(a, b Firing) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Name, b.Name), labels.Compare(a.Labels, b.Labels))
	})
	return fired, nil
}

// Alert is an alerting rule as in its file.
type Alert struct {
	Name                string
	Expr                string
	Labels, Annotations map[string]string
}

// Read returns the alerts of a PrometheusRule object, the names of the series that it records, both
// in the order of the file, and the expressions of all rules.
func Read(file string) (alerts []Alert, records, exprs []string, err error) {
	groups, errs := objects{parser.NewParser(parser.Options{})}.Load(file, false, model.UTF8Validation)
	if err := errors.Join(errs...); err != nil {
		return nil, nil, nil, err
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			exprs = append(exprs, rule.Expr)
			if rule.Alert != "" {
				alerts = append(alerts, Alert{rule.Alert, rule.Expr, rule.Labels, rule.Annotations})
			} else {
				records = append(records, rule.Record)
			}
		}
	}
	return alerts, records, exprs, nil
}

// objects loads the rules of PrometheusRule objects: their spec is a rule file.
type objects struct{ parser parser.Parser }

var _ rules.GroupLoader = objects{}

// Load reads the file of one object. Fields that a rule file does not have are errors.
func (o objects) Load(file string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, []error{fmt.Errorf("reading rules: %w", err)}
	}
	_, spec, ok := bytes.Cut(text, []byte("\nspec:\n"))
	if !ok || !bytes.Contains(text, []byte("\nkind: PrometheusRule\n")) {
		return nil, []error{fmt.Errorf("reading rules: %s is no PrometheusRule with a spec", file)}
	}
	groups, errs := rulefmt.Parse(spec, ignoreUnknown, scheme, o.parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, append([]error{fmt.Errorf("reading rules from %s", file)}, errs...)
	}
	return groups, nil
}

// Parse parses an expression.
func (o objects) Parse(expr string) (parser.Expr, error) { return o.parser.ParseExpr(expr) }
