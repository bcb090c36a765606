package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Operator is the configuration of a manager process.
type Operator struct {
	// MetricsBindAddress serves /metrics and /debug/decisions; "0" is off.
	MetricsBindAddress string
	// MetricsSecure serves them over TLS to authenticated and authorized clients.
	MetricsSecure bool
	// MetricsCertPath is a folder with MetricsCertName and MetricsCertKey, "" for
	// a self-signed certificate.
	MetricsCertPath, MetricsCertName, MetricsCertKey string
	EnableHTTP2                                      bool
	HealthProbeBindAddress                           string

	LeaderElect                                         bool
	LeaderElectionID                                    string
	LeaseDuration, LeaseRenewDeadline, LeaseRetryPeriod time.Duration
	RESTClientTimeout                                   time.Duration

	// Interval is the time between cycles, 1s to 1h.
	Interval time.Duration
	// WatchNamespace restricts the manager to one namespace, "" for all.
	WatchNamespace string
	// SystemNamespace is where the manager itself lives.
	SystemNamespace string
	// ControllerInstance splits a fleet between managers: only objects whose
	// label wva.llmd.ai/controller-instance equals it are served. "" serves all.
	ControllerInstance string
	LogLevel           string // debug, info, warn, error

	// ExternalMetricsBindAddress serves the External Metrics API, "" is off.
	ExternalMetricsBindAddress string
	// ExternalMetricsCertPath is a folder with tls.crt and tls.key, "" for a
	// self-signed certificate.
	ExternalMetricsCertPath string

	Prometheus Prometheus
}

// Prometheus says where metrics are read and how to get at them.
type Prometheus struct {
	BaseURL                    string
	AllowInsecure              bool // plain http is accepted
	CACertPath, ClientCertPath string
	ClientKeyPath, ServerName  string
	InsecureSkipVerify         bool
	BearerToken, TokenPath     string
	Username, Password         string
	Headers                    map[string]string
	Timeout                    time.Duration
}

// FieldError is a value that is not accepted.
type FieldError struct {
	Key   string // flag or environment variable, as the user wrote it
	Value string
	Want  string // what is accepted
}

// Error names the key, the value and what is accepted.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %q is not accepted: want %s", e.Key, e.Value, e.Want)
}

// ErrHelp is returned by Parse when help was asked for and has been printed.
var ErrHelp = errors.New("help requested")

// Parse reads the configuration from arguments and environment. Help goes to
// out.
func Parse(args []string, lookupEnv func(string) (string, bool), out io.Writer) (*Operator, error) {
	o := &Operator{}
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are returned, help is printed below
	settings := define(fs, o)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(out, fs, settings)
			return nil, ErrHelp
		}
		return nil, fmt.Errorf("parsing flags: %w", err)
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("parsing flags: unexpected argument %q", fs.Arg(0))
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, s := range settings {
		value, ok := lookupEnv(s.env)
		if !ok || value == "" || given[s.flag] {
			continue
		}
		if err := fs.Set(s.flag, value); err != nil {
			return nil, &FieldError{Key: s.env, Value: s.show(value), Want: s.want(err)}
		}
	}
	return o, o.validate()
}

func (o *Operator) validate() error {
	const shortest, longest = time.Second, time.Hour
	if o.Interval < shortest || o.Interval > longest {
		return &FieldError{Key: "GLOBAL_OPT_INTERVAL", Value: o.Interval.String(), Want: "a duration from 1s to 1h"}
	}
	if levels := []string{"debug", "info", "warn", "error"}; !slices.Contains(levels, o.LogLevel) {
		return &FieldError{Key: "LOG_LEVEL", Value: o.LogLevel, Want: "one of " + strings.Join(levels, ", ")}
	}
	if o.Prometheus.BaseURL == "" {
		return errors.New("no Prometheus configuration found. Please set PROMETHEUS_BASE_URL environment variable or --prometheus-base-url")
	}
	if o.LeaderElect && (o.LeaseDuration <= o.LeaseRenewDeadline || o.LeaseRenewDeadline <= o.LeaseRetryPeriod) {
		return fmt.Errorf("leader election: want lease duration (%s) > renew deadline (%s) > retry period (%s)",
			o.LeaseDuration, o.LeaseRenewDeadline, o.LeaseRetryPeriod)
	}
	if o.Prometheus.Timeout <= 0 {
		return &FieldError{Key: "--prometheus-timeout", Value: o.Prometheus.Timeout.String(), Want: "a positive duration"}
	}
	return nil
}

// usage lists every flag with its environment twin.
func usage(out io.Writer, fs *flag.FlagSet, settings []setting) {
	fmt.Fprintf(out, "The manager of the Workload Variant Autoscaler.\n\nFlags, each with its environment variable; a flag wins:\n")
	for _, s := range settings {
		f := fs.Lookup(s.flag)
		fmt.Fprintf(out, "  --%s ($%s)\n        %s", s.flag, s.env, f.Usage)
		if f.DefValue != "" && f.DefValue != "false" {
			fmt.Fprintf(out, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(out)
	}
}
