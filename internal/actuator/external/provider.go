package external

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// labelExportedNamespace is the name that Prometheus gives to the label namespace of a
// scraped series. Published selectors use it.
const labelExportedNamespace = "exported_namespace"

// Ambiguity is a query that matches several variants. An autoscaler adds them up, which its
// user rarely intends.
type Ambiguity struct {
	Namespace string
	Metric    string
	Selector  string               // "" selects everything
	User      string               // of the query, "" when unknown
	Variants  []scaling.VariantKey // sorted, two or more
	Sum       string               // of their values, which an autoscaler reads
	Cycle     scaling.CycleID      // that decided them, "" when unknown
}

// ProviderOptions configures a Provider.
type ProviderOptions struct {
	Store *Store // never nil
	// Fallback is used while the store is empty; without one such a request fails.
	Fallback Fallback
	// ControllerInstance is that of the replica gauges, "" for none.
	ControllerInstance string
	// Pods returns the replicas that a target is asked to have, and the pods that an HPA counts as
	// ready, at the time of the call; ok is false where they are unknown. Then, and where Pods is
	// nil, all current replicas count as ready.
	Pods func(ctx context.Context, namespace string, target scaling.TargetRef) (all, ready scaling.Replicas, ok bool)
	// Ambiguous receives every ambiguous query, each time. It must be quick and safe for
	// several goroutines. It may be nil.
	Ambiguous func(context.Context, Ambiguity)
}

// Provider answers External Metrics queries. It may be used by several
// goroutines.
type Provider struct {
	opts ProviderOptions
}

var _ provider.ExternalMetricsProvider = (*Provider)(nil)

// NewProvider returns a Provider.
func NewProvider(opts ProviderOptions) *Provider { return &Provider{opts: opts} }

// ListAllExternalMetrics returns the served metrics, even if there is no variant.
func (p *Provider) ListAllExternalMetrics() []provider.ExternalMetricInfo {
	infos := []provider.ExternalMetricInfo{}
	for _, name := range served() {
		infos = append(infos, provider.ExternalMetricInfo{Metric: name})
	}
	return infos
}

// served returns the names of the metrics in alphabetical order.
func served() []string { return []string{metrics.DesiredRatio, metrics.DesiredReplicas} }

// GetExternalMetric returns one item for each variant of the namespace whose labels match, sorted
// by variant; none is not an error. It returns NotFound for a metric that is not served, and
// ServiceUnavailable while neither the store nor the fallback has values. With the label of a probe
// in the selector, each item has the number of the probe; see tagged.
func (p *Provider) GetExternalMetric(ctx context.Context, namespace string, selector labels.Selector,
	info provider.ExternalMetricInfo,
) (*external_metrics.ExternalMetricValueList, error) {
	if !slices.Contains(served(), info.Metric) {
		return nil, notFound(info.Metric)
	}
	selector, probe, err := tagged(selector)
	if err != nil {
		return nil, err
	}
	values, err := Source{Store: p.opts.Store, Fallback: p.opts.Fallback}.Values(ctx, namespace)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	list := &external_metrics.ExternalMetricValueList{Items: []external_metrics.ExternalMetricValue{}}
	several := Ambiguity{Namespace: namespace, Metric: info.Metric, Selector: selector.String()}
	var sum resource.Quantity
	for _, v := range values {
		set, selected := p.selected(v, selector)
		if !selected {
			continue
		}
		several.Variants = append(several.Variants, v.Variant)
		several.Cycle = v.Cycle
		q, ok := p.quantity(ctx, v, info.Metric)
		if probe > 0 {
			q, ok = *resource.NewQuantity(probe, resource.DecimalSI), true
			set[metrics.LabelProbe] = strconv.FormatInt(probe, 10)
		}
		if ok {
			sum.Add(q)
			list.Items = append(list.Items, external_metrics.ExternalMetricValue{
				MetricName:   info.Metric,
				MetricLabels: set,
				Timestamp:    metav1.NewTime(v.At),
				Value:        q,
			})
		}
	}
	if len(several.Variants) > 1 && p.opts.Ambiguous != nil && probe == 0 {
		several.Sum = sum.String()
		if who, ok := request.UserFrom(ctx); ok {
			several.User = who.GetName()
		}
		p.opts.Ambiguous(ctx, several)
	}
	return list, nil
}

// selected returns the labels of a value, and whether the selector matches them: those with its own
// variant name, else those with the name ReadAs. A value is never more than one item.
func (p *Provider) selected(v Value, selector labels.Selector) (map[string]string, bool) {
	set := p.labels(v)
	if selector.Matches(labels.Set(set)) {
		return set, true
	}
	if v.ReadAs == "" {
		return nil, false
	}
	set[metrics.LabelVariant] = metrics.Label(v.ReadAs)
	return set, selector.Matches(labels.Set(set))
}

// labels returns the labels of a value: those of the replica gauges and the
// namespace under the name that a scrape gives it.
func (p *Provider) labels(v Value) map[string]string {
	variant := scaling.Variant{Key: v.Variant, Target: v.Target, Accelerator: v.Accelerator}
	set := maps.Clone(metrics.TargetLabels(variant, p.opts.ControllerInstance))
	set[labelExportedNamespace] = set[metrics.LabelNamespace]
	return set
}

// quantity returns the value of a metric: replicas exactly, a ratio to a thousandth. There is no
// ratio while the current replicas are unknown. A scaler that multiplies the replicas that it reads
// (ByValue) gets a ratio, too.
func (p *Provider) quantity(ctx context.Context, v Value, metric string) (resource.Quantity, bool) {
	if metric == metrics.DesiredReplicas && !v.ByValue {
		return *resource.NewQuantity(int64(v.Desired), resource.DecimalSI), true
	}
	all, ready, known := v.Current, v.Current, v.Observed
	if metric == metrics.DesiredReplicas && p.opts.Pods != nil {
		if a, r, ok := p.opts.Pods(ctx, v.Variant.Namespace, v.Target); ok {
			all, ready, known = a, r, true
		}
	}
	if !known {
		return resource.Quantity{}, false
	}
	return *resource.NewMilliQuantity(factor(v.Desired, all, ready), resource.DecimalSI), true
}

// factor returns the factor, in thousandths, by which an HPA should multiply the ready pods of a
// target to get the desired replicas; all is the current replicas. An HPA rounds the product up, in
// binary fractions: 1.667 x 3 would give 6 instead of the decided 5, and 16.6 x 15 would give 250
// instead of 249. A factor within its tolerance of 1 leaves the replicas as they are
// (k8s.io/kubernetes, podautoscaler, getUsageRatioReplicaCount).
func factor(desired, all, ready scaling.Replicas) int64 {
	const milli = 1000
	switch {
	case all == 0:
		return milli * int64(desired) // there is nothing to multiply
	case desired == all, ready == 0:
		return milli // a pod may become ready before the HPA counts
	}
	if 0 < desired && desired <= ready && ready < all { // desired / ready is 1 or a little less; the least factor that the HPA rounds up to desired is further from 1
		return int64(milli*(desired-1)/ready) + 1
	}
	f := int64(math.Round(milli * float64(desired) / float64(ready)))
	if math.Ceil(float64(f)/milli*float64(ready)) > float64(desired) {
		f--
	}
	return f
}

// notFound returns the error of the API for a metric that is not served.
func notFound(metric string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("the server could not find the metric %s, it serves %s",
			metric, strings.Join(served(), " and ")),
	}}
}
