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
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// The names of this project's engines, as the manager runs them. Their parameters are the fields of
// the saturation ConfigMap that the engine reads, and the timing of cycles.
const (
	Tokens     = "tokens"     // token capacity, the default
	Saturation = "saturation" // spare capacity: KV cache usage and queues that replicas report
	Queueing   = "queueing"   // a queueing model, the profiles and the objectives of the scenario
	Hybrid     = "hybrid"     // queueing and tokens
	Published  = "published"  // spare capacity by the published rule, one replica at a time
)

// ownEngine is an engine of this project.
type ownEngine struct {
	name, reads string
	entry       []string // lines of the ConfigMap that choose this engine
	fields      []string // fields of the ConfigMap that it reads, beside those of all engines
}

// ownEngines returns the engines, the default first.
func ownEngines() []ownEngine {
	spare := []string{"kvCacheThreshold", "queueLengthThreshold", "kvSpareTrigger", "queueSpareTrigger"}
	tokens := []string{"kvCacheThreshold", "queueLengthThreshold", "scaleUpThreshold", "scaleDownBoundary"}
	sizing := []string{"ttftPercentile", "itlPercentile"}
	return []ownEngine{
		{Tokens, "tokens in KV caches, queues, arrival rate and lengths, cost", []string{"engine: tokens"}, tokens},
		{Saturation, "KV cache usage, queue length, what runs and arrives, cost", []string{"engine: saturation"}, spare},
		{Queueing, "arrival rate and lengths, queues, profiles, objectives, cost", []string{"engine: queueing"}, sizing},
		{Hybrid, "what queueing and tokens read, or queueing and saturation where a trigger of spare capacity is given", []string{"engine: hybrid"}, slices.Concat(sizing, spare, tokens[2:], []string{"analyzerName"})},
		{Published, "KV cache usage, queue length, cost", []string{"engine: published"}, spare},
	}
}

// ownEngineOf returns the engine with a name, false if there is none.
func ownEngineOf(name string) (ownEngine, bool) {
	all := ownEngines()
	i := slices.IndexFunc(all, func(e ownEngine) bool { return e.name == name })
	if i < 0 {
		return ownEngine{}, false
	}
	return all[i], true
}

// timing is a parameter of when cycles run, with the manager's setting that it sets.
type timing struct{ param, key string }

func timings() []timing {
	return []timing{{"interval", "GLOBAL_OPT_INTERVAL"}, {"executor", "WVA_EXECUTOR"}, {"fetchInterval", "PROMETHEUS_METRICS_CACHE_FETCH_INTERVAL"}}
}

// hpaSync is the default of --horizontal-pod-autoscaler-sync-period. An HPA with the tolerance of
// the scenario and no windows of its own carries out our decisions.
const hpaSync = 15 * time.Second

// params returns the parameters of the engine.
func (e ownEngine) params() []string {
	return slices.Concat(e.fields, []string{limiter, "scaleUpStabilization", "scaleDownStabilization", "scaleDownStartUps", "maxScaleUpStep", "maxScaleDownStep"})
}

// ofScenario is the value of a parameter that follows the scenario: a percentile is its attainment,
// limiter says whether it limits the model. highest is the percentile of a scenario that asks for
// all requests.
const (
	ofScenario = "scenario"
	highest    = 0.999
)

// limiter is the parameter that limits a model by stock and quotas.
const limiter = "enableLimiter"

// objectives and profiles are the parameters that say whether the user has written objectives down
// and stated measured profiles. none runs the manager without them.
const (
	objectives = "objectives"
	profiles   = "profiles"
	none       = "none"
)

// scenarioSays returns what the value ofScenario means for a parameter, "" if it is not allowed.
func scenarioSays(param string) string {
	switch param {
	case "ttftPercentile", "itlPercentile":
		return "the attainment that it asks for"
	case objectives:
		return "those of the models"
	case profiles:
		return "those that were measured"
	case limiter:
		return "true where it lists nodes or quotas of a model's accelerators"
	}
	return ""
}

// ofScenario reports whether a parameter follows the scenario.
func (c Choice) ofScenario(param string) bool {
	return cmp.Or(c.Params[param], ofScenario) == ofScenario
}

// own is a parsed choice of an engine.
type own struct {
	policy          config.ModelSettings
	interval, fetch time.Duration
	executor        executor.Mode
}

// parseOwn reads parameters as the manager reads its ConfigMap, so that both accept the same values
// and have the same defaults.
func parseOwn(c Choice) (own, error) {
	const anywhere = "lab"
	engine, ok := ownEngineOf(c.Name)
	if !ok {
		return own{}, &policy.UnknownPolicyError{Name: c.Name, Known: Names()}
	}
	entry, settings, err := engine.configure(c)
	if err != nil {
		return own{}, err
	}
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: anywhere})
	if err != nil {
		return own{}, fmt.Errorf("policy %s: %w", c.Name, err)
	}
	names := config.PublishedNames()
	sources := []config.Source{{Namespace: anywhere, Name: names[config.KindSettings][0], Data: settings}}
	if entry != "" {
		sources = append(sources, config.Source{Namespace: anywhere, Name: names[config.KindSaturation][0], Data: map[string]string{"default": entry}})
	}
	store.Apply(sources)
	for _, f := range store.Snapshot().Findings() {
		if f.Severity == config.Refused {
			return own{}, fmt.Errorf("policy %s: parameter %s: found %q, want %s", c.Name, paramOf(f), f.Value, strings.TrimSpace(f.Want+" "+f.Problem))
		}
	}
	inForce := store.Snapshot().Settings()
	o := own{policy: store.Snapshot().Policy(scaling.ModelKey{}), interval: inForce.Interval, fetch: min(inForce.Cache.FetchInterval, inForce.Interval)}
	if o.executor, err = executor.ParseMode(inForce.Executor); err != nil {
		return own{}, fmt.Errorf("policy %s: %w", c.Name, err)
	}
	return o, nil
}

