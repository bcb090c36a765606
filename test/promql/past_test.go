package promql

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// rememberer is a manager that began to remember a model at an instant, with one row from then.
type rememberer struct {
	begins, now time.Time
	variants    []string
}

func (*rememberer) Name() string { return "pod wva/manager-b" }
func (*rememberer) Close()       {}

func (r *rememberer) Get(_ context.Context, path string, into any) error {
	var v any = history.Fleet{At: history.At(r.now), Interval: 15}
	if strings.HasPrefix(path, "/debug/history/") {
		known := history.Column{100}
		h := history.ModelHistory{
			From: history.At(r.now.Add(-6 * time.Hour)), To: history.At(r.now), Begins: history.At(r.begins), T: []history.Time{history.At(r.begins)},
			Load: known, Utilization: known, Waiting: known, TTFT: known, ITL: known, Missed: known, Cost: known,
		}
		for _, name := range r.variants {
			h.Variants = append(h.Variants, history.VariantHistory{Namespace: "prod", Name: name, Desired: known, Current: known, Ready: known, Serving: known, Draining: known})
		}
		v = h
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// exporter is a manager that publishes what cycles decided, and is scraped.
type exporter struct {
	registry *client.Registry
	metrics  *metrics.Metrics
	target   *store.Target
}

func newExporter(s *store.Store, clk *testingclock.FakePassiveClock, target labels.Labels) *exporter {
	e := &exporter{registry: client.NewRegistry(), target: s.Target(target)}
	e.metrics = metrics.New(e.registry, clk, metrics.Options{})
	return e
}

// decided is a variant with what was decided on.
type decided struct {
	scaling.Variant
	target scaling.Replicas
}

// cycle publishes decisions on variants of models that get so many requests/s, and scrapes them.
func (e *exporter) cycle(t *testing.T, at time.Time, rate float64, variants ...decided) {
	t.Helper()
	record := memory.Record{Plan: scaling.Plan{At: at}, Fleet: scaling.Fleet{At: at}, History: memory.History{}}
	for _, v := range variants {
		record.Fleet.Variants = append(record.Fleet.Variants, v.Variant)
		record.Plan.Decisions = append(record.Plan.Decisions, scaling.Decision{
			Variant: v.Key, Model: v.Model, Current: v.Replicas.Current, Steps: []scaling.Step{{Stage: scaling.StageOptimize, To: v.target}},
		})
		record.Snapshots = append(record.Snapshots, scaling.Snapshot{
			Model: v.Model, Variants: []scaling.Variant{v.Variant}, Load: scaling.Load{ArrivalRate: scaling.Measured(rate, scaling.Fresh), InputTokens: scaling.Measured(500, scaling.Fresh), OutputTokens: scaling.Measured(200, scaling.Fresh)},
			Replicas: []scaling.ReplicaSample{{Variant: v.Key, Pace: scaling.Pace{Decoding: 2, ITL: 25, Started: 1}}},
		})
	}
	if err := e.metrics.Publish(record, nil); err != nil {
		t.Fatal(err)
	}
	families, err := e.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&page, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.target.Scrape(t.Context(), at, page.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// TestTheDashboardReadsWhatAnEarlierManagerExported has a manager that is scraped for three hours and ends,
// no manager for ten minutes, and another one that the dashboard asks. Prometheus renames the label namespace of the
// first, as its default is, or does not.
func TestTheDashboardReadsWhatAnEarlierManagerExported(t *testing.T) {
	for name, target := range map[string]labels.Labels{
		"with honor_labels: false": labels.FromStrings("namespace", "wva", "pod", "manager-a", "job", "wva"),
		"with honor_labels: true":  labels.FromStrings("pod", "manager-a", "job", "wva"),
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Date(2026, 11, 25, 6, 0, 0, 0, time.UTC)
			clk := testingclock.NewFakePassiveClock(begin)
			s, err := store.Open(t.TempDir(), clk)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)

			model := scaling.ModelKey{Namespace: "prod", ID: `org/chat "7b"`}
			variant := func(namespace, name string, cost float64, current, ready scaling.Replicas) scaling.Variant {
				return scaling.Variant{
					Key: scaling.VariantKey{Namespace: namespace, Name: name}, Model: scaling.ModelKey{Namespace: namespace, ID: model.ID}, Accelerator: "A100", Cost: cost,
					Replicas: scaling.ReplicaCounts{Observed: true, Current: current, Ready: ready},
				}
			}
			advised := variant("prod", "b", 4, 1, 1)
			advised.Advisory = true
			other := variant("prod", "unrelated", 1000, 50, 50)
			other.Model.ID = "another"
			first := newExporter(s, clk, target)
			for at := begin; at.Before(begin.Add(3 * time.Hour)); at = at.Add(30 * time.Second) {
				clk.SetTime(at)
				first.cycle(t, at, 7.5, decided{variant("prod", "a", 10, 3, 2), 4}, decided{advised, 2}, decided{other, 50}, decided{variant("test", "a", 1000, 70, 70), 70})
			}
			if err := first.target.Fail(t.Context(), begin.Add(3*time.Hour)); err != nil {
				t.Fatal(err)
			}
			now := begin.Add(3*time.Hour + 10*time.Minute)
			clk.SetTime(now)

			source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(source.Close)
			live := dashboard.NewLive(dashboard.LiveOptions{
				Past: dashboard.NewPast(source, server.URL, nil),
				Reach: func(context.Context) (dashboard.Manager, error) {
					return &rememberer{now.Add(-time.Minute), now, []string{"a", "b"}}, nil
				},
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- live.Run(ctx) }()
			t.Cleanup(func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			for revision, _, news := live.Board().Read(); revision == 0; revision, _, news = live.Board().Read() {
				<-news
			}
			h, err := live.Model(t.Context(), model, now.Add(-6*time.Hour), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if h.Before.Trouble != "" || h.Before.Pending || !h.Before.From.Equal(begin) || !h.Before.Until.Equal(now.Add(-time.Minute)) || h.Before.Step != 60 {
				t.Fatalf("it says %+v", h.Before)
			}
			row := func(i int) string {
				out := fmt.Sprintf("%s load %g itl %.4g cost %g;", h.T[i].UTC().Format("15:04"), h.Load[i], h.ITL[i], h.Cost[i])
				for _, v := range h.Variants {
					out += fmt.Sprintf(" %s %g/%g/%g", v.Name, v.Desired[i], v.Current[i], v.Ready[i])
				}
				return out
			}
			n := len(h.T)
			got := []string{row(0), row(179), row(181), row(n - 2), row(n - 1)}
			want := []string{
				"06:00 load 7.5 itl 25 cost 34; a 4/3/2 b 2/1/1", "08:59 load 7.5 itl 25 cost 34; a 4/3/2 b 2/1/1",
				"09:01 load NaN itl NaN cost NaN; a NaN/NaN/NaN b NaN/NaN/NaN", "09:08 load NaN itl NaN cost NaN; a NaN/NaN/NaN b NaN/NaN/NaN",
				"09:09 load 100 itl 100 cost 100; a 100/100/100 b 100/100/100",
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("rows (-want +got):\n%s", d)
			}
			if !math.IsNaN(h.TTFT[0]) || len(h.TTFT) != n {
				t.Errorf("of %d rows %d have a TTFT, the first of %g: no metric has it", n, len(h.TTFT), h.TTFT[0])
			}
		})
	}
}
