package config

import (
	"net/url"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// baseURL reads the URL of an HTTP API.
func baseURL(raw any) (string, bool) {
	s, ok := text(raw)
	if !ok {
		return "", false
	}
	u, err := url.Parse(s)
	return s, err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// fetchInterval reads the time between background fetches, 0 for none.
func fetchInterval(raw any) (time.Duration, bool) {
	if n, ok := number(raw); ok && n == 0 {
		return 0, true
	}
	d, ok := duration(raw)
	return d, ok && (d == 0 || d >= time.Second && d <= time.Hour)
}

// headers reads Name=value pairs.
func headers(raw any) (map[string]string, bool) {
	s, ok := text(raw)
	if !ok {
		return nil, false
	}
	out := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, false
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, true
}

// metricPrefixes reads prefixes of metric names.
func metricPrefixes(raw any) (query.Prefixes, bool) {
	s, ok := text(raw)
	if !ok {
		return nil, false
	}
	prefixes, err := query.ParsePrefixes(s)
	return prefixes, err == nil
}

// rule is a condition on several settings.
type rule struct {
	keys   []string
	broken func(Settings) bool
	want   string
}

// settingRules returns the rules between settings that are each accepted by itself.
func settingRules(allowInsecure bool) []rule {
	const (
		fresh, unavailable = "PROMETHEUS_METRICS_CACHE_FRESH_THRESHOLD", "PROMETHEUS_METRICS_CACHE_UNAVAILABLE_THRESHOLD"
		ttl, fetch         = "PROMETHEUS_METRICS_CACHE_TTL", "PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL"
		enabled, executor  = "PROMETHEUS_METRICS_CACHE_ENABLED", "WVA_EXECUTOR"
	)
	return []rule{
		{
			keys:   []string{fresh, unavailable},
			broken: func(s Settings) bool { return s.Cache.FreshThreshold > s.Cache.UnavailableThreshold },
			want:   fresh + " not above " + unavailable,
		},
		{
			keys:   []string{ttl, unavailable},
			broken: func(s Settings) bool { return s.Cache.TTL > s.Cache.UnavailableThreshold },
			want:   ttl + " not above " + unavailable,
		},
		{
			keys:   []string{fetch, unavailable},
			broken: func(s Settings) bool { return s.Cache.FetchInterval > s.Cache.UnavailableThreshold },
			want:   fetch + " not above " + unavailable,
		},
		{
			keys: []string{executor, enabled, fetch},
			broken: func(s Settings) bool {
				return s.Executor == ExecutorReactive && (!s.Cache.Enabled || s.Cache.FetchInterval == 0)
			},
			want: enabled + " true and " + fetch + " above 0 with " + executor + " " + ExecutorReactive +
				", which learns from background fetching that load has changed",
		},
		{
			keys: []string{"PROMETHEUS_BASE_URL"},
			broken: func(s Settings) bool {
				return !allowInsecure && strings.HasPrefix(s.Prometheus.BaseURL, "http://")
			},
			want: httpsRequired,
		},
	}
}

// httpsRequired is the published text for a URL without https.
const httpsRequired = "HTTPS is required - URL must use https:// scheme"

// insecure returns that text with the URL, without the password that it may hold.
func insecure(address string) string { return httpsRequired + ": " + withoutPassword(address) }
