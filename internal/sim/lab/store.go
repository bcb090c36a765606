package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Store answers the questions of the catalogue for any instant, as a Prometheus does. It must be
// safe for concurrent use.
type Store interface {
	Ask(ctx context.Context, request query.Request) (query.Answer, error)
}

// StoreRange is the part of a store that becomes a workload.
type StoreRange struct {
	From, To time.Time // To is after From
	// Namespace and Model name the model; "" means any, if there is only one.
	Namespace, Model string
	OnStep           func(done, of int) // called for every step read, from one goroutine at a time; nil ignores them
}

// Recording describes the content of a StoreRange.
type Recording struct {
	Model    scaling.ModelKey
	Step     time.Duration // for which rates and lengths stay the same
	Steps    int
	Silent   int     // steps without a row of the model: idle, or not recorded
	Requests float64 // expected
	Gateway  bool    // the endpoint picker counted the arrivals, not the engines
}

// The steps of a recording.
const (
	shortestStep = time.Minute
	mostSteps    = 1440 // a day by the minute
	atOnce       = 4    // questions
)

// ReadStore turns the recorded metrics of one model into a workload: in each step the arrival rate
// and the mean lengths by the catalogue's queries, Poisson arrivals with that rate, and lengths
// spread as in workload.ChatLengths with those means. A step is a minute, four scrapes, or a 1440th
// of the range, whichever is longest. Arrivals are those that the endpoint picker counted, else
// completions plus the growth of the requests in flight, of either sign, so that the sum over the
// range is right.
func ReadStore(ctx context.Context, store Store, o StoreRange) (Source, Recording, error) {
	if !o.To.After(o.From) {
		return Source{}, Recording{}, fmt.Errorf("the range from %s to %s is empty, want an end after its beginning", instant(o.From), instant(o.To))
	}
	step, err := stepOf(ctx, store, o)
	if err != nil {
		return Source{}, Recording{}, err
	}
	if o.OnStep == nil {
		o.OnStep = func(int, int) {}
	}
	steps, err := readSteps(ctx, store, o, step)
	if err != nil {
		return Source{}, Recording{}, err
	}
	key, err := o.only(steps)
	if err != nil {
		return Source{}, Recording{}, err
	}
	r := Recording{Model: key, Step: step, Steps: len(steps)}
	stretches, err := r.stretches(steps)
	if err != nil {
		return Source{}, r, fmt.Errorf("what is recorded of %s: %w", key, err)
	}
	s := Source{
		Name: fmt.Sprintf("%s from %s", key, instant(o.From)), Length: stretches.Duration(),
		Open: func(seed uint64) iter.Seq2[workload.Request, error] {
			return workload.WithoutError(stretches.Generate(rand.New(rand.NewPCG(seed, 0))))
		},
	}
	return s, r, nil
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// stepOf returns the length of a step.
func stepOf(ctx context.Context, store Store, o StoreRange) (time.Duration, error) {
	answer, err := store.Ask(ctx, query.Request{Ask: query.AskScrapeIntervals, At: o.To, Namespaces: o.namespaces()})
	if err != nil {
		return 0, fmt.Errorf("asking for the scrape interval: %w", err)
	}
	step := max(shortestStep, o.To.Sub(o.From)/mostSteps)
	for _, row := range answer.Rows {
		if row.Value > 0 && row.Value < query.ScrapeSpan.Seconds() {
			step = max(step, time.Duration(4*row.Value*float64(time.Second)))
		}
	}
	step = (step + time.Second - 1).Truncate(time.Second)
	if o.To.Sub(o.From) < step {
		return 0, fmt.Errorf("the range from %s to %s is shorter than one step of %s, want a longer one", instant(o.From), instant(o.To), step)
	}
	return step, nil
}

func (o StoreRange) namespaces() []string {
	if o.Namespace == "" {
		return nil
	}
	return []string{o.Namespace}
}

// recorded holds the quantities of one model in one step.
type recorded map[query.Quantity]float64

// readSteps reads every step, atOnce at a time.
func readSteps(ctx context.Context, store Store, o StoreRange, step time.Duration) ([]map[scaling.ModelKey]recorded, error) {
	steps := make([]map[scaling.ModelKey]recorded, int(o.To.Sub(o.From)/step))
	done := make(chan struct{}, len(steps))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce + 1)
	group.Go(func() error {
		for i := range steps {
			select {
			case <-done:
				o.OnStep(i+1, len(steps))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	for i := range steps {
		group.Go(func() error {
			at := o.From.Add(time.Duration(i+1) * step)
			var err error
			steps[i], err = readStep(ctx, store, query.Request{At: at, Window: step, Namespaces: o.namespaces()})
			done <- struct{}{}
			return err
		})
	}
	return steps, group.Wait()
}

// readStep reads the quantities of each model in the window of a request.
func readStep(ctx context.Context, store Store, request query.Request) (map[scaling.ModelKey]recorded, error) {
	models := map[scaling.ModelKey]recorded{}
	for _, ask := range []query.Question{query.AskFlow, query.AskMeans, query.AskGateway} {
		request.Ask = ask
		answer, err := store.Ask(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("asking for %s at %s: %w", ask, instant(request.At), err)
		}
		for _, row := range answer.Rows {
			if row.Model == "" || math.IsNaN(row.Value) || math.IsInf(row.Value, 0) {
				continue
			}
			key := scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}
			if models[key] == nil {
				models[key] = recorded{}
			}
			models[key][row.Quantity] = row.Value
		}
	}
	return models, nil
}

// only returns the single model that matches o, or an error.
func (o StoreRange) only(steps []map[scaling.ModelKey]recorded) (scaling.ModelKey, error) {
	found, all := map[scaling.ModelKey]bool{}, map[scaling.ModelKey]bool{}
	for _, models := range steps {
		for key := range models {
			all[key] = true
			if (o.Namespace == "" || o.Namespace == key.Namespace) && (o.Model == "" || o.Model == key.ID) {
				found[key] = true
			}
		}
	}
	list := func(of map[scaling.ModelKey]bool) string {
		var names []string
		for _, key := range slices.SortedFunc(maps.Keys(of), scaling.ModelKey.Compare) {
			names = append(names, key.String())
		}
		return strings.Join(names, ", ")
	}
	switch {
	case len(found) == 1:
		for key := range found {
			return key, nil
		}
	case len(found) > 1:
		return scaling.ModelKey{}, fmt.Errorf("there are %s: choose one by its namespace and model", list(found))
	case len(all) > 0:
		return scaling.ModelKey{}, fmt.Errorf("nothing of model %q in namespace %q is recorded: there are %s", o.Model, o.Namespace, list(all))
	}
	return scaling.ModelKey{}, errors.New("no request of any serving engine is recorded in this range: want metrics of vLLM or SGLang with the labels namespace and model_name")
}

// stretches turns the steps of r.Model into a workload and counts their content in r. A step in
// which no request ended has the lengths of the step before; before the first lengths, it has
// those.
func (r *Recording) stretches(steps []map[scaling.ModelKey]recorded) (workload.Stretches, error) {
	all := make([]workload.Stretch, len(steps))
	lengths, err := r.firstLengths(steps)
	if err != nil {
		return workload.Stretches{}, err
	}
	for i, models := range steps {
		one := models[r.Model]
		if one == nil {
			r.Silent++
		}
		if l, ok, err := one.lengths(); err != nil {
			return workload.Stretches{}, err
		} else if ok {
			lengths = l
		}
		rate, gateway := one.arrivals()
		r.Gateway = r.Gateway || gateway
		r.Requests += rate * r.Step.Seconds()
		all[i] = workload.Stretch{Duration: r.Step, Rate: rate, Lengths: lengths}
	}
	return workload.NewStretches(all)
}

func (r *Recording) firstLengths(steps []map[scaling.ModelKey]recorded) (workload.Lengths, error) {
	for _, models := range steps {
		if l, ok, err := models[r.Model].lengths(); ok || err != nil {
			return l, err
		}
	}
	return workload.Lengths{}, errors.New("no request ended in this range, so that no lengths are known")
}

// arrivals returns the arrival rate [requests/s], and whether a gateway counted.
func (r recorded) arrivals() (rate float64, gateway bool) {
	if rate, ok := r[query.GatewayArrivals]; ok {
		return max(0, rate), true
	}
	return max(0, r[query.Completions]+r[query.InFlightGrowth]), false
}

// lengths returns the lengths of the requests that ended, false if none ended.
func (r recorded) lengths() (workload.Lengths, bool, error) {
	input, output := r[query.InputTokens], r[query.OutputTokens]
	if cmp.Or(input, output) == 0 {
		return workload.Lengths{}, false, nil
	}
	l, err := workload.ChatLengths(max(1, input), max(1, output))
	return l, true, err
}
