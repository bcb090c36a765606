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

// newPods reads the pages of the serving pods themselves, and of the endpoint
// pickers for what waits in front of them.
func newPods(s surroundings, o *config.Operator) (backend, error) {
	return newScrape(s, o, scrape.Options{})
}

// newEPP reads the pages of the endpoint pickers, which speak for their pods.
func newEPP(s surroundings, o *config.Operator) (backend, error) {
	return newScrape(s, o, scrape.Options{PickersOnly: true})
}

// newScrape completes what two backends have in common.
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
	if !selector.Empty() { // an empty one would match every pod
		options.Pickers = func(ctx context.Context) ([]scrape.Target, error) {
			pages, err := s.cluster.Pickers(ctx, selector)
			if err != nil {
				return nil, err
			}
			// Elsewhere a picker speaks for no variant, and the user who made it need not
			// see the token.
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

// targets returns pages in the words of the scraper.
func targets(pages []discovery.MetricsEndpoint) []scrape.Target {
	out := make([]scrape.Target, len(pages))
	for i, p := range pages {
		out[i] = scrape.Target(p)
	}
	return out
}

// at moves targets to a port, 0 for where they are. It changes its argument.
func at(port int, targets []scrape.Target) []scrape.Target {
	for i := range targets {
		if page, err := url.Parse(targets[i].URL); err == nil && port != 0 {
			page.Host = net.JoinHostPort(page.Hostname(), strconv.Itoa(port))
			targets[i].URL = page.String()
		}
	}
	return targets
}

// newScrapeClient returns a client for pages of pods. It goes to them directly,
// whatever proxy the environment names for the world outside, and nowhere else.
func newScrapeClient(s config.Scrape) (*http.Client, error) {
	files := transport.Files{
		CACert: s.CACertPath, ClientCert: s.ClientCertPath, ClientKey: s.ClientKeyPath,
		ServerName: s.ServerName, InsecureSkipVerify: s.InsecureSkipVerify,
	}
	trip, err := transport.New(files, func(secure *tls.Config) *http.Transport {
		return &http.Transport{
			TLSClientConfig: secure,
			// A connection costs more memory than it saves time at thousands of pods.
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

// bearer returns what adds a token to a request, nil where there is none. The
// file is read for every request: that is cheaper than to be wrong about whether
// it changed.
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
