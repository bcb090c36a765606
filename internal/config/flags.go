package config

import (
	"errors"
	"flag"
	"strings"
	"time"
)

// fileSetting names the file of settings. The file itself cannot set it.
const fileSetting = "CONFIG_FILE"

// setting is a flag and its environment twin.
type setting struct {
	flag, env string
	secret    bool   // its value is never printed
	accepts   string // description of the accepted values
}

func (s setting) show(value string) string {
	if s.secret {
		return "(hidden)"
	}
	return value
}

func (s setting) want(err error) string {
	if s.accepts != "" {
		return s.accepts
	}
	if s.secret {
		return "a valid value"
	}
	return "a valid value: " + err.Error()
}

// define declares every setting on fs, with its default, and returns them in
// the order in which help lists them.
func define(fs *flag.FlagSet, o *Operator) []setting {
	d := &definition{fs: fs}
	d.text(&o.ConfigFile, "config-file", "", "YAML file with settings by the names of their environment variables; a variable wins, and a ConfigMap loses")
	d.text(&o.ConfigMapName, "config-map-name", "", "name of the ConfigMap of settings that is looked for before the published ones")
	d.text(&o.SaturationConfigMapName, "saturation-config-map-name", "", "name of the ConfigMap of saturation thresholds that is looked for before the published ones")

	o.Prometheus.define(d)
	o.Collector.define(d)
	o.Recording.define(d)
	o.Inventory.define(d)
	o.Budget.define(d)

	d.truth(&o.StoreLearned, "store", true, "keep what is learned, such as how long pods take to start, in ConfigMaps of the manager's namespace, so that a restart does not forget it")
	d.twin("WVA_STORE")

	d.duration(&o.Interval, "global-opt-interval", time.Minute, "time between cycles, 1s to 1h")
	d.text(&o.Executor, "executor", ExecutorHybrid, "when cycles run: hybrid (at the interval and on changes), polling (at the interval), reactive (on changes and what background fetching sees)")
	d.twin("WVA_EXECUTOR")
	d.text(&o.WatchNamespace, "watch-namespace", "", "namespace to serve; empty serves all")
	d.text(&o.SystemNamespace, "pod-namespace", "workload-variant-autoscaler-system", "namespace of the manager itself")
	d.text(&o.ControllerInstance, "controller-instance", "", "serve only objects whose label wva.llmd.ai/controller-instance has this value")
	d.text(&o.LogLevel, "log-level", "info", "debug, info, warn or error")

	d.text(&o.ExternalMetricsBindAddress, "external-metrics-bind-address", "", "address to serve the External Metrics API on; empty is off")
	d.text(&o.ExternalMetricsCertPath, "external-metrics-cert-path", "", "folder with tls.crt and tls.key for it; empty for a self-signed certificate")

	o.ExternalScaler.define(d)

	d.text(&o.MetricsBindAddress, "metrics-bind-address", "0", "address to serve /metrics and the paths below /debug on; 0 is off")
	d.truth(&o.MetricsSecure, "metrics-secure", true, "serve them over TLS, to authenticated and authorized clients")
	d.text(&o.MetricsCertPath, "metrics-cert-path", "", "folder with the certificate for it; empty for a self-signed one")
	d.text(&o.MetricsCertName, "metrics-cert-name", "tls.crt", "name of the certificate's file")
	d.text(&o.MetricsCertKey, "metrics-cert-key", "tls.key", "name of the key's file")
	d.truth(&o.EnableHTTP2, "enable-http2", false, "allow HTTP/2 for it")
	d.truth(&o.LegacyMetricNames, "legacy-metric-names", false, "export the inferno_* metrics and wva_deployment_target_conflicts_total of earlier versions too")
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

// twin renames the environment variable of the setting declared last.
func (d *definition) twin(env string) { d.settings[len(d.settings)-1].env = env }

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
	d.explained(name)
}

// count declares a whole number.
func (d *definition) count(to *int, name string, def int, help string) {
	d.fs.IntVar(to, name, def, help)
	d.add(name)
	d.accepts("a whole number")
	d.explained(name)
}

// explained makes the flag's error say which values it accepts.
func (d *definition) explained(name string) {
	f := d.fs.Lookup(name)
	f.Value = explainedValue{f.Value, d.settings[len(d.settings)-1].accepts}
}

// explainedValue is a value whose only error says which values it accepts.
type explainedValue struct {
	flag.Value
	accepts string
}

// Set reads text.
func (v explainedValue) Set(text string) error {
	if v.Value.Set(text) != nil {
		return errors.New("want " + v.accepts)
	}
	return nil
}
