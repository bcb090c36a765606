package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// storedMetrics are the metrics that are read from a store.
var storedMetrics = []string{
	metrics.DesiredReplicas, metrics.AdvisedReplicas, metrics.CurrentReplicas, metrics.Replicas, metrics.ReplicaCost, metrics.CurrentLoad,
	metrics.MeasuredITL,
}

// renamedNamespace is the name that a scrape with honor_labels: false gives the label namespace.
const renamedNamespace = "exported_namespace"

// storedOf returns the PromQL expression for the variants of a model: one series of each metric and
// variant, from any manager.
func storedOf(of scaling.ModelKey) string {
	names, model, namespace := strings.Join(storedMetrics, "|"), strconv.Quote(metrics.Label(of.ID)), strconv.Quote(metrics.Label(of.Namespace))
	one := func(where string) string {
		// The operator and keeps the name of the metric, which a join by multiplication loses.
		return fmt.Sprintf(`max by (__name__, variant_name, %s) ({__name__=~"%s", state=~"|ready", quantity=~"|arrival_rate", %s}`+
			` and on (namespace, %s, variant_name) %s{model_name=%s, %s})`, renamedNamespace, names, where, renamedNamespace, metrics.VariantInfo, model, where)
	}
	// The two sides differ in a label: the operator or takes series that differ only in the name
	// for one.
	return one(renamedNamespace+"="+namespace) + " or " + one(renamedNamespace+`="", namespace=`+namespace)
}

// labelOf returns the name of a variant in a metric.
func labelOf(name string) string { return metrics.Label(name) }

// storedRows are the rows of a model in a store, one step apart.
type storedRows struct {
	t               []time.Time
	load, itl, cost history.Column
	variants        map[string]*storedVariant // by label
}

// storedVariant is one variant of them. It did not exist, and has no replicas, in rows in which
// only other variants have a decision.
type storedVariant struct {
	desired, current, ready history.Column
	advised, price, rate    history.Column // of one replica and hour; requests/s of the model
	latency                 history.Column // ITL, s
}

// rowsOf makes rows of series.
func rowsOf(series []query.Curve, from, until time.Time, step time.Duration) storedRows {
	var out storedRows
	for t := from; t.Before(until); t = t.Add(step) {
		out.t = append(out.t, t)
	}
	n := len(out.t)
	unknown := func() history.Column {
		c := make(history.Column, n)
		for i := range c {
			c[i] = math.NaN()
		}
		return c
	}
	out.variants = map[string]*storedVariant{}
	for _, s := range series {
		name := s.Labels["variant_name"]
		v := out.variants[name]
		if v == nil {
			v = &storedVariant{
				desired: unknown(), current: unknown(), ready: unknown(), advised: unknown(), price: unknown(), rate: unknown(), latency: unknown(),
			}
			out.variants[name] = v
		}
		column := v.column(s.Labels["__name__"])
		if column == nil {
			continue
		}
		for _, p := range s.Points {
			if i := int(p.At.Sub(from) / step); !p.At.Before(from) && i < n && !math.IsInf(p.Value, 0) && !math.IsNaN(p.Value) {
				column[i] = p.Value
			}
		}
	}
	out.load, out.itl, out.cost = unknown(), unknown(), unknown()
	for i := range n {
		out.sum(i)
	}
	return out
}

// column returns the column for the values of a metric, nil for an unknown metric.
func (v *storedVariant) column(metric string) history.Column {
	return map[string]history.Column{
		metrics.DesiredReplicas: v.desired, metrics.AdvisedReplicas: v.advised, metrics.CurrentReplicas: v.current, metrics.Replicas: v.ready,
		metrics.ReplicaCost: v.price, metrics.CurrentLoad: v.rate, metrics.MeasuredITL: v.latency,
	}[metric]
}

// sum fills row i of the model's columns: the load, which is the same for each variant; the ITL,
// weighted by the Ready replicas; and the cost of the current replicas.
func (r *storedRows) sum(i int) {
	decided := false
	for _, v := range r.variants {
		if math.IsNaN(v.desired[i]) {
			v.desired[i] = v.advised[i]
		}
		decided = decided || !math.IsNaN(v.desired[i])
	}
	var cost, late, weight float64
	for _, v := range r.variants {
		if decided && math.IsNaN(v.desired[i]) {
			v.desired[i], v.current[i], v.ready[i] = 0, 0, 0
			continue
		}
		cost += v.current[i] * v.price[i]
		if !math.IsNaN(v.rate[i]) && !(v.rate[i] <= r.load[i]) {
			r.load[i] = v.rate[i]
		}
		if !math.IsNaN(v.latency[i]) && v.ready[i] > 0 {
			late, weight = late+v.ready[i]*v.latency[i], weight+v.ready[i]
		}
	}
	if decided {
		r.cost[i] = cost
	}
	if weight > 0 {
		r.itl[i] = 1000 * late / weight
	}
}

// decided reports whether a decision on any variant is known in row i.
func (r *storedRows) decided(i int) bool {
	for _, v := range r.variants {
		if !math.IsNaN(v.desired[i]) {
			return true
		}
	}
	return false
}
