//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

var (
	steadyFor   = flag.Duration("steady", 45*time.Second, "for how long a steady fleet is watched")
	steadyFleet = flag.Int("steady-fleet", 50, "how many VariantAutoscalings the steady fleet has, and how many annotated HPAs")
)

// mostQueries is how many questions Prometheus may be asked in a cycle, whatever the number of models. The cycles of this
// manager follow each other faster than those that read what was fetched in between.
const mostQueries = 15

// TestASteadyFleetIsNotWrittenTo counts what the manager writes while the load of a hundred models or more stays the
// same, in the API server's own log, and what it asks Prometheus. The manager leads by a lease, and that is the one
// thing to be found there.
func TestASteadyFleetIsNotWrittenTo(t *testing.T) {
	const (
		ns   = "steady"
		rest = 20 * time.Second // without a write, before counting begins
	)
	// Of annotated HPAs nothing but the store of decisions is written.
	objects, size := *steadyFleet, 2**steadyFleet
	settles := time.Duration(size) * 2400 * time.Millisecond
	if size > poolSize { // one GPU each
		if err := shared.bed.AddNode(t.Context(), ns, poolProduct, int64(size)); err != nil {
			t.Fatal(err)
		}
	}
	restart(t, testbed.ManagerOptions{Interval: interval, Lease: 6 * time.Second})
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })
	begun := time.Now()
	var variants []testbed.Variant
	var models []string
	for i := range size {
		v := chat(ns, fmt.Sprintf("v-%03d", i))
		v.ModelID, v.GPU, v.Accelerator, v.Annotated = "meta/"+v.Name, poolProduct, poolAccelerator, i%2 == 1
		variants, models = append(variants, v), append(models, v.ModelID)
	}
	deploy(t, variants...)
	eventually(t, settles, func(ctx context.Context) string { return allReady(ctx, ns, objects) })
	trickle(t, ns, models, 5*time.Second)
	eventually(t, settles, func(ctx context.Context) string {
		if writes := written(t, time.Now().Add(-rest)); len(writes) > 0 {
			return fmt.Sprintf("%d writes in the last %s, the last of them %s", len(writes), rest, writes[len(writes)-1])
		}
		return unloaded(ctx, t, ns, size)
	})

	since, before := time.Now(), cyclesOf(t.Context(), t, shared.manager)
	asked := countOf(t.Context(), t, shared.manager, "wva_collector_queries_total")
	consistently(t, *steadyFor, func(ctx context.Context) string {
		if writes := written(t, since); len(writes) > 0 {
			return fmt.Sprintf("%d writes, the first of them %s", len(writes), writes[0])
		}
		return unloaded(ctx, t, ns, size)
	})
	cycles := cyclesOf(t.Context(), t, shared.manager) - before
	queries := float64(countOf(t.Context(), t, shared.manager, "wva_collector_queries_total")-asked) / float64(max(1, cycles))
	all, err := shared.bed.ManagerWrites(begun)
	if err != nil {
		t.Fatal(err)
	}
	settling, leases, stored, reviews := 0, 0, 0, 0
	for _, w := range all {
		switch {
		case w.At.Before(since):
			if w.Resource == "variantautoscalings" && w.Subresource == "status" {
				settling++
			}
		case w.Resource == "leases":
			leases++
		case w.Resource == "configmaps":
			stored++
		case w.Review():
			reviews++
		}
	}
	t.Logf("%d status writes until nothing moved; then in %s: %d cycles of %.1f queries, %d renewals of the lease, %d reviews of who asks, %d writes of what was learned",
		settling, *steadyFor, cycles, queries, leases, reviews, stored)
	if queries > mostQueries {
		t.Errorf("Prometheus is asked %.1f questions a cycle, want %d at most", queries, mostQueries)
	}
	if stored > 1 {
		t.Errorf("what was learned was written %d times in %s, want once at most: it is written once a minute, and no more is learned", stored, *steadyFor)
	}
	if settling < objects {
		t.Errorf("the log has %d status writes before, want at least %d: it does not have everything", settling, objects)
	}
	if least := int(*steadyFor / interval / 2); cycles < least {
		t.Errorf("%d cycles in %s, want at least %d", cycles, *steadyFor, least)
	}
	if least := int(*steadyFor / (3 * time.Second)); leases < least {
		t.Errorf("the log has %d renewals of the lease, want at least %d: it does not have everything", leases, least)
	}
}

// written returns what managers have written since a time, beyond the lease, what
// they have learned, and the questions of who asks them, which store nothing.
func written(t *testing.T, since time.Time) (writes []testbed.Request) {
	t.Helper()
	all, err := shared.bed.ManagerWrites(since)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Resource != "leases" && w.Resource != "configmaps" && !w.Review() {
			writes = append(writes, w)
		}
	}
	return writes
}

// allReady says which variant of a namespace is not Ready, or returns "".
func allReady(ctx context.Context, namespace string, want int) string {
	var list v1alpha1.VariantAutoscalingList
	if err := shared.bed.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	ready, other := 0, ""
	for _, va := range list.Items {
		if c := meta.FindStatusCondition(va.Status.Conditions, "Ready"); c != nil && c.Status == "True" {
			ready++
		} else {
			other = fmt.Sprintf("%s is not: %+v", va.Name, c)
		}
	}
	if ready != want {
		return fmt.Sprintf("%d variants are Ready, want %d; %s", ready, want, other)
	}
	return ""
}

// unloaded says how many variants the manager sees without load where all have
// some, or returns "".
func unloaded(ctx context.Context, t *testing.T, namespace string, want int) string {
	t.Helper()
	loaded := 0
	for _, m := range metricsOf(ctx, t, shared.manager)["wva_current_load"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if labels["namespace"] == namespace && labels["quantity"] == "arrival_rate" && m.GetGauge().GetValue() > 0 {
			loaded++
		}
	}
	if loaded != want {
		return fmt.Sprintf("the manager sees load at %d variants, want %d", loaded, want)
	}
	return ""
}

// cyclesOf returns how many cycles a manager has counted.
func cyclesOf(ctx context.Context, t *testing.T, m *testbed.Manager) int {
	t.Helper()
	return countOf(ctx, t, m, "wva_cycles_total")
}

// countOf returns the sum of a manager's counter over its labels.
func countOf(ctx context.Context, t *testing.T, m *testbed.Manager, counter string) int {
	t.Helper()
	n := 0.0
	for _, s := range metricsOf(ctx, t, m)[counter].GetMetric() {
		n += s.GetCounter().GetValue()
	}
	return int(n)
}

// trickle sends a request to each model once a period, evenly, until the test
// ends. Each has to be answered.
func trickle(t *testing.T, namespace string, models []string, period time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	var requests sync.WaitGroup
	requests.Go(func() {
		tick := time.NewTicker(period / time.Duration(len(models)))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			requests.Go(func() {
				if err := complete(ctx, namespace, models[i%len(models)]); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		requests.Wait()
	})
}

// complete asks a model for a short answer and reads it.
func complete(ctx context.Context, namespace, model string) error {
	body := `{"model":"` + model + `","prompt":"how are you","max_tokens":20}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, shared.emulator.Endpoint(namespace, model)+"/v1/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking %s: %w", model, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("asking %s: %w", model, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s: %s: %.200s", model, resp.Status, text)
	}
	return nil
}
