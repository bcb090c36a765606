package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// Saturation is the name of this project's primary engine, as the manager runs
// it. Its parameters are the fields of the saturation ConfigMap and interval.
const Saturation = "saturation"

// intervalKey is the setting of the manager that interval stands for.
const intervalKey = "GLOBAL_OPT_INTERVAL"

// hpaSync is the default of --horizontal-pod-autoscaler-sync-period: our
// decisions are carried out by an HPA that has no tolerance and no windows of
// its own.
const hpaSync = 15 * time.Second

// ownFields are the fields of the saturation ConfigMap that this engine reads.
func ownFields() []string {
	return []string{
		"kvCacheThreshold", "queueLengthThreshold", "kvSpareTrigger", "queueSpareTrigger",
		"scaleUpStabilization", "scaleDownStabilization", "maxScaleUpStep", "maxScaleDownStep",
	}
}

// own is the configuration of the engine.
type own struct {
	policy   config.Policy
	interval time.Duration
}

// parseOwn reads parameters as the manager reads its ConfigMap, so that both
// accept the same and have the same defaults.
func parseOwn(params map[string]string) (own, error) {
	const anywhere = "lab"
	known := append(ownFields(), "interval")
	var entry strings.Builder
	o := own{}
	interval := params["interval"]
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch {
		case !slices.Contains(known, name):
			return own{}, &policy.UnknownParamError{Policy: Saturation, Name: name, Known: known}
		case name != "interval":
			fmt.Fprintf(&entry, "%s: %s\n", name, scalar(params[name]))
		}
	}
	if interval == "" {
		interval = setting(intervalKey).Default
	}
	var err error
	if o.interval, err = time.ParseDuration(interval); err != nil || o.interval < time.Second || o.interval > time.Hour {
		return own{}, fmt.Errorf("policy %s: parameter interval: found %q, want a duration from 1s to 1h", Saturation, interval)
	}
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: anywhere})
	if err != nil {
		return own{}, fmt.Errorf("policy %s: %w", Saturation, err)
	}
	if entry.Len() > 0 {
		name := config.PublishedNames()[config.KindSaturation][0]
		store.Apply([]config.Source{{Namespace: anywhere, Name: name, Data: map[string]string{"default": entry.String()}}})
	}
	for _, f := range store.Snapshot().Findings() {
		if f.Severity == config.Refused {
			return own{}, fmt.Errorf("policy %s: parameter %s: found %q, want %s", Saturation, f.Field, f.Value, strings.TrimSpace(f.Want+" "+f.Problem))
		}
	}
	o.policy = store.Snapshot().Policy(scaling.ModelKey{})
	return o, nil
}

// scalar writes a value as YAML: a number as it is, all else as text.
func scalar(value string) string {
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return value
	}
	return strconv.Quote(value)
}

// setting returns the description of a setting or a field of the manager.
func setting(name string) config.Key {
	all := config.Catalogue()
	return all[slices.IndexFunc(all, func(k config.Key) bool { return k.Name == name })]
}

// describeOwn describes the engine in the terms of the other policies.
func describeOwn() policy.Definition {
	d := policy.Definition{
		Name: Saturation, Source: "this project, as the manager runs it",
		Reads: "peaks of KV cache usage and queue length, cost",
		Grid:  []map[string]string{},
	}
	for _, name := range ownFields() {
		k := setting(name)
		d.Params = append(d.Params, policy.Param{Name: name, Default: k.Default, Doc: k.Meaning})
	}
	k := setting(intervalKey)
	d.Params = append(d.Params, policy.Param{Name: "interval", Default: k.Default, Doc: k.Meaning})
	if o, err := parseOwn(nil); err == nil {
		d.Interval = o.interval
	}
	return d
}

// openOwn makes the engine for one run with these models.
func openOwn(c Choice, models []Model) (sim.Policy, time.Duration, error) {
	o, err := parseOwn(c.Params)
	if err != nil {
		return nil, 0, err
	}
	p := o.policy
	settings := cycle.Case{Policies: map[scaling.ModelKey]constrain.Policy{}}
	for _, m := range models {
		settings.Policies[m.Spec.Key] = constrain.Policy{
			ScaleUpStabilization: p.ScaleUpStabilization, ScaleDownStabilization: p.ScaleDownStabilization,
			MaxScaleUpStep: p.MaxScaleUpStep, MaxScaleDownStep: p.MaxScaleDownStep,
		}
	}
	return sim.NewEngine(sim.EngineOptions{
		Name: c.Name, Analyze: sim.Saturation(p.Saturation), Interval: o.interval, Settings: settings,
	}), hpaSync, nil
}