// configure returns the entry of the ConfigMap that chooses the engine with the parameters of c,
// and the other settings of the manager.
func (e ownEngine) configure(c Choice) (entry string, settings map[string]string, err error) {
	known := append(e.params(), objectives, profiles)
	keys := map[string]string{}
	for _, t := range timings() {
		known = append(known, t.param)
		keys[t.param] = t.key
	}
	var text strings.Builder
	for _, line := range e.entry {
		fmt.Fprintln(&text, line)
	}
	settings = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		switch value := c.Params[name]; {
		case !slices.Contains(known, name):
			return "", nil, &policy.UnknownParamError{Policy: c.Name, Name: name, Known: known}
		case scenarioSays(name) != "" && value == ofScenario:
		case (name == objectives || name == profiles) && value == none:
		case name == profiles:
			if _, err := parseWrong(value); err != nil {
				return "", nil, fmt.Errorf("policy %s: parameter %s: found %q, want %s, %s or %w", c.Name, name, value, ofScenario, none, err)
			}
		case name == objectives:
			return "", nil, fmt.Errorf("policy %s: parameter %s: found %q, want %s or %s", c.Name, name, value, ofScenario, none)
		case keys[name] != "":
			settings[keys[name]] = value
		default:
			fmt.Fprintf(&text, "%s: %s\n", name, scalar(value))
		}
	}
	return text.String(), settings, nil
}

// paramOf returns the parameter that a finding is about.
func paramOf(f config.Finding) string {
	for _, t := range timings() {
		if t.key == f.Key {
			return t.param
		}
	}
	return f.Field
}

// scalar writes a value as YAML: numbers and booleans as they are, all else quoted.
func scalar(value string) string {
	_, err := strconv.ParseFloat(value, 64)
	if _, truth := strconv.ParseBool(value); err == nil || truth == nil {
		return value
	}
	return strconv.Quote(value)
}

// setting returns the description of a manager's setting or field.
func setting(name string) config.Key {
	all := config.Catalogue()
	return all[slices.IndexFunc(all, func(k config.Key) bool { return k.Name == name })]
}

// describeOwn returns the Definition of an engine.
func describeOwn(e ownEngine) policy.Definition {
	d := policy.Definition{Name: e.name, Source: "this project, as the manager runs it", Reads: e.reads, Grid: []map[string]string{}}
	for _, name := range e.params() {
		k := setting(name)
		p := policy.Param{Name: name, Default: k.Default, Doc: k.Meaning}
		if says := scenarioSays(name); says != "" {
			p.Default, p.Doc = ofScenario, k.Meaning+", or "+ofScenario+": "+says
		}
		d.Params = append(d.Params, p)
	}
	for _, p := range []policy.Param{{Name: objectives, Doc: "objectives that the user has written down"}, {Name: profiles, Doc: "profiles that the user has stated"}} {
		p.Default, p.Doc = ofScenario, p.Doc+": "+ofScenario+", "+scenarioSays(p.Name)+", or "+none
		if p.Name == profiles {
			p.Doc += ", or those that were measured made wrong: 0.5 halves every coefficient, 2*beta doubles one"
		}
		d.Params = append(d.Params, p)
	}
	for _, t := range timings() {
		k := setting(t.key)
		d.Params = append(d.Params, policy.Param{Name: t.param, Default: k.Default, Doc: k.Meaning})
	}
	if o, err := parseOwn(Choice{Name: e.name}); err == nil {
		d.Interval = o.interval
	}
	return d
}

// openOwn makes the engine for one run. Unless the choice says otherwise, each model has the
// objective of the scenario, at the percentiles of its attainment, the measured profiles, and
// limited mode where the scenario limits it.
func openOwn(c Choice, f fitted) (sim.Policy, time.Duration, error) {
	o, err := parseOwn(c)
	if err != nil {
		return nil, 0, err
	}
	stated, err := c.states()
	if err != nil {
		return nil, 0, err
	}
	policies := map[scaling.ModelKey]settings.Model{}
	for _, m := range f.Models {
		policies[m.Spec.Key] = c.decides(o, f, m)
	}
	return sim.NewEngine(sim.EngineOptions{
		Name: c.Name, Interval: o.interval, Executor: o.executor, Fetch: o.fetch, Quotas: f.Quotas, Schedule: f.Schedule,
		Policy:  func(m scaling.ModelKey) settings.Model { return policies[m] },
		Profile: func(v scaling.VariantKey) scaling.Profile { return stated(f.measured[v].Profile) },
	}), hpaSync, nil
}

// decides returns the settings by which a model is decided.
func (c Choice) decides(o own, f fitted, m Model) settings.Model {
	p := o.policy.Resolved()
	if c.ofScenario(limiter) {
		p.Limited = f.limits(m)
	}
	if !c.ofScenario(objectives) {
		return p
	}
	asked := min(m.Spec.SLO.Attainment, highest)
	p.Objective = scaling.Objective{Class: "scenario", Priority: m.Priority, TTFT: m.Spec.SLO.TTFT, ITL: m.Spec.SLO.ITL, Attainment: asked}
	if m.Percentile && c.ofScenario("ttftPercentile") {
		p.Sizing.TTFTPercentile = asked
	}
	if m.Percentile && c.ofScenario("itlPercentile") {
		p.Sizing.ITLPercentile = asked
	}
	return p
}
