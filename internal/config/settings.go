package config

import (
	"flag"
	"fmt"
	"strings"
	"time"
)

// setting is a flag and its environment twin.
type setting struct {
	flag, env string
	secret    bool   // its value is never printed
	accepts   string // what it takes, in words
}

func (s setting) show(value string) string {
	if s.secret {
		return "(hidden)"
	}
	return value
}

func (s setting) want(err error) string {
	if s.secret {
		return "a valid value"
	}
	if s.accepts != "" {
		return s.accepts
	}
	return "a valid value: " + err.Error()
}

// define declares every setting on fs, with its default, and returns them in
// the order in which help lists them.
func define(fs *flag.FlagSet, o *Operator) []setting {
	d := &definition{fs: fs}
	d.text(&o.Prometheus.BaseURL, "prometheus-base-url", "", "URL of the Prometheus HTTP API (required)")
	d.truth(&o.Prometheus.AllowInsecure, "allow-insecure-prometheus", false, "accept a Prometheus URL without https")
	d.text(&o.Prometheus.CACertPath, "prometheus-ca-cert-path", "", "file with the CA certificates that Prometheus is verified by")
	d.text(&o.Prometheus.ClientCertPath, "prometheus-client-cert-path", "", "file with the client certificate shown to Prometheus")
	d.text(&o.Prometheus.ClientKeyPath, "prometheus-client-key-path", "", "file with the key of the client certificate")
	d.text(&o.Prometheus.ServerName, "prometheus-server-name", "", "name that the certificate of Prometheus must carry, if not the URL's")
	d.truth(&o.Prometheus.InsecureSkipVerify, "prometheus-tls-insecure-skip-verify", false, "do not verify the certificate of Prometheus")
	d.secret(&o.Prometheus.BearerToken, "prometheus-bearer-token", "bearer token for Prometheus; prefer a token file")
	d.text(&o.Prometheus.TokenPath, "prometheus-token-path", "", "file with the bearer token for Prometheus, read again when it changes")
	d.text(&o.Prometheus.Username, "prometheus-username", "", "user name for Prometheus")
	d.secret(&o.Prometheus.Password, "prometheus-password", "password for Prometheus")
	d.headers(&o.Prometheus.Headers, "prometheus-headers", "headers for Prometheus as Name=value, separated by commas")
	d.duration(&o.Prometheus.Timeout, "prometheus-timeout", 10*time.Second, "longest time to wait for one query")

	d.duration(&o.Interval, "global-opt-interval", time.Minute, "time between cycles, 1s to 1h")
	d.text(&o.WatchNamespace, "watch-namespace", "", "namespace to serve; empty serves all")
	d.text(&o.SystemNamespace, "pod-namespace", "workload-variant-autoscaler-system", "namespace of the manager itself")
	d.text(&o.ControllerInstance, "controller-instance", "", "serve only objects whose label wva.llmd.ai/controller-instance has this value")
	d.text(&o.LogLevel, "log-level", "info", "debug, info, warn or error")

	d.text(&o.ExternalMetricsBindAddress, "external-metrics-bind-address", "", "address to serve the External Metrics API on; empty is off")
	d.text(&o.ExternalMetricsCertPath, "external-metrics-cert-path", "", "folder with tls.crt and tls.key for it; empty for a self-signed certificate")

	d.text(&o.MetricsBindAddress, "metrics-bind-address", "0", "address to serve /metrics and /debug/decisions on; 0 is off")
	d.truth(&o.MetricsSecure, "metrics-secure", true, "serve them over TLS, to authenticated and authorized clients")
	d.text(&o.MetricsCertPath, "metrics-cert-path", "", "folder with the certificate for it; empty for a self-signed one")
	d.text(&o.MetricsCertName, "metrics-cert-name", "tls.crt", "name of the certificate's file")
	d.text(&o.MetricsCertKey, "metrics-cert-key", "tls.key", "name of the key's file")
	d.truth(&o.EnableHTTP2, "enable-http2", false, "allow HTTP/2 for it")
	d.text(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "address to serve /healthz and /readyz on")

	d.truth(&o.LeaderElect, "leader-elect", false, "let one of several managers lead")
	d.text(&o.LeaderElectionID, "leader-election-id", "72dd1cf1.llm-d.ai", "name of the lease")
	d.duration(&o.LeaseDuration, "leader-election-lease-duration", 60*time.Second, "time after which another may lead")
	d.duration(&o.LeaseRenewDeadline, "leader-election-renew-deadline", 50*time.Second, "time within which a leader must renew")
	d.duration(&o.LeaseRetryPeriod, "leader-election-retry-period", 10*time.Second, "time between attempts")
	d.duration(&o.RESTClientTimeout, "rest-client-timeout", 60*time.Second, "longest time to wait for the API server")
	return d.settings
}

// definition collects settings while they are declared on a flag set.
type definition struct {
	fs       *flag.FlagSet
	settings []setting
}

func (d *definition) add(name string) {
	d.settings = append(d.settings, setting{flag: name, env: strings.ToUpper(strings.ReplaceAll(name, "-", "_"))})
}

func (d *definition) accepts(what string) { d.settings[len(d.settings)-1].accepts = what }

func (d *definition) text(to *string, name, def, help string) {
	d.fs.StringVar(to, name, def, help)
	d.add(name)
}

func (d *definition) secret(to *string, name, help string) {
	d.text(to, name, "", help)
	d.settings[len(d.settings)-1].secret = true
}

func (d *definition) truth(to *bool, name string, def bool, help string) {
	d.fs.BoolVar(to, name, def, help)
	d.add(name)
	d.accepts("true or false")
}

func (d *definition) duration(to *time.Duration, name string, def time.Duration, help string) {
	d.fs.DurationVar(to, name, def, help)
	d.add(name)
	d.accepts("a duration with its unit, such as 30s or 5m")
}

// headers declares a list of Name=value pairs.
func (d *definition) headers(to *map[string]string, name, help string) {
	d.fs.Func(name, help, func(text string) error {
		headers := map[string]string{}
		for pair := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if key = strings.TrimSpace(key); !ok || key == "" {
				return fmt.Errorf("%q is not Name=value", pair)
			}
			headers[key] = strings.TrimSpace(value)
		}
		*to = headers
		return nil
	})
	d.add(name)
}
