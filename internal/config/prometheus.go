package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Prometheus says where metrics are read, and how to connect and authenticate.
type Prometheus struct {
	BaseURL                    string // required by BackendPrometheus
	AllowInsecure              bool   // plain http is accepted
	CACertPath, ClientCertPath string
	ClientKeyPath, ServerName  string
	InsecureSkipVerify         bool
	BearerToken, TokenPath     string
	Username, Password         string
	Headers                    map[string]string
	// MetricPrefixes are the prefixes of the names of vLLM's metrics. They apply to every backend.
	MetricPrefixes query.Prefixes
	// ProxyURL is the proxy to use, "" for that of the environment.
	ProxyURL string
	// Timeout bounds one query with its retries, > 0.
	Timeout time.Duration
	// Retries is how often a query is repeated after a transient failure, 0 to 10.
	Retries int
	// Budget bounds the time of all queries of one collection, retries included, 1s to 10m.
	Budget time.Duration
	// MaxResponseBytes bounds one answer, 64 KiB to 1 GiB.
	MaxResponseBytes int
}

// The ranges of the settings.
const (
	shortestBudget, longestBudget = time.Second, 10 * time.Minute
	leastResponse, mostResponse   = 64 << 10, 1 << 30
	mostRetries                   = 10
)

func (p *Prometheus) define(d *definition) {
	d.text(&p.BaseURL, "prometheus-base-url", "", "URL of the Prometheus HTTP API (required by the backend prometheus)")
	d.truth(&p.AllowInsecure, "allow-insecure-prometheus", false, "accept a Prometheus URL without https")
	d.text(&p.CACertPath, "prometheus-ca-cert-path", "", "file with the CA certificates that Prometheus is verified by")
	d.text(&p.ClientCertPath, "prometheus-client-cert-path", "", "file with the client certificate shown to Prometheus")
	d.text(&p.ClientKeyPath, "prometheus-client-key-path", "", "file with the key of the client certificate")
	d.text(&p.ServerName, "prometheus-server-name", "", "name that the certificate of Prometheus must carry, if not the URL's")
	d.truth(&p.InsecureSkipVerify, "prometheus-tls-insecure-skip-verify", false, "do not verify the certificate of Prometheus")
	d.secret(&p.BearerToken, "prometheus-bearer-token", "bearer token for Prometheus; prefer a token file")
	d.text(&p.TokenPath, "prometheus-token-path", "", "file with the bearer token for Prometheus, read again when it changes")
	d.text(&p.Username, "prometheus-username", "", "user name for Prometheus")
	d.secret(&p.Password, "prometheus-password", "password for Prometheus")
	d.headers(&p.Headers, "prometheus-headers", "headers for Prometheus as Name=value, separated by commas")
	d.prefixes(&p.MetricPrefixes, "prometheus-metric-prefixes", "what the names of vLLM's metrics begin with, separated by commas, the preferred first; read by every backend")
	d.text(&p.ProxyURL, "prometheus-proxy-url", "", "URL of a proxy on the way to Prometheus; empty for HTTPS_PROXY and NO_PROXY")
	d.duration(&p.Timeout, "prometheus-timeout", 10*time.Second, "longest time to wait for one query, its retries included")
	d.count(&p.Retries, "prometheus-retries", 3, "how often a query is asked again, with back-off and within its timeout, 0 to 10")
	d.duration(&p.Budget, "prometheus-budget", 20*time.Second, "longest time for all queries of one collection, 1s to 10m")
	d.count(&p.MaxResponseBytes, "prometheus-max-response-bytes", 64<<20, "largest answer to one query, 64 KiB to 1 GiB")
}

func (p *Prometheus) validate(required bool) error {
	if required && p.BaseURL == "" {
		return errors.New("no Prometheus configuration found. Please set PROMETHEUS_BASE_URL environment variable or --prometheus-base-url")
	}
	if p.Timeout <= 0 {
		return &FieldError{Key: "PROMETHEUS_TIMEOUT", Value: p.Timeout.String(), Want: "a positive duration"}
	}
	if err := within("PROMETHEUS_BUDGET", p.Budget, shortestBudget, longestBudget); err != nil {
		return err
	}
	if err := between("PROMETHEUS_RETRIES", p.Retries, 0, mostRetries); err != nil {
		return err
	}
	if err := between("PROMETHEUS_MAX_RESPONSE_BYTES", p.MaxResponseBytes, leastResponse, mostResponse); err != nil {
		return err
	}
	if required && !p.InsecureSkipVerify {
		return checkAuthorities("PROMETHEUS_CA_CERT_PATH", p.CACertPath)
	}
	return nil
}

// checkAuthorities refuses a file of authorities that holds none. It accepts a file that is missing
// or unreadable: its reader reports that.
func checkAuthorities(key, path string) error {
	if path == "" {
		return nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return &FieldError{Key: key, Value: path, Want: "a PEM file with one certificate or more"}
	}
	return nil
}

// headers declares a list of Name=value pairs.
func (d *definition) headers(to *map[string]string, name, help string) {
	d.fs.Var(&headersValue{to: to}, name, help)
	d.add(name)
	d.settings[len(d.settings)-1].secret = true
	d.accepts("Name=value pairs, separated by commas")
}

// wantPrefixes describes the accepted lists of prefixes.
var wantPrefixes = fmt.Sprintf("beginnings of metric names such as %s, separated by commas, up to %d of %d characters",
	query.DefaultPrefixes(), query.MostPrefixes, query.LongestPrefix)

// prefixes declares a list of prefixes.
func (d *definition) prefixes(to *query.Prefixes, name, help string) {
	*to = query.DefaultPrefixes()
	d.fs.Var(prefixesValue{to}, name, help)
	d.add(name)
	d.accepts(wantPrefixes)
	d.explained(name)
}

// prefixesValue reads prefixes.
type prefixesValue struct{ to *query.Prefixes }

// Set reads prefixes separated by commas.
func (v prefixesValue) Set(text string) (err error) {
	read, err := query.ParsePrefixes(text)
	if err == nil {
		*v.to = read
	}
	return err
}

// String returns the prefixes.
func (v prefixesValue) String() string {
	if v.to == nil {
		return "" // package flag calls it on the zero value
	}
	return v.to.String()
}

// headersValue reads Name=value pairs and keeps their text.
type headersValue struct {
	to   *map[string]string
	text string
}

// Set reads pairs separated by commas.
func (v *headersValue) Set(text string) error {
	pairs := map[string]string{}
	for i, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			// The error does not repeat the pair: it may be a token.
			return fmt.Errorf("pair %d is not Name=value", i+1)
		}
		pairs[key] = strings.TrimSpace(value)
	}
	*v.to, v.text = pairs, text
	return nil
}

// String returns the text of the pairs.
func (v *headersValue) String() string { return v.text }
