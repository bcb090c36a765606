package promql

import (
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// TestTheSourceReadsWhatTheEngineSays asks every question once in the process and
// once over HTTP, through the manager's own source and Prometheus' own API: with
// hostile model names on the way there, and NaN, infinite bounds and text of all
// kinds on the way back.
func TestTheSourceReadsWhatTheEngineSays(t *testing.T) {
	s := newShared(t)
	begin := s.next()
	at := scrapeHostile(t, s.Store, begin).Add(250 * time.Millisecond)
	server := httptest.NewServer(s.Store)
	t.Cleanup(server.Close)
	source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	for _, ask := range query.Questions() {
		request := query.Request{Ask: ask, At: at, Window: time.Minute, Namespaces: []string{"a", "b.c"}, Models: hostileModels()}
		want, err := answer(t.Context(), s.Store, request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := source.Ask(t.Context(), request)
		if err != nil {
			t.Errorf("asking %s: %v", ask, err)
			continue
		}
		if len(want) == 0 || !got.At.Equal(at) {
			t.Errorf("%s: %d rows as of %v, want some as of %v", ask, len(want), got.At, at)
		}
		if d := diff(want, got.Rows); d != "" {
			t.Errorf("%s (-engine +source):\n%s", ask, d)
		}
	}
}

// scrapeHostile scrapes a pod for each hostile model name, one of which hangs and
// has a KV cache usage that is no number, and a picker.
func scrapeHostile(t *testing.T, s *store.Store, begin time.Time) (last time.Time) {
	t.Helper()
	picker := &page.Picker{Twins: true, Pool: "pool"}
	targets := map[*store.Target]func() []byte{
		s.Target(labels.FromStrings("namespace", "a", "pod", "epp", "job", "epp")): picker.Page,
	}
	for i, model := range hostileModels() {
		pod := page.NewPod(query.Engines()[i%2], page.Newest, model, 1)
		r := pod.Ranks[0]
		r.Running, r.Waiting, r.Usage = 2, 1, 0.5
		targets[s.Target(labels.FromStrings("namespace", []string{"a", "b.c"}[i%2], "pod", model+"-0", "job", "engines"))] = func() []byte {
			if i == 0 {
				r.Usage = math.NaN()
			} else {
				r.End(steadyShort, 30)
			}
			return pod.Page()
		}
		picker.Flows = append(picker.Flows, &page.Flow{Model: model, Queue: 1})
	}
	for n := range 24 {
		last = begin.Add(time.Duration(n) * 15 * time.Second)
		for target, page := range targets {
			if err := target.Scrape(t.Context(), last, page()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return last
}
