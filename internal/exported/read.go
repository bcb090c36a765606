package exported

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Span is the time and the namespace to read.
type Span struct {
	From, To  time.Time // To is after From
	Namespace string    // of the variants, "" for all
}

// The errors of a Store without variants in the Span.
var (
	ErrNoManager   = errors.New("it has no series of the manager in this time: is its metrics port scraped? See wva_variant_info")
	ErrNoVariant   = errors.New("it scraped a manager in this time, which exported no variant: see wva_variant_info")
	ErrNoNamespace = errors.New("it has variants in this time, and none in the namespace")
)

const (
	// shortestStep is the least time between two reads of a store, mostReads their largest number.
	shortestStep = time.Minute
	mostReads    = 10_000
	// readsAtOnce is the number of reads in one query, a day by the minute: the answer for a
	// thousand variants is about 25 MB.
	readsAtOnce = 1440
)

// Step returns the time between two reads.
func (s Span) Step() time.Duration {
	return max(shortestStep, s.To.Sub(s.From)/mostReads).Truncate(time.Second)
}

// variantSeries holds the values of one variant by the time of the read.
type variantSeries struct {
	key                                          scaling.VariantKey
	served                                       []*served
	advised, desired, current, ready, cost, gpus map[int64]float64
	rate                                         map[int64]float64
}

// served is a time in which a variant served one model on one type of accelerator.
type served struct {
	model, accelerator string
	scraped            map[int64]float64 // time of the scrape by time of the read, in seconds
}

// Read reads from a store what managers exported. The error is ErrNoManager, ErrNoVariant or
// ErrNoNamespace where there are no variants, else that of the store.
func Read(ctx context.Context, store query.Store, s Span) (ModelCycles, error) {
	r := reader{store, s, map[scaling.VariantKey]*variantSeries{}}
	// The time of the scrape distinguishes a scraped value from one that Prometheus repeats, for up
	// to five minutes after the last scrape.
	if err := r.each(ctx, "timestamp("+metrics.VariantInfo+")", r.serves); err != nil {
		return nil, err
	}
	if len(r.variants) == 0 {
		return nil, r.none(ctx)
	}
	for _, q := range []struct {
		metric string
		into   func(*variantSeries) *map[int64]float64
	}{
		{metrics.CurrentReplicas, func(v *variantSeries) *map[int64]float64 { return &v.current }},
		{metrics.AdvisedReplicas, func(v *variantSeries) *map[int64]float64 { return &v.advised }},
		{metrics.DesiredReplicas, func(v *variantSeries) *map[int64]float64 { return &v.desired }},
		{metrics.Replicas + `{state="ready"}`, func(v *variantSeries) *map[int64]float64 { return &v.ready }},
		{metrics.ReplicaCost, func(v *variantSeries) *map[int64]float64 { return &v.cost }},
		{metrics.ReplicaGPUs, func(v *variantSeries) *map[int64]float64 { return &v.gpus }},
		{metrics.CurrentLoad + `{quantity="arrival_rate"}`, func(v *variantSeries) *map[int64]float64 { return &v.rate }},
	} {
		err := r.each(ctx, q.metric, func(key scaling.VariantKey, one query.Curve) {
			if v := r.variants[key]; v != nil { // a key without a model is the name under which a scaler reads another variant
				keep(q.into(v), one.Points)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return modelCyclesOf(r.variants, s.Step()), nil
}

// reader reads a Span of a Store.
type reader struct {
	store    query.Store
	span     Span
	variants map[scaling.VariantKey]*variantSeries
}

// each calls f with the series of a metric of variants, one piece of the Span after the other.
func (r reader) each(ctx context.Context, metric string, f func(scaling.VariantKey, query.Curve)) error {
	step := r.span.Step()
	for from := r.span.From; from.Before(r.span.To); from = from.Add(readsAtOnce * step) {
		to := from.Add(readsAtOnce * step)
		if to.After(r.span.To) {
			to = r.span.To
		}
		series, err := r.store.Range(ctx, ofVariants(metric), from, to, step)
		if err != nil {
			return fmt.Errorf("reading %s: %w", metric, err)
		}
		for _, one := range series {
			key := scaling.VariantKey{Namespace: one.Labels[metrics.LabelNamespace], Name: one.Labels[metrics.LabelVariant]}
			if key.Name != "" && (r.span.Namespace == "" || key.Namespace == r.span.Namespace) {
				f(key, one)
			}
		}
	}
	return nil
}

// none returns the error of a store that has no variants.
func (r reader) none(ctx context.Context) error {
	for _, other := range []struct {
		metric string
		found  error
	}{{metrics.VariantInfo, fmt.Errorf("%w %q", ErrNoNamespace, r.span.Namespace)}, {metrics.Cycles, ErrNoVariant}} {
		series, err := r.store.Range(ctx, ofVariants(other.metric), r.span.From, r.span.To, r.span.Step())
		if err != nil {
			return fmt.Errorf("reading %s: %w", other.metric, err)
		}
		if len(series) > 0 {
			return other.found
		}
	}
	return ErrNoManager
}

// ofVariants returns the query for a metric of variants by the labels of the manager. It restores
// the namespace, which a scrape may rename.
func ofVariants(metric string) string {
	return fmt.Sprintf(`max by (namespace, variant_name, model_name, accelerator_type) (label_replace(%s, "namespace", "$1", "exported_namespace", "(.+)"))`, metric)
}

// serves stores the model that a variant served, its accelerator, and the times of the scrapes.
func (r reader) serves(key scaling.VariantKey, s query.Curve) {
	v := r.variants[key]
	if v == nil {
		v = &variantSeries{key: key}
		r.variants[key] = v
	}
	model, accelerator := s.Labels[metrics.LabelModel], s.Labels[metrics.LabelAccelerator]
	i := slices.IndexFunc(v.served, func(o *served) bool { return o.model == model && o.accelerator == accelerator })
	if i < 0 {
		i = len(v.served)
		v.served = append(v.served, &served{model: model, accelerator: accelerator})
	}
	keep(&v.served[i].scraped, s.Points)
}

// keep stores values by their time.
func keep(values *map[int64]float64, points []query.Point) {
	if *values == nil {
		*values = make(map[int64]float64, len(points))
	}
	for _, p := range points {
		(*values)[p.At.Unix()] = p.Value
	}
}
