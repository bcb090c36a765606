package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
)

// reportStore is a Prometheus from which a report is made.
type reportStore struct{ simulateStore }

func (s *reportStore) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.url, "prometheus", "", "`URL` of the Prometheus that scrapes the manager, instead of --record")
	s.registerAccess(flags)
}

// check returns what is wrong with the flags by themselves.
func (s *reportStore) check(changed func(name string) bool) error {
	if s.url != "" {
		return nil
	}
	var err error
	s.access.VisitAll(func(flag *pflag.Flag) {
		if err == nil && changed(flag.Name) {
			err = fmt.Errorf("--%s has no meaning without --prometheus", flag.Name)
		}
	})
	return err
}

const (
	// storeStep is the time between two looks at a store at least, mostLooks how many there are at most.
	storeStep = time.Minute
	mostLooks = 10_000
)

// variantSeries are the values of one variant by the time of a look.
type variantSeries struct {
	key                                          scaling.VariantKey
	model, accelerator                           string
	advised, desired, current, ready, cost, gpus map[int64]float64
	rate                                         map[int64]float64
}

// read asks a store for what a manager exported.
func (s *reportStore) read(ctx context.Context, from, to time.Time, namespace string) (looks, error) {
	store, err := s.open()
	if err != nil {
		return looks{}, fmt.Errorf("%w: --prometheus: %w", errUsage, err)
	}
	defer store.Close()
	step := max(storeStep, to.Sub(from)/mostLooks).Truncate(time.Second)
	variants := map[scaling.VariantKey]*variantSeries{}
	for _, q := range []struct {
		name, where string
		into        func(*variantSeries) *map[int64]float64
	}{
		{metrics.VariantInfo, "", nil},
		{metrics.CurrentReplicas, "", func(v *variantSeries) *map[int64]float64 { return &v.current }},
		{metrics.AdvisedReplicas, "", func(v *variantSeries) *map[int64]float64 { return &v.advised }},
		{metrics.DesiredReplicas, "", func(v *variantSeries) *map[int64]float64 { return &v.desired }},
		{metrics.Replicas, `{state="ready"}`, func(v *variantSeries) *map[int64]float64 { return &v.ready }},
		{metrics.ReplicaCost, "", func(v *variantSeries) *map[int64]float64 { return &v.cost }},
		{metrics.ReplicaGPUs, "", func(v *variantSeries) *map[int64]float64 { return &v.gpus }},
		{metrics.CurrentLoad, `{quantity="arrival_rate"}`, func(v *variantSeries) *map[int64]float64 { return &v.rate }},
	} {
		series, err := store.Range(ctx, ofVariants(q.name+q.where), from, to, step)
		if err != nil {
			return looks{}, fmt.Errorf("--prometheus: reading %s: %w", q.name, err)
		}
		for _, one := range series {
			take(variants, one, namespace, q.into)
		}
	}
	if len(variants) == 0 {
		return looks{}, errors.New("--prometheus: it has no series of the manager in this time: is its metrics port scraped? See wva_variant_info")
	}
	return looksOf(variants, s.url, step), nil
}

// ofVariants asks for a metric of variants with the labels that the manager gave it, of which a scrape
// renames the namespace.
func ofVariants(metric string) string {
	return fmt.Sprintf(`max by (namespace, variant_name, model_name, accelerator_type) (label_replace(%s, "namespace", "$1", "exported_namespace", "(.+)"))`, metric)
}

// take takes a series over. Without a place for its values it names the model of a variant.
func take(variants map[scaling.VariantKey]*variantSeries, s prometheus.Series, namespace string, into func(*variantSeries) *map[int64]float64) {
	key := scaling.VariantKey{Namespace: s.Labels["namespace"], Name: s.Labels["variant_name"]}
	if key.Name == "" || namespace != "" && key.Namespace != namespace {
		return
	}
	v := variants[key]
	if into == nil {
		if v == nil {
			variants[key] = &variantSeries{key: key, model: s.Labels["model_name"], accelerator: s.Labels["accelerator_type"]}
		}
		return
	}
	if v == nil { // no model is known of it: it is what another variant is read as
		return
	}
	values := into(v)
	if *values == nil {
		*values = make(map[int64]float64, len(s.Points))
	}
	for _, p := range s.Points {
		(*values)[p.At.Unix()] = p.Value
	}
}

// looksOf makes of the values of variants a look at each model and time.
func looksOf(variants map[scaling.VariantKey]*variantSeries, url string, step time.Duration) looks {
	out := looks{of: map[scaling.ModelKey][]shadow.Look{}, objectives: map[scaling.ModelKey]scaling.Objective{}, source: "metrics in " + url, assumes: []string{
		fmt.Sprintf("metrics are read every %s, and each value stands until the next one, for three steps at most; longer gaps count for nothing", step),
		"what was decided is what would have run, from the decision on (wva_advised_replicas, wva_desired_replicas where decisions were carried out)",
		"decisions were made from what ran and what it showed: where another number had run, later decisions could have been others",
		"what the load was expected to need, the part of the requests within their objectives and the reasons of decisions are in no metric: read a record (--record) for them",
		"draining replicas and the surge of rollouts cost nothing here",
	}}
	models := map[scaling.ModelKey][]*variantSeries{}
	for _, key := range slices.SortedFunc(maps.Keys(variants), scaling.VariantKey.Compare) {
		v := variants[key]
		model := scaling.ModelKey{Namespace: key.Namespace, ID: v.model}
		models[model] = append(models[model], v)
	}
	for model, of := range models {
		times := map[int64]bool{}
		for _, v := range of {
			for at := range v.current {
				times[at] = true
			}
		}
		for _, at := range slices.Sorted(maps.Keys(times)) {
			out.of[model] = append(out.of[model], lookAt(of, at, step))
		}
	}
	return out
}

// lookAt is what is known of a model at one time. A variant without any value then is not in it: it did
// not exist.
func lookAt(of []*variantSeries, at int64, step time.Duration) shadow.Look {
	l := shadow.Look{At: time.Unix(at, 0).UTC(), Interval: step}
	for _, v := range of {
		current, observed := v.current[at]
		target, decided := v.advised[at]
		l.Advisory = l.Advisory || decided
		if !decided {
			target, decided = v.desired[at]
		}
		if !observed && !decided {
			continue
		}
		if rate, known := v.rate[at]; known && !math.IsNaN(rate) {
			l.Rate = scaling.Measured(rate, scaling.Fresh)
		}
		gpus := max(1, scaling.Accelerators(v.gpus[at]))
		l.Variants = append(l.Variants, shadow.Seen{
			Key: v.key, Accelerator: v.accelerator, GPUs: gpus, Cost: v.cost[at], Bounds: scaling.Unbounded(),
			Observed: observed, Current: scaling.Replicas(current), Ready: scaling.Replicas(v.ready[at]), Decided: decided, Target: scaling.Replicas(target),
		})
	}
	return l
}
