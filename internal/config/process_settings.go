package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/version"
)

// Operator is the configuration of a manager process.
type Operator struct {
	// MetricsBindAddress serves /metrics and the paths below /debug; "0" is off.
	MetricsBindAddress string
	// MetricsSecure serves them over TLS, to authenticated and authorized clients only.
	MetricsSecure bool
	// MetricsCertPath is a folder with MetricsCertName and MetricsCertKey, "" for a self-signed
	// certificate.
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
	// SystemNamespace is the namespace of the manager itself.
	SystemNamespace string
	// ControllerInstance splits a fleet between managers: this one serves only objects whose label
	// wva.llmd.ai/controller-instance has this value. "" serves all.
	ControllerInstance string
	LogLevel           string // debug, info, warn, error
	// LegacyMetricNames exports the decisions under their older names too.
	LegacyMetricNames bool

	// ExternalMetricsBindAddress serves the External Metrics API, "" is off.
	ExternalMetricsBindAddress string
	// ExternalMetricsCertPath is a folder with tls.crt and tls.key, "" for a
	// self-signed certificate.
	ExternalMetricsCertPath string

	ExternalScaler ExternalScaler

	Prometheus Prometheus
	Collector  Collector
	Recording  Recording
	Inventory  Inventory
	Budget     Budget

	// StoreLearned keeps what is learned in ConfigMaps of SystemNamespace.
	StoreLearned bool

	// ConfigFile is the file that settings were read from, "" for none.
	ConfigFile string
	// ConfigMapName and SaturationConfigMapName come before the published names of their kinds; ""
	// adds none.
	ConfigMapName, SaturationConfigMapName string
	// PrefixedNames are names of ConfigMaps of the system namespace. Those of an earlier release
	// among them come after the published names.
	PrefixedNames []string
	// Explicit holds the settings of flags, environment and file.
	Explicit Places
	// Published has one sentence for each given setting of earlier versions that no longer exists:
	// it says what replaces it.
	Published []string
}

// Names returns the names of the ConfigMaps that are read.
func (o *Operator) Names() Names {
	return PublishedNames().With(KindSettings, o.ConfigMapName).With(KindSaturation, o.SaturationConfigMapName).WithPrefixed(o.PrefixedNames)
}

// NewStore returns a store with the explicit settings of the process.
func (o *Operator) NewStore() (*Store, error) {
	return NewStore(StoreOptions{
		SystemNamespace: o.SystemNamespace, Names: o.Names(), Explicit: o.Explicit, AllowInsecurePrometheus: o.Prometheus.AllowInsecure,
	})
}

// With returns the configuration with settings applied that ConfigMaps may have set. The error says
// why a manager could not run with it.
func (o *Operator) With(s Settings) (*Operator, error) {
	with := s.Onto(*o)
	return &with, with.validate(with.Collector.Backend == BackendPrometheus)
}

// The executors: what starts a cycle.
const (
	ExecutorHybrid   = "hybrid"   // the interval, and changes
	ExecutorPolling  = "polling"  // the interval alone
	ExecutorReactive = "reactive" // changes alone; needs background fetching
)

// Executors returns the names of the executors, the default first.
func Executors() []string { return []string{ExecutorHybrid, ExecutorPolling, ExecutorReactive} }

// Warnings lists accepted values that do not have the effect that a user may expect, in whole
// sentences.
func (o *Operator) Warnings() []string {
	return append(o.Collector.Cache.warnings(), o.Published...)
}

// ErrAnswered is returned by Parse after it printed the help or the version.
var ErrAnswered = errors.New("answered")

// FetchInterval returns the time between two background fetches: the configured one, at most the
// interval of the cycle, so that no two cycles decide on the same measurements.
func (o *Operator) FetchInterval() time.Duration {
	return min(o.Collector.Cache.FetchInterval, o.Interval)
}

// Parse reads the configuration from arguments, environment and the file that one of them names, in
// this order of precedence. It prints help to out. A value that is missing but may come from a
// ConfigMap is no error here; With reports it.
func Parse(args []string, lookupEnv func(string) (string, bool), out io.Writer) (*Operator, error) {
	o := &Operator{}
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are returned, help is printed below
	settings, published := define(fs, o), publishedSettings()
	definePublished(fs, published)
	which := fs.Bool("version", false, "")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(out, fs, settings)
			return nil, ErrAnswered
		}
		for _, s := range settings {
			if s.secret && strings.Contains(err.Error(), "for flag -"+s.flag+":") {
				return nil, &FieldError{Key: "--" + s.flag, Value: s.show(""), Want: s.want(err)}
			}
		}
		return nil, fmt.Errorf("parsing flags: %w", err)
	}
	if *which {
		fmt.Fprintln(out, "manager", version.String())
		return nil, ErrAnswered
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("parsing flags: unexpected argument %q", fs.Arg(0))
	}
	o.Explicit = Places{givenFlags(fs, settings), {Origin: "an environment variable", Lookup: lookupEnv}}
	if err := o.take(fs, settings, ""); err != nil {
		return nil, err
	}
	if o.ConfigFile != "" {
		file, err := o.readFile(settings)
		if err != nil {
			return nil, err
		}
		o.Explicit = append(o.Explicit, Place{Origin: "the configuration file", Lookup: file.Lookup})
		if err := o.take(fs, settings, " in "+o.ConfigFile); err != nil {
			return nil, err
		}
	}
	var err error
	if o.Published, err = o.takePublished(fs, settings, published); err != nil {
		return nil, err
	}
	return o, o.validate(o.Collector.Backend == BackendPrometheus && o.Prometheus.BaseURL != "")
}

