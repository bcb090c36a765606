package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func metricsChecks() []check {
	return []check{
		{"clocks", []Code{"WVA0304"}, nil, false, clocksAgree},
		{"Prometheus", []Code{"WVA0301", "WVA0302", "WVA0303", "WVA0305"}, []Read{ReadVariants}, false, sourceAnswers},
		{"monitors", []Code{"WVA0403"}, []Read{ReadVariants, ReadMonitors, ReadServices, ReadPods}, false, monitorsSelect},
		{"series of the model", []Code{"WVA0401", "WVA0402", "WVA0404", "WVA0405", "WVA0406", "WVA0407"}, []Read{ReadVariants}, false, seriesFound},
	}
}

func clocksAgree(c *Case, say *result) {
	for i := range c.Variants {
		v := &c.Variants[i]
		lag := c.Answer.Known[v.key()].Snapshot.ClockLag
		_, message := v.metrics(c)
		switch {
		case lag > 0:
			say.finds("WVA0304", nil, fmt.Sprintf("the clock of the source of metrics is %s behind the manager's", age(lag)))
			return
		case lag < 0:
			say.finds("WVA0304", nil, fmt.Sprintf("the clock of the source of metrics is %s ahead of the manager's", age(-lag)))
			return
		case strings.Contains(message, "The clock of the source of metrics"):
			say.finds("WVA0304", nil, cut(message))
			return
		}
	}
	server, manager := c.Clocks.Server, c.Clocks.Manager
	if !server.Known || !manager.Known {
		return
	}
	apart := manager.By - server.By
	switch {
	case apart.Abs() <= clocksApart:
		say.saw("the clocks of the manager and of the API server agree")
	case apart > 0:
		say.finds("WVA0304", nil, fmt.Sprintf("the manager's clock is %s ahead of that of the API server", age(apart)))
	default:
		say.finds("WVA0304", nil, fmt.Sprintf("the manager's clock is %s behind that of the API server", age(-apart)))
	}
}

// metrics returns what the manager reports of the metrics of a variant: the reason of
// MetricsAvailable and its message, "" where it reports nothing. For a variant without conditions,
// such as an annotated scaler, they follow from the explanation.
func (v *Variant) metrics(c *Case) (reason v1alpha1.ConditionReason, message string) {
	if of := v.condition(v1alpha1.ConditionMetricsAvailable); of.Type != "" {
		return v1alpha1.ConditionReason(of.Reason), of.Message
	}
	e, ok := c.Answer.Known[v.key()]
	if !ok {
		return "", ""
	}
	reports := func(r scaling.ReplicaSample) bool { return r.Variant == v.key() && r.Reports() }
	switch {
	case e.Snapshot.Fault != "":
		return v1alpha1.ReasonPrometheusError, explain.PrometheusError(e)
	case slices.ContainsFunc(e.Snapshot.Replicas, reports) || len(e.Snapshot.Replicas) == 0 && e.Snapshot.Unjoined == "":
		return v1alpha1.ReasonMetricsFound, explain.MetricsFound(e)
	default:
		return v1alpha1.ReasonMetricsMissing, explain.MetricsMissing(e)
	}
}

// The words of faults in messages of the Prometheus client; see internal/collector/prometheus.
var (
	refusedWords   = regexp.MustCompile(`HTTP 40[13]\b`)
	untrustedWords = regexp.MustCompile(`x509:|certificate is not accepted|tls: failed to verify|unknown certificate authority`)
	slowWords      = regexp.MustCompile(`no answer in time|HTTP (429|503|504)\b|context deadline exceeded|timeout`)
)

func sourceAnswers(c *Case, say *result) {
	heard := 0
	before := len(say.found)
	for i := range c.Variants {
		v := &c.Variants[i]
		reason, message := v.metrics(c)
		if reason != "" && reason != v1alpha1.ReasonPrometheusError {
			heard++
		}
		if reason != v1alpha1.ReasonPrometheusError {
			continue
		}
		code := Code("WVA0301")
		switch {
		case untrustedWords.MatchString(message):
			code = "WVA0303"
		case refusedWords.MatchString(message):
			code = "WVA0302"
		case slowWords.MatchString(message):
			code = "WVA0305"
		}
		say.findsOf(code, c, v, nil, cut(message))
	}
	if heard > 0 && len(say.found) == before {
		say.saw("the source of metrics answers the manager")
	}
}

// silent reports whether the manager has no metrics of the variant, or reports nothing about them.
func (v *Variant) silent(c *Case) bool {
	reason, _ := v.metrics(c)
	return slices.Contains([]v1alpha1.ConditionReason{"", v1alpha1.ReasonMetricsMissing, v1alpha1.ReasonMetricsStale}, reason)
}

