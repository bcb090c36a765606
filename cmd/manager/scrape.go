package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/transport"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
)

// newPods returns a backend that reads the pages of the serving pods, and those of the endpoint
// pickers for the requests that wait at the gateway.
func newPods(s surroundings, o *config.Operator) (backend, error) {
	return newScrape(s, o, scrape.Options{})
}

// newEPP returns a backend that reads the pages of the endpoint pickers, which report for their
// pods.
func newEPP(s surroundings, o *config.Operator) (backend, error) {
	return newScrape(s, o, scrape.Options{PickersOnly: true})
}

// newScrape completes the options that both backends share.
func newScrape(s surroundings, o *config.Operator, options scrape.Options) (backend, error) {
	settings := o.Collector.Scrape
	selector, err := labels.Parse(settings.PickerSelector)
	if err != nil {
		return backend{}, fmt.Errorf("reading the selector of endpoint pickers: %w", err)
	}
	options.Name, options.Interval = o.Collector.Backend, settings.Interval
	options.Observe, options.Limits, options.Prefixes = s.observe, o.Budget.Limits, o.Prometheus.MetricPrefixes
	options.LeftOut = func(left map[budget.What]map[string]int) {
		for w, counts := range left {
			s.over.Note(w, counts)
		}
	}
	if options.Client, err = newScrapeClient(settings); err != nil {
		return backend{}, fmt.Errorf("configuring what pages are verified by (--scrape-*): %w", err)
	}
	options.Authorize = bearer(settings.PickerToken, settings.PickerTokenPath)
	var served atomic.Pointer[map[string]bool] // the namespaces of the fleet
	options.Pods = func(ctx context.Context) ([]scrape.Target, error) {
		fleet, err := s.cluster.Fleet(ctx, clock.RealClock{}.Now())
		if err != nil {
			return nil, err
		}
		namespaces := map[string]bool{}
		for _, v := range fleet.Variants {
			namespaces[v.Key.Namespace] = true
		}
		served.Store(&namespaces)
		return targets(discovery.MetricsEndpoints(fleet)), nil
	}
	if !selector.Empty() { // an empty selector would match every pod
		options.Pickers = func(ctx context.Context) ([]scrape.Target, error) {
			pages, err := s.cluster.Pickers(ctx, selector)
			if err != nil {
				return nil, err
			}
			// In other namespaces a picker reports for no variant, and its owner must not get the
			// token.
			pages = slices.DeleteFunc(pages, func(p discovery.MetricsEndpoint) bool {
				namespaces := served.Load()
				return namespaces == nil || !(*namespaces)[p.Namespace]
			})
			return at(settings.PickerPort, targets(pages)), nil
		}
	}
	source := scrape.New(clock.RealClock{}, options)
	return backend{source: source, run: source.Run}, nil
}

// targets converts pages to the type of the scraper.
func targets(pages []discovery.MetricsEndpoint) []scrape.Target {
	out := make([]scrape.Target, len(pages))
	for i, p := range pages {
		out[i] = scrape.Target(p)
	}
	return out
}

// at moves targets to a port, 0 to leave them. It changes its argument.
func at(port int, targets []scrape.Target) []scrape.Target {
	for i := range targets {
		if page, err := url.Parse(targets[i].URL); err == nil && port != 0 {
			page.Host = net.JoinHostPort(page.Hostname(), strconv.Itoa(port))
			targets[i].URL = page.String()
		}
	}
	return targets
}

// newScrapeClient returns a client for pages of pods. It connects directly, without the proxy of
// the environment, and follows no redirect.
func newScrapeClient(s config.Scrape) (*http.Client, error) {
	files := transport.Files{
		CACert: s.CACertPath, ClientCert: s.ClientCertPath, ClientKey: s.ClientKeyPath,
		ServerName: s.ServerName, InsecureSkipVerify: s.InsecureSkipVerify,
	}
	trip, err := transport.New(files, func(secure *tls.Config) *http.Transport {
		return &http.Transport{
			TLSClientConfig: secure,
			// With thousands of pods, an idle connection costs more memory than it is worth in
			// time.
			MaxIdleConns: 256, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
		}
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     trip,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// bearer returns a function that adds a token to a request, nil without a token. It reads the file
// for every request, which costs less than missing a change.
func bearer(token, path string) func(*http.Request) error {
	if token == "" && path == "" {
		return nil
	}
	return func(req *http.Request) error {
		token := token
		if token == "" {
			content, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("reading the endpoint pickers' bearer token: %w", err)
			}
			token = strings.TrimSpace(string(content))
		}
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}
