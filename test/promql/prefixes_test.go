package promql

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// monitor stores the page of a pod under a name: what it does to the page of the i-th pod.
// A monitor that leaves a pod alone returns nil.
type monitor struct {
	job   string
	store func(i int, page []byte) []byte
}

// under stores every page with another prefix.
func under(prefix string) monitor {
	return monitor{"job-" + prefix, func(_ int, page []byte) []byte {
		return bytes.ReplaceAll(page, []byte("vllm:"), []byte(prefix))
	}}
}

// but is a monitor that leaves some lines or pods out.
func (m monitor) but(left func(i int, line string) bool) monitor {
	store := m.store
	m.store = func(i int, page []byte) []byte {
		var kept []byte
		for line := range strings.Lines(string(page)) {
			if !left(i, line) {
				kept = append(kept, line...)
			}
		}
		return store(i, kept)
	}
	return m
}

// storedAs are the ways in which one fixture is stored. They all say the same.
func storedAs() map[string][]monitor {
	pod := func(which int) func(int, string) bool { return func(i int, _ string) bool { return i == which } }
	family := func(names ...string) func(int, string) bool {
		return func(_ int, line string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(line, name) })
		}
	}
	acme := under("acme_llm_") // names that PROMETHEUS_METRIC_PREFIXES has beside the default
	return map[string][]monitor{
		"vllm's own names":                {under("vllm:")},
		"KServe's names":                  {under("kserve_vllm:")},
		"Ray's names":                     {under("ray_vllm_")},
		"a configured prefix":             {acme},
		"two names at once":               {under("vllm:"), under("kserve_vllm:")},
		"three names at once":             {under("ray_vllm_"), under("kserve_vllm:"), acme},
		"two names of some pods":          {under("vllm:").but(pod(0)), under("kserve_vllm:").but(pod(1))},
		"two names of some metrics":       {under("vllm:").but(family("request_success", "generation_tokens_total", "time_to_first")), under("kserve_vllm:").but(family("num_requests", "cache_config"))},
		"one name twice, by another job":  {under("vllm:"), {"again", under("vllm:").store}},
		"two names by one job":            {under("vllm:"), {"job-vllm:", under("kserve_vllm:").store}},
		"two names of each rank but one":  {under("vllm:").but(family(`engine="1"`)), under("kserve_vllm:").but(family(`engine="0"`))},
		"two names, the second preferred": {under("acme_llm_"), under("ray_vllm_")},
	}
}

// configured are the prefixes of the test: the default and one more.
func configured() query.Prefixes { return append(query.DefaultPrefixes(), "acme_llm_") }

// fixture is the fleet of the test: a model of pods of three versions of vLLM, one of which
// hangs, and one that is idle.
type fixture struct{ pods []*page.Pod }

func newFixture() *fixture {
	f := &fixture{}
	for i, version := range []page.Version{page.Newest, page.Both, page.Oldest, page.Newest, page.Newest} {
		ranks := 2
		if version == page.Oldest {
			ranks = 1
		}
		model := "m"
		if i == 4 {
			model = "idle"
		}
		f.pods = append(f.pods, page.NewPod(query.VLLM, version, model, ranks))
	}
	return f
}

// next lets a scrape interval pass and returns the pages.
func (f *fixture) next(interval time.Duration) [][]byte {
	pages := make([][]byte, len(f.pods))
	for i, pod := range f.pods {
		for n, r := range pod.Ranks {
			switch i {
			case 3:
				r.Running, r.Waiting, r.Usage = 5, 1, 0.5 // hangs
			case 4:
			default:
				r.Running, r.Waiting, r.Usage = float64(4+i), float64(n), 0.3+0.1*float64(i)
				r.End(steadyShort, steadyEnds*interval.Seconds()*float64(1+i))
				r.End(steadyUnstream, steadyLong*interval.Seconds())
			}
		}
		pages[i] = pod.Page()
	}
	return pages
}