// givenFlags is the place of the flags that were given. A flag that is given as "" and has the
// default "" does not count as given.
func givenFlags(fs *flag.FlagSet, settings []setting) Place {
	given := map[string]string{}
	fs.Visit(func(f *flag.Flag) {
		for _, s := range settings {
			if s.flag == f.Name && (f.Value.String() != "" || f.DefValue != "") {
				given[s.env] = f.Value.String()
			}
		}
	})
	return Place{Origin: "a flag", Lookup: File(given).Lookup}
}

// take sets every setting whose flag is not given from the other places. where follows the key in
// errors.
func (o *Operator) take(fs *flag.FlagSet, settings []setting, where string) error {
	flags, others := o.Explicit[:1], o.Explicit[1:]
	for _, s := range settings {
		if _, given := flags[0].Lookup(s.env); given {
			continue
		}
		value, _, ok := others.Lookup(s.env)
		if !ok {
			continue
		}
		if err := fs.Set(s.flag, value); err != nil {
			return &FieldError{Key: s.env + where, Value: s.show(value), Want: s.want(err)}
		}
	}
	return nil
}

// readFile reads ConfigFile.
func (o *Operator) readFile(settings []setting) (File, error) {
	content, err := os.ReadFile(o.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file (CONFIG_FILE): %w", err)
	}
	known := processKeys()
	for _, s := range settings {
		if s.env != fileSetting {
			known = append(known, s.env)
		}
	}
	for _, f := range settingFields() {
		known = append(known, f.Name)
	}
	for _, p := range publishedSettings() {
		known = append(known, p.env)
	}
	file, err := ParseFile(content, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.ConfigFile, err)
	}
	return file, nil
}

// validate refuses a configuration that no manager can run with. required is whether Prometheus
// must be configured.
func (o *Operator) validate(required bool) error {
	if err := within("GLOBAL_OPT_INTERVAL", o.Interval, time.Second, time.Hour); err != nil {
		return err
	}
	if !slices.Contains(LogLevels(), o.LogLevel) {
		return &FieldError{Key: "LOG_LEVEL", Value: o.LogLevel, Want: oneOf(LogLevels())}
	}
	if o.LeaderElect && (o.LeaseDuration <= o.LeaseRenewDeadline || o.LeaseRenewDeadline <= o.LeaseRetryPeriod) {
		return fmt.Errorf("leader election: want lease duration (%s) > renew deadline (%s) > retry period (%s)",
			o.LeaseDuration, o.LeaseRenewDeadline, o.LeaseRetryPeriod)
	}
	if err := o.validateScope(); err != nil {
		return err
	}
	if err := o.Collector.validate(); err != nil {
		return err
	}
	if err := o.Recording.validate(); err != nil {
		return err
	}
	if err := o.Inventory.validate(); err != nil {
		return err
	}
	if err := o.Budget.validate(); err != nil {
		return err
	}
	if err := o.ExternalScaler.validate(); err != nil {
		return err
	}
	if err := o.Prometheus.validate(required); err != nil {
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
		Want: fmt.Sprintf("a duration from 1s to %s%s", spelling.Duration(o.Collector.Cache.UnavailableThreshold), because),
	}
}

// usage lists every flag with its environment twin.
func usage(out io.Writer, fs *flag.FlagSet, settings []setting) {
	fmt.Fprintf(out, "The manager of the Workload Variant Autoscaler.\n\n  --help, --version\n        say what there is, and which build this is\n\nFlags, each with its environment variable, which is also its name in --config-file; a flag wins:\n")
	for _, s := range settings {
		f := fs.Lookup(s.flag)
		fmt.Fprintf(out, "  --%s ($%s)\n        %s", s.flag, s.env, f.Usage)
		if !slices.Contains([]string{"", "false", "0", "0s"}, f.DefValue) {
			fmt.Fprintf(out, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "\nOther flags and variables of published versions are accepted too, and named at the start with what replaces them:\ndocs/migration/flags.md.\n")
}
