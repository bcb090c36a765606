package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"
)

// Operator is the configuration of a manager process.
type Operator struct {
	// MetricsBindAddress serves /metrics, /debug/decisions and /debug/cache;
	// "0" is off.
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
	// Executor says when cycles run, one of Executors.
	Executor string
	// WatchNamespace restricts the manager to one namespace, "" for all.
	WatchNamespace string
	// SystemNamespace is where the manager itself lives.
	SystemNamespace string
	// ControllerInstance splits a fleet between managers: only objects whose
	// label wva.llmd.ai/controller-instance equals it are served. "" serves all.
	ControllerInstance string
	LogLevel           string // debug, info, warn, error
	// LegacyMetricNames exports the decisions under their older names too.
	LegacyMetricNames bool

	// ExternalMetricsBindAddress serves the External Metrics API, "" is off.
	ExternalMetricsBindAddress string
	// ExternalMetricsCertPath is a folder with tls.crt and tls.key, "" for a
	// self-signed certificate.
	ExternalMetricsCertPath string

	Prometheus Prometheus
	Collector  Collector
}

// The executors: what makes a cycle run.
const (
	ExecutorHybrid   = "hybrid"   // the interval, and changes
	ExecutorPolling  = "polling"  // the interval alone
	ExecutorReactive = "reactive" // changes alone; needs background fetching
)

// Executors returns the names of the executors, the default first.
func Executors() []string { return []string{ExecutorHybrid, ExecutorPolling, ExecutorReactive} }

// Warnings lists what was accepted and does not do what one might think, in
// whole sentences.
func (o *Operator) Warnings() []string { return o.Collector.Cache.warnings() }

// ErrHelp is returned by Parse when help was asked for and has been printed.
var ErrHelp = errors.New("help requested")

// FetchInterval returns the time between two background fetches: the configured
// one, but no more than that between two cycles, so that no cycle decides again
// on what the one before has seen.
func (o *Operator) FetchInterval() time.Duration {
	return min(o.Collector.Cache.FetchInterval, o.Interval)
}

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
	if err := within("GLOBAL_OPT_INTERVAL", o.Interval, time.Second, time.Hour); err != nil {
		return err
	}
	if levels := []string{"debug", "info", "warn", "error"}; !slices.Contains(levels, o.LogLevel) {
		return &FieldError{Key: "LOG_LEVEL", Value: o.LogLevel, Want: oneOf(levels)}
	}
	if o.LeaderElect && (o.LeaseDuration <= o.LeaseRenewDeadline || o.LeaseRenewDeadline <= o.LeaseRetryPeriod) {
		return fmt.Errorf("leader election: want lease duration (%s) > renew deadline (%s) > retry period (%s)",
			o.LeaseDuration, o.LeaseRenewDeadline, o.LeaseRetryPeriod)
	}
	if err := o.Collector.validate(); err != nil {
		return err
	}
	if err := o.Prometheus.validate(o.Collector.Backend == BackendPrometheus); err != nil {
		return err
	}
	return o.validateExecutor()
}

// validateExecutor refuses an executor that would never run a cycle.
func (o *Operator) validateExecutor() error {
	if !slices.Contains(Executors(), o.Executor) {
		return &FieldError{Key: "WVA_EXECUTOR", Value: o.Executor, Want: oneOf(Executors())}
	}
	if o.Executor != ExecutorReactive || o.Collector.Cache.Background() {
		return nil
	}
	const because = " with WVA_EXECUTOR=" + ExecutorReactive + ", which learns from background fetching that load has changed"
	if !o.Collector.Cache.Enabled {
		return &FieldError{Key: cacheKey + "ENABLED", Value: "false", Want: "true" + because}
	}
	return &FieldError{
		Key: cacheKey + "FETCH_INTERVAL", Value: o.Collector.Cache.FetchInterval.String(),
		Want: fmt.Sprintf("a duration from 1s to %s%s", brief(o.Collector.Cache.UnavailableThreshold), because),
	}
}

// usage lists every flag with its environment twin.
func usage(out io.Writer, fs *flag.FlagSet, settings []setting) {
	fmt.Fprintf(out, "The manager of the Workload Variant Autoscaler.\n\nFlags, each with its environment variable; a flag wins:\n")
	for _, s := range settings {
		f := fs.Lookup(s.flag)
		fmt.Fprintf(out, "  --%s ($%s)\n        %s", s.flag, s.env, f.Usage)
		if !slices.Contains([]string{"", "false", "0", "0s"}, f.DefValue) {
			fmt.Fprintf(out, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(out)
	}
}