func (f *fixture) name(i int) string { return fmt.Sprintf("p-%d", i) }

// fleet is what discovery says of the fixture.
func (f *fixture) fleet(at time.Time) scaling.Fleet {
	fleet := scaling.Fleet{At: at}
	for _, model := range []string{"idle", "m"} {
		key := scaling.VariantKey{Namespace: "a", Name: "v-" + model}
		v := scaling.Variant{
			Key: key, Model: scaling.ModelKey{Namespace: "a", ID: model}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: key.Name},
			GPUsPerReplica: 1, Cost: 1, Bounds: scaling.Unbounded(),
		}
		for i, pod := range f.pods {
			if pod.Model == model {
				fleet.Pods = append(fleet.Pods, scaling.Pod{Namespace: "a", Name: f.name(i), Variant: key, Ready: true})
				v.Replicas.Current, v.Replicas.Ready, v.Replicas.Observed = v.Replicas.Current+1, v.Replicas.Ready+1, true
			}
		}
		fleet.Variants = append(fleet.Variants, v)
	}
	return fleet
}

// snapshots collects from a source and returns what a cycle would decide by, as text.
func (f *fixture) snapshots(t *testing.T, source collector.Source, at time.Time) string {
	t.Helper()
	c := collector.New(source, testingclock.NewFakePassiveClock(at), collector.Options{
		Percentiles: func(m scaling.ModelKey) bool { return m.ID == "m" },
		Observe: func(name string, _ time.Duration, err error) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		},
	})
	text, err := json.MarshalIndent(c.Collect(t.Context(), f.fleet(at)), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		got, err := source.Ask(t.Context(), query.Request{Ask: query.AskRecent, At: at, Window: time.Minute, Span: 5 * time.Minute, Whole: whole})
		if err != nil {
			t.Fatal(err)
		}
		text = fmt.Appendf(text, "\n%+v\n", sorted(got.Rows))
	}
	return string(text)
}

