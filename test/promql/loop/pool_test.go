package loop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
)

// pool is an endpoint picker that sends requests at a steady rate. It answers scrapes.
type pool struct {
	picker page.Picker
	mu     sync.Mutex
}

func (p *pool) RoundTrip(request *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picker.Flows[0].Sent += 10
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain; version=0.0.4"}}, Request: request,
		Body: io.NopCloser(bytes.NewReader(p.picker.Page())),
	}, nil
}

// TestAPickerThatKeepsOneRankOfSeveralGivesNothingUp: it keeps of each gauge of a page the series
// of the first rank. What the others hold is not known, so the model may grow and does not shrink,
// unless each rank has a port of its own and so is an endpoint.
func TestAPickerThatKeepsOneRankOfSeveralGivesNothingUp(t *testing.T) {
	forBothLoads := map[string]struct {
		load  load
		right scaling.Replicas
	}{"idle": {idle, fewer}, "full": {full, more}}
	for name, c := range map[string]struct {
		ranks   int // that the target of the variant says
		named   int // that are endpoints of their own
		partial bool
	}{
		"one rank":                            {0, 0, false},
		"two ranks on a page":                 {2, 0, true},
		"two ranks, each an endpoint":         {2, 2, false},
		"four ranks, two of them an endpoint": {4, 2, true},
	} {
		for how, l := range forBothLoads {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got := decidePool(t, c.ranks, c.named, l.load)
					want := l.right
					if c.partial {
						want = max(want, replicas)
					}
					got.want(t, name, want)
					if by := shrinking(got.snapshot.At, []scaling.Snapshot{got.snapshot}); (len(by) > 0) != (how == "idle" && !c.partial) {
						t.Errorf("engines %v give replicas up", by)
					}
					e := explain.Explanation{Variant: got.snapshot.Variants[0], Snapshot: got.snapshot, At: got.snapshot.At}
					told, reported := explain.MetricsAging(e), explain.Report(e, got.snapshot.At)
					for _, r := range got.snapshot.Replicas {
						if r.Partial != c.partial || (r.QueueLength.State == scaling.Fresh) == c.partial {
							t.Errorf("%s is partial: %v, its queue %v; want partial: %v", r.Pod, r.Partial, r.QueueLength, c.partial)
						}
					}
					said := fmt.Sprintf("Of the %d data-parallel ranks on the page of pod %s-0 the endpoint picker keeps the first alone", c.ranks, variant)
					if strings.Contains(told, said) != c.partial || strings.Contains(reported, said) != c.partial {
						t.Errorf("the condition says %q and the explanation %q, want a word of ranks: %v", told, reported, c.partial)
					}
				})
			})
		}
	}
}

// decidePool lets an endpoint picker be scraped for 10 minutes and decides.
func decidePool(t *testing.T, ranks, named int, load load) outcome {
	t.Helper()
	p := &pool{picker: page.Picker{Twins: true, Pool: "pool", Flows: []*page.Flow{{Model: model, Target: model}}}}
	w := loop{}
	for i := range replicas {
		name := fmt.Sprintf("%s-%d", variant, i)
		w.pods = append(w.pods, &pod{name: name})
		for rank := range max(named, 1) {
			of := page.Endpoint{Name: name, Running: 5, Queue: load.Waiting, Usage: load.Usage}
			if named > 0 {
				of.Name = fmt.Sprintf("%s-rank-%d", name, rank)
			}
			p.picker.Endpoints = append(p.picker.Endpoints, &of)
		}
	}
	fleet := w.fleetAt(time.Now().Add(10 * time.Minute))
	fleet.Variants[0].Limits.Ranks, fleet.Variants[0].Replicas.NewestReady = ranks, time.Now()
	source := scrape.New(clock.RealClock{}, scrape.Options{
		Name: "epp", Interval: scrapes, Client: &http.Client{Transport: p}, PickersOnly: true,
		Pods: func(context.Context) (targets []scrape.Target, _ error) {
			for _, pod := range fleet.Pods {
				targets = append(targets, scrape.Target{Namespace: namespace, Pod: pod.Name, Model: model, URL: "http://" + pod.Name + "/metrics"})
			}
			return targets, nil
		},
		Pickers: func(context.Context) ([]scrape.Target, error) {
			return []scrape.Target{{Namespace: namespace, Pod: "epp", URL: "http://epp/metrics"}}, nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := source.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	snapshots := collector.New(source, clock.RealClock{}, collector.Options{Backend: scaling.BackendEPP}).Collect(ctx, fleet)
	cancel()
	running.Wait()
	verdict := spare(snapshots).Decide(cycle.Case{Now: fleet.At, Snapshots: snapshots, History: memory.History{}})
	return outcome{snapshots[0], verdict.Plan.Decisions[0]}
}
