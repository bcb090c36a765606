package scrape_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestPodsKeepTheContractOfASource(t *testing.T) {
	collectortest.TestContract(t, backend("pods", func(rows []query.Row, url string) (options scrape.Options, pages map[string]string) {
		pages = map[string]string{}
		var targets []scrape.Target
		for _, r := range rows {
			path := "/" + r.Namespace + "/" + r.Pod
			pages[path] = fmt.Sprintf("vllm:num_requests_running{model_name=\"%s\",engine=\"0\"} %s\n", escaped(r.Model), number(r.Value))
			targets = append(targets, scrape.Target{Namespace: r.Namespace, Pod: r.Pod, Model: r.Model, URL: url + path})
		}
		options.Pods = listing(targets...)
		return options, pages
	}))
}

// Each pod is alone in its pool, so that the mean of the pool is its own.
func TestPickersKeepTheContractOfASource(t *testing.T) {
	collectortest.TestContract(t, backend("epp", func(rows []query.Row, url string) (options scrape.Options, pages map[string]string) {
		pages = map[string]string{}
		var pods, pickers []scrape.Target
		for i, r := range rows {
			path := "/" + r.Namespace
			if pages[path] == "" {
				pickers = append(pickers, scrape.Target{Namespace: r.Namespace, Pod: "epp", URL: url + path})
			}
			pages[path] += fmt.Sprintf("llm_d_epp_per_endpoint_queue_size{name=\"pool-%[1]d\",model_server_endpoint=\"%[2]s\"} 0\n"+
				"llm_d_epp_average_running_requests{name=\"pool-%[1]d\"} %[3]s\n", i, r.Pod, number(r.Value))
			pods = append(pods, scrape.Target{Namespace: r.Namespace, Pod: r.Pod, Model: r.Model})
		}
		options.Pods, options.Pickers, options.PickersOnly = listing(pods...), listing(pickers...), true
		return options, pages
	}))
}

// backend makes sources whose pages show rows.
func backend(name string, show func(rows []query.Row, url string) (scrape.Options, map[string]string)) collectortest.Backend {
	start := func(t *testing.T, options scrape.Options) collector.Source {
		t.Helper()
		options.Name = name
		s := scrape.New(clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), options)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		return s
	}
	serve := func(t *testing.T, handler http.Handler) string {
		t.Helper()
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	lost := func(url string) scrape.Options {
		target := listing(scrape.Target{Namespace: "a", Pod: "pod-0", Model: "m", URL: url})
		return scrape.Options{Pods: target, Pickers: target}
	}
	return collectortest.Backend{
		Answering: func(t *testing.T, rows []query.Row) collector.Source {
			t.Helper()
			var pages map[string]string
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(pages[r.URL.Path])) }))
			var options scrape.Options
			options, pages = show(rows, url)
			return start(t, options)
		},
		Failing: func(t *testing.T) collector.Source {
			t.Helper()
			return start(t, lost(serve(t, http.NotFoundHandler())))
		},
		Hanging: func(t *testing.T) collector.Source {
			t.Helper()
			return start(t, lost(serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))))
		},
	}
}

func listing(targets ...scrape.Target) scrape.Targets {
	return func(context.Context) ([]scrape.Target, error) { return targets, nil }
}

// escaped writes a label value as the text format does.
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