// TestSnapshotsDoNotDependOnTheNamesOfTheMetrics stores one fixture in a Prometheus under
// each prefix and under several at once. The Snapshots are the same, to the byte.
func TestSnapshotsDoNotDependOnTheNamesOfTheMetrics(t *testing.T) {
	const interval = 15 * time.Second
	end := epoch.Add(12 * time.Minute)
	collected := map[string]string{}
	for name, monitors := range storedAs() {
		s, err := store.Open(t.TempDir(), testingclock.NewFakePassiveClock(end))
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture()
		targets := map[string]*store.Target{}
		for at := epoch; at.Before(end); at = at.Add(interval) {
			for i, stored := range f.next(interval) {
				for n, m := range monitors {
					key := fmt.Sprint(i, n)
					if targets[key] == nil {
						targets[key] = s.Target(labels.FromStrings("namespace", "a", "pod", f.name(i), "job", m.job, "container", "main"))
					}
					if err := targets[key].Scrape(t.Context(), at, m.store(i, stored)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		server := httptest.NewServer(s)
		source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true, Prefixes: configured()})
		if err != nil {
			t.Fatal(err)
		}
		collected[name] = f.snapshots(t, source, end)
		source.Close()
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	sameAsOwn(t, collected, `"stuck"`, `"pace"`, `"ttftBuckets"`)
}

// TestScrapedSnapshotsDoNotDependOnTheNamesOfTheMetrics does the same with the backends that
// scrape: pods, whose pages then have each name, and the endpoint picker that speaks for them.
func TestScrapedSnapshotsDoNotDependOnTheNamesOfTheMetrics(t *testing.T) {
	t.Run("pods", func(t *testing.T) {
		sameAsOwn(t, scrapedAs(t, func(o *scrape.Options, pages *sharedPages) { o.Name, o.Pods = "pods", pages.targets }), `"stuck"`, `"pace"`, `"ttftBuckets"`)
	})
	t.Run("epp", func(t *testing.T) {
		sameAsOwn(t, scrapedAs(t, func(o *scrape.Options, pages *sharedPages) {
			o.Name, o.Pods, o.Pickers, o.PickersOnly = "epp", pages.targets, pages.pickers, true
		}), `"value": 0.34`, `"at": "2000-01-01T00:10:00Z"`) // the mean of the pool, of a page that was just scraped
	})
}

// scrapedAs returns what a backend that scrapes collects of the fixture, by how it is stored.
func scrapedAs(t *testing.T, backend func(*scrape.Options, *sharedPages)) map[string]string {
	t.Helper()
	collected := map[string]string{}
	for name, monitors := range storedAs() {
		synctest.Test(t, func(t *testing.T) {
			const interval = 15 * time.Second
			pages := &sharedPages{fixture: newFixture(), monitors: monitors, interval: interval}
			options := scrape.Options{Interval: interval, Client: &http.Client{Transport: pages}, Prefixes: configured()}
			backend(&options, pages)
			source := scrape.New(clock.RealClock{}, options)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() {
				if err := source.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10*time.Minute + 2*time.Second)
			synctest.Wait()
			collected[name] = pages.snapshots(t, source, time.Now())
			cancel()
			running.Wait()
		})
	}
	return collected
}

// sameAsOwn compares what was collected with what was collected under vLLM's own names, which
// has these parts.
func sameAsOwn(t *testing.T, collected map[string]string, parts ...string) {
	t.Helper()
	own := collected["vllm's own names"]
	for _, part := range parts {
		if !strings.Contains(own, part) {
			t.Errorf("the fixture has no %s:\n%s", part, own)
		}
	}
	for name, text := range collected {
		if d := gocmp.Diff(own, text); d != "" {
			t.Errorf("%s (-own +stored so):\n%s", name, d)
		}
	}
}

// sharedPages answers scrapes with the pages of a fixture, which moves on with the time.
type sharedPages struct {
	*fixture
	monitors []monitor
	interval time.Duration

	mu    sync.Mutex
	round int64
	pages [][]byte
}

func (s *sharedPages) targets(context.Context) ([]scrape.Target, error) {
	var targets []scrape.Target
	for i, pod := range s.pods {
		targets = append(targets, scrape.Target{Namespace: "a", Pod: s.name(i), Model: pod.Model, URL: "http://" + s.name(i) + "/metrics"})
	}
	return targets, nil
}

func (s *sharedPages) pickers(context.Context) ([]scrape.Target, error) {
	return []scrape.Target{{Namespace: "a", Pod: "epp", URL: "http://epp/metrics"}}, nil
}

// picker returns the page of the endpoint picker, which keeps the first rank of each pod.
func (s *sharedPages) picker() []byte {
	sent := float64(10 * (s.round % 1000))
	of := page.Picker{Twins: true, Pool: "pool", Flows: []*page.Flow{{Model: "m", Sent: sent}}}
	for i, pod := range s.pods {
		r := pod.Ranks[0]
		of.Endpoints = append(of.Endpoints, &page.Endpoint{Name: s.name(i), Running: r.Running, Queue: r.Waiting, Usage: r.Usage})
	}
	return of.Page()
}

// RoundTrip answers a scrape.
func (s *sharedPages) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if round := time.Now().UnixNano() / int64(s.interval); round != s.round {
		s.round, s.pages = round, s.next(s.interval)
	}
	var body []byte
	if request.URL.Host == "epp" {
		body = s.picker()
	}
	for i := range s.pods {
		if s.name(i) != request.URL.Host {
			continue
		}
		seen := map[string]bool{}
		for _, m := range s.monitors {
			for line := range strings.Lines(string(m.store(i, s.pages[i]))) {
				if !seen[line] { // a page has a series once
					seen[line] = true
					body = append(body, line...)
				}
			}
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain; version=0.0.4"}}, Request: request, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}
