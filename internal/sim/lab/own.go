package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// The names of this project's engines, as the manager runs them. Their parameters
// are the fields of the saturation ConfigMap that the engine reads, and interval.
const (
	Saturation = "saturation" // spare capacity of what replicas report, the default
	Tokens     = "tokens"     // token capacity, which the ConfigMap calls the analyzer saturation
	Queueing   = "model"      // a queueing model, the profiles and the objectives of the scenario
	Hybrid     = "hybrid"     // model and saturation
)

// ownEngine is an engine of this project.
type ownEngine struct {
	name, reads string
	entry       []string // of the ConfigMap, which make it this one
	fields      []string // that it reads, beside those of pace
}

// ownEngines lists the engines, the default first.
func ownEngines() []ownEngine {
	spare := []string{"kvCacheThreshold", "queueLengthThreshold", "kvSpareTrigger", "queueSpareTrigger"}
	tokens := []string{"kvCacheThreshold", "queueLengthThreshold", "scaleUpThreshold", "scaleDownBoundary"}
	sizing := []string{"ttftPercentile", "itlPercentile"}
	return []ownEngine{
		{Saturation, "peaks of KV cache usage and queue length, cost", nil, spare},
		{Tokens, "tokens in KV caches, queues, arrival rate and lengths, cost", []string{"analyzerName: saturation"}, tokens},
		{Queueing, "arrival rate and lengths, queues, profiles, objectives, cost", []string{"engine: model"}, sizing},
		{Hybrid, "what model and saturation or tokens read", []string{"engine: hybrid"}, slices.Concat(sizing, spare, tokens[2:], []string{"analyzerName"})},
	}
}

// ownEngineOf finds an engine by name.
func ownEngineOf(name string) (ownEngine, bool) {
	all := ownEngines()
	i := slices.IndexFunc(all, func(e ownEngine) bool { return e.name == name })
	if i < 0 {
		return ownEngine{}, false
	}
	return all[i], true
}

// intervalKey is the setting of the manager that interval stands for.
const intervalKey = "GLOBAL_OPT_INTERVAL"

// hpaSync is the default of --horizontal-pod-autoscaler-sync-period: our
// decisions are carried out by an HPA that has no tolerance and no windows of
// its own.
const hpaSync = 15 * time.Second

// params lists the parameters of the engine.
func (e ownEngine) params() []string {
	return slices.Concat(e.fields, []string{"scaleUpStabilization", "scaleDownStabilization", "maxScaleUpStep", "maxScaleDownStep"})
}

// ofScenario is the value of a percentile that is the attainment of the scenario,
// highest the one of a scenario that asks for all requests.
const (
	ofScenario = "scenario"
	highest    = 0.999
)

// isPercentile reports whether a parameter is one that objectives are held to.
func isPercentile(name string) bool { return name == "ttftPercentile" || name == "itlPercentile" }

// own is the configuration of the engine.
type own struct {
	policy   config.Policy
	interval time.Duration
}

// parseOwn reads parameters as the manager reads its ConfigMap, so that both
// accept the same and have the same defaults.
func parseOwn(c Choice) (own, error) {
	const anywhere = "lab"
	engine, ok := ownEngineOf(c.Name)
	if !ok {
		return own{}, &policy.UnknownPolicyError{Name: c.Name, Known: Names()}
	}
	entry, err := engine.configure(c)
	if err != nil {
		return own{}, err
	}
	o, interval := own{}, c.Params["interval"]
	if interval == "" {
		interval = setting(intervalKey).Default
	}
	if o.interval, err = time.ParseDuration(interval); err != nil || o.interval < time.Second || o.interval > time.Hour {
		return own{}, fmt.Errorf("policy %s: parameter interval: found %q, want a duration from 1s to 1h", c.Name, interval)
	}
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: anywhere})
	if err != nil {
		return own{}, fmt.Errorf("policy %s: %w", c.Name, err)
	}
	if entry != "" {
		name := config.PublishedNames()[config.KindSaturation][0]
		store.Apply([]config.Source{{Namespace: anywhere, Name: name, Data: map[string]string{"default": entry}}})
	}
	for _, f := range store.Snapshot().Findings() {
		if f.Severity == config.Refused {
			return own{}, fmt.Errorf("policy %s: parameter %s: found %q, want %s", c.Name, f.Field, f.Value, strings.TrimSpace(f.Want+" "+f.Problem))
		}
	}
	o.policy = store.Snapshot().Policy(scaling.ModelKey{})
	return o, nil
}

// configure returns the entry of the ConfigMap that makes the engine and holds the
// parameters of c.
func (e ownEngine) configure(c Choice) (string, error) {
	known := append(e.params(), "interval")
	var entry strings.Builder
	for _, line := range e.entry {
		fmt.Fprintln(&entry, line)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		switch value := c.Params[name]; {
		case !slices.Contains(known, name):
			return "", &policy.UnknownParamError{Policy: c.Name, Name: name, Known: known}
		case isPercentile(name) && value == ofScenario:
		case name != "interval":
			fmt.Fprintf(&entry, "%s: %s\n", name, scalar(value))
		}
	}
	return entry.String(), nil
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

// describeOwn describes an engine in the terms of the other policies.
func describeOwn(e ownEngine) policy.Definition {
	d := policy.Definition{Name: e.name, Source: "this project, as the manager runs it", Reads: e.reads, Grid: []map[string]string{}}
	for _, name := range e.params() {
		k := setting(name)
		p := policy.Param{Name: name, Default: k.Default, Doc: k.Meaning}
		if isPercentile(name) {
			p.Default, p.Doc = ofScenario, k.Meaning+", or "+ofScenario+" for the attainment that it asks for"
		}
		d.Params = append(d.Params, p)
	}
	k := setting(intervalKey)
	d.Params = append(d.Params, policy.Param{Name: "interval", Default: k.Default, Doc: k.Meaning})
	if o, err := parseOwn(Choice{Name: e.name}); err == nil {
		d.Interval = o.interval
	}
	return d
}

// openOwn makes the engine for one run. Each model is held to the objective of the
// scenario, at the percentiles that its attainment asks for unless others are
// chosen, and has the profiles that were measured.
func openOwn(c Choice, f fitted) (sim.Policy, time.Duration, error) {
	o, err := parseOwn(c)
	if err != nil {
		return nil, 0, err
	}
	policies := map[scaling.ModelKey]cycle.Policy{}
	for _, m := range f.Models {
		p := cycle.Configured(o.policy)
		p.Settings.Objective = scaling.Objective{Class: "scenario", TTFT: m.Spec.SLO.TTFT, ITL: m.Spec.SLO.ITL}
		asked := min(m.Spec.SLO.Attainment, highest)
		if cmp.Or(c.Params["ttftPercentile"], ofScenario) == ofScenario {
			p.Settings.Sizing.TTFTPercentile = asked
		}
		if cmp.Or(c.Params["itlPercentile"], ofScenario) == ofScenario {
			p.Settings.Sizing.ITLPercentile = asked
		}
		policies[m.Spec.Key] = p
	}
	return sim.NewEngine(sim.EngineOptions{
		Name: c.Name, Interval: o.interval, Policy: func(m scaling.ModelKey) cycle.Policy { return policies[m] },
		Profile: func(v scaling.VariantKey) scaling.Profile { return f.measured[v].profile },
	}), hpaSync, nil
}
