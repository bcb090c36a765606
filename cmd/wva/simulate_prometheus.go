package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// simulateStore are the flags of a simulation of a workload that a Prometheus recorded.
type simulateStore struct {
	url, from, to    string
	namespace, model string
	access           *pflag.FlagSet // how to reach it: flags that the manager has too
}

// storeTexts returns the flags with text that the manager has too. Secrets come only from the
// environment, where other users of the machine do not see them.
func storeTexts() map[string]string {
	return map[string]string{
		"prometheus-ca-cert-path":     "`file` with the CA certificates that Prometheus is verified by",
		"prometheus-client-cert-path": "`file` with the client certificate shown to Prometheus",
		"prometheus-client-key-path":  "`file` with the key of the client certificate",
		"prometheus-server-name":      "name that the certificate of Prometheus must carry, if not the URL's",
		"prometheus-token-path":       "`file` with the bearer token for Prometheus",
		"prometheus-username":         "user name for Prometheus; the password is PROMETHEUS_PASSWORD",
		"prometheus-headers":          "headers for Prometheus as Name=value, separated by commas",
		"prometheus-metric-prefixes":  "what the names of vLLM's metrics begin with, separated by commas (default vllm:,kserve_vllm:,ray_vllm_)",
		"prometheus-proxy-url":        "URL of a proxy on the way to Prometheus",
		"prometheus-timeout":          "longest time to wait for one query, its retries included (default 10s)",
	}
}

// storeTruths returns the flags that are true or false.
func storeTruths() map[string]string {
	return map[string]string{
		"prometheus-tls-insecure-skip-verify": "do not verify the certificate of Prometheus",
		"allow-insecure-prometheus":           "accept a Prometheus URL without https",
	}
}

func (s *simulateStore) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.url, "from-prometheus", "", "`URL` of a Prometheus whose record of one model is the workload, instead of --workload")
	flags.StringVar(&s.from, "from", "24h", "beginning of the record: a time such as 2026-01-31T08:00:00Z, or so long ago")
	flags.StringVar(&s.to, "to", "0s", "end of the record, likewise")
	flags.StringVar(&s.namespace, "namespace", "", "namespace of the model in the record; not needed where one model is")
	flags.StringVar(&s.model, "model", "", "model in the record, as its metrics name it; not needed where one model is")
	s.registerAccess(flags)
}

// registerAccess registers the flags for access to the store.
func (s *simulateStore) registerAccess(flags *pflag.FlagSet) {
	s.access = pflag.NewFlagSet("access", pflag.ContinueOnError)
	for name, help := range storeTexts() {
		s.access.String(name, "", help)
	}
	for name, help := range storeTruths() {
		s.access.Bool(name, false, help)
	}
	flags.AddFlagSet(s.access)
}

// check returns an error for wrong flags; changed reports which were given.
func (s *simulateStore) check(changed func(name string) bool) error {
	if s.url == "" {
		var err error
		s.each(func(name string) {
			if err == nil && changed(name) {
				err = fmt.Errorf("--%s has no meaning without --from-prometheus", name)
			}
		})
		return err
	}
	for _, name := range []string{"workload", "lengths", "input-tokens", "output-tokens", "peak", "take"} {
		if changed(name) {
			return fmt.Errorf("--%s has no place beside --from-prometheus, which has rates and lengths of its own", name)
		}
	}
	return nil
}

// each calls f with the name of every flag that needs a store.
func (s *simulateStore) each(f func(name string)) {
	for _, name := range []string{"from", "to", "namespace", "model"} {
		f(name)
	}
	s.access.VisitAll(func(flag *pflag.Flag) { f(flag.Name) })
}

// source reads the workload from the Prometheus, shows progress, and describes the result.
func (s *simulateStore) source(ctx context.Context, now time.Time, out io.Writer) (lab.Source, error) {
	asked := lab.StoreRange{Namespace: s.namespace, Model: s.model}
	var err error
	if asked.From, err = moment(s.from, now); err != nil {
		return lab.Source{}, fmt.Errorf("%w: --from: %w", errUsage, err)
	}
	if asked.To, err = moment(s.to, now); err != nil {
		return lab.Source{}, fmt.Errorf("%w: --to: %w", errUsage, err)
	}
	if asked.To.After(now) {
		return lab.Source{}, fmt.Errorf("%w: --to %s is in the future, want a time that has passed", errUsage, s.to)
	}
	if !asked.To.After(asked.From) {
		return lab.Source{}, fmt.Errorf("%w: --from %s is not before --to %s", errUsage, s.from, s.to)
	}
	store, err := s.open()
	if err != nil {
		return lab.Source{}, fmt.Errorf("%w: --from-prometheus: %w", errUsage, err)
	}
	defer store.Close()
	live := console.NewLive(out, console.LiveOptions{Terminal: console.Detect(out, os.Getenv)})
	if console.Detect(out, os.Getenv).Interactive {
		asked.OnStep = func(done, of int) {
			_ = live.Update(nil, nil, fmt.Sprintf("reading %s: %d of %d steps", s.url, done, of))
		}
	}
	source, r, err := lab.ReadStore(ctx, store, asked)
	if asked.OnStep != nil {
		_ = live.Update(nil, nil)
	}
	if err == nil {
		_ = live.Print(madeOf(r)...)
	}
	_ = live.Close()
	if err != nil {
		return source, fmt.Errorf("--from-prometheus: %w", err)
	}
	return source, nil
}

// open returns the Prometheus, configured as a manager with the same flags and environment would.
func (s *simulateStore) open() (*prometheus.Source, error) {
	args := []string{"--prometheus-base-url", s.url}
	s.access.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			args = append(args, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	environment := func(key string) (string, bool) {
		if !strings.HasPrefix(key, "PROMETHEUS_") || strings.HasPrefix(key, "PROMETHEUS_METRICS_CACHE_") {
			return "", false // not a setting of the Prometheus
		}
		return os.LookupEnv(key)
	}
	operator, err := config.Parse(args, environment, io.Discard)
	if err != nil {
		return nil, err
	}
	return prometheus.New(prometheus.Configured(operator.Prometheus))
}

// moment parses an instant, or how long ago it was.
func moment(text string, now time.Time) (time.Time, error) {
	if days, cut := strings.CutSuffix(text, "d"); cut {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-time.Duration(n) * 24 * time.Hour).Truncate(time.Second), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).Truncate(time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("found %q, want a time such as 2026-01-31T08:00:00Z, or a duration such as 24h or 7d for so long ago", text)
	}
	return at, nil
}

// madeOf describes what was read and what was assumed.
func madeOf(r lab.Recording) []string {
	counted := "completions and the growth of what is in flight"
	if r.Gateway {
		counted = "what the endpoint picker counted"
	}
	lines := []string{
		fmt.Sprintf("%s: about %.0f requests in %d steps of %s, by %s", r.Model, r.Requests, r.Steps, r.Step, counted),
		"assumed: Poisson arrivals within a step, lengths spread as in chat around the means of the requests that ended in it",
	}
	if r.Silent > 0 {
		lines = append(lines, fmt.Sprintf("%d of the steps have no metrics of the model and count as idle", r.Silent))
	}
	return lines
}