func monitorsSelect(c *Case, say *result) {
	selecting := 0
	for _, m := range c.Monitors {
		n := c.selected(m)
		if n > 0 {
			selecting++
			continue
		}
		var of *Variant
		for i := range c.Variants {
			if v := &c.Variants[i]; m.looksIn(v.Object.Namespace) && v.silent(c) {
				of = v
				break
			}
		}
		if of == nil {
			continue
		}
		what := "Service"
		if m.Kind == "PodMonitor" {
			what = "pod"
		}
		say.findsOf("WVA0403", c, of, names{"MONITORKIND": strings.ToLower(m.Kind), "MONITORNAMESPACE": m.Namespace, "MONITOR": m.Name},
			fmt.Sprintf("%s %s/%s selects %s, and no %s of namespace %s has these labels", m.Kind, m.Namespace, m.Name, selectorText(m), what, of.Object.Namespace))
	}
	if selecting > 0 {
		say.saw("%s of Prometheus with something to scrape", count(selecting, "monitor"))
	}
}

// selectorText returns the selector of a monitor as text.
func selectorText(m Monitor) string {
	if m.Selector == nil || m.Selector.Empty() {
		return "everything"
	}
	return m.Selector.String()
}

// looksIn reports whether a monitor covers a namespace.
func (m Monitor) looksIn(namespace string) bool {
	return m.Any || slices.Contains(m.In, namespace) || len(m.In) == 0 && m.Namespace == namespace
}

// matches reports whether a monitor selects objects with these labels.
func (m Monitor) matches(of map[string]string) bool {
	return m.Selector == nil || m.Selector.Matches(labels.Set(of))
}

// selected returns how many Services, or pods, a monitor selects.
func (c *Case) selected(m Monitor) int {
	n := 0
	if m.Kind == "PodMonitor" {
		for _, p := range c.ServingPods {
			if m.looksIn(p.Namespace) && m.matches(p.Labels) {
				n++
			}
		}
		return n
	}
	for _, s := range c.Services {
		if m.looksIn(s.Namespace) && m.matches(s.Labels) {
			n++
		}
	}
	return n
}

// The words by which the manager reports what it found instead of metrics; see internal/collector.
var (
	nameWords    = regexp.MustCompile(`Did you mean '|Metrics of other models do exist`)
	labelWords   = regexp.MustCompile(`exists but has no label|which is none of the model's live pods`)
	serviceWords = regexp.MustCompile(`falls again and again|each scrape of one address reaches another pod`)
)

func seriesFound(c *Case, say *result) {
	c.each(say, "the manager has their metrics, or awaits them", func(v *Variant) {
		reason, message := v.metrics(c)
		text := cut(message)
		switch {
		case serviceWords.MatchString(message):
			say.findsOf("WVA0405", c, v, nil, text)
		case reason == v1alpha1.ReasonMetricsStale:
			say.findsOf("WVA0407", c, v, nil, text)
		case reason != v1alpha1.ReasonMetricsMissing:
		case v.foreignPrefix() != "":
			n := names{"PREFIXES": strings.Join(slices.Concat(v.Prefixes.Read, v.Prefixes.Found), ","), "MANAGER": c.managerName()}
			say.findsOf("WVA0406", c, v, n, v.foreignPrefix())
		case labelWords.MatchString(message):
			say.findsOf("WVA0404", c, v, nil, text)
		case nameWords.MatchString(message) && !strings.Contains(message, "(none in this namespace)"):
			say.findsOf("WVA0402", c, v, nil, text)
		case v.Resolved.Replicas.Current == 0 && v.won():
			// Nothing runs that could report.
		default:
			evidence := []string{text}
			if v.Prefixes.Why != "" {
				evidence = append(evidence, "series under another prefix were not looked for: "+v.Prefixes.Why)
			}
			say.findsOf("WVA0401", c, v, nil, evidence...)
		}
	})
}

// foreignPrefix says which prefixes of the series in the namespace the manager does not read, ""
// for none.
func (v *Variant) foreignPrefix() string {
	if len(v.Prefixes.Found) == 0 {
		return ""
	}
	return fmt.Sprintf("Prometheus has series of an engine in namespace %s under the prefix %s; the manager reads %s",
		v.Object.Namespace, strings.Join(v.Prefixes.Found, ", "), strings.Join(v.Prefixes.Read, ","))
}

// managerName returns the name of the Deployment of managers in their namespace, "" where it is
// unknown.
func (c *Case) managerName() string {
	for _, m := range c.Managers {
		if namespace, name, ok := strings.Cut(m.Name, "/"); ok && namespace == c.System {
			return name
		}
	}
	return ""
}
