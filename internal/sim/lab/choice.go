package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// Choice is a policy by name, with the parameters that differ from its defaults.
type Choice struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params,omitempty"`
}

// ParseChoice reads "name" or "name:param=value,param=value" and checks that the policy exists and
// that its parameters are in range.
func ParseChoice(text string) (Choice, error) {
	name, params, _ := strings.Cut(text, ":")
	c := Choice{Name: strings.TrimSpace(name)}
	if c.Name == "model" { // the published name
		c.Name = Queueing
	}
	for pair := range strings.SplitSeq(params, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if _, twice := c.Params[key]; !ok || key == "" || twice {
			return Choice{}, fmt.Errorf("policy %s: found %q, want param=value, each parameter once", c.Name, pair)
		}
		if c.Params == nil {
			c.Params = map[string]string{}
		}
		c.Params[key] = strings.TrimSpace(value)
	}
	return c, c.Check()
}

// Check returns nil, or what is wrong with the name or a parameter.
func (c Choice) Check() error {
	if c.Own() {
		_, err := parseOwn(c)
		return err
	}
	_, err := policy.ByName(c.Name, c.Params)
	if _, unknown := errors.AsType[*policy.UnknownPolicyError](err); unknown {
		return &policy.UnknownPolicyError{Name: c.Name, Known: known()}
	}
	return err
}

// String returns the choice as ParseChoice reads it, parameters sorted.
func (c Choice) String() string {
	if len(c.Params) == 0 {
		return c.Name
	}
	pairs := make([]string, 0, len(c.Params))
	for _, key := range slices.Sorted(maps.Keys(c.Params)) {
		pairs = append(pairs, key+"="+c.Params[key])
	}
	return c.Name + ":" + strings.Join(pairs, ",")
}

// Own reports whether c is an engine of this project.
func (c Choice) Own() bool {
	_, ok := ownEngineOf(c.Name)
	return ok
}

// benches reports whether c reads a benchmark, or its tuning does.
func (c Choice) benches(tuned bool) bool {
	if c.Own() {
		return c.Name == Queueing || c.Name == Hybrid
	}
	d, _ := policy.Find(c.Name)
	return d.Benches() || tuned && c.Name == fixed && len(c.Params) == 0
}

// known returns the names of all policies.
func known() []string {
	var names []string
	for _, d := range Catalogue() {
		names = append(names, d.Name)
	}
	return names
}

// Names returns the policies for models without roles, this project's first.
func Names() []string {
	var names []string
	for _, e := range ownEngines() {
		names = append(names, e.name)
	}
	return append(names, policy.Names()...)
}

// Catalogue describes every policy, in the order of Names, and then those that scale only prefill
// and decode.
func Catalogue() []policy.Definition {
	var all []policy.Definition
	for _, e := range ownEngines() {
		all = append(all, describeOwn(e))
	}
	return slices.Concat(all, policy.Catalogue(), policy.RoleCatalogue())
}

// grid returns the settings to try when c is tuned, its defaults among them; no more than most, if
// most is above 0. It is empty for our own policies, and for a choice with parameters.
func (c Choice) grid(most int) []map[string]string {
	if c.Own() || len(c.Params) > 0 {
		return nil
	}
	d, ok := policy.Find(c.Name)
	if !ok {
		return nil
	}
	points := slices.DeleteFunc(slices.Clone(d.Grid), func(point map[string]string) bool { return len(point) == 0 })
	if len(points) > 0 && !slices.ContainsFunc(points, func(point map[string]string) bool { return isDefault(d, point) }) {
		points = append(points, nil)
	}
	return fewer(d, points, most)
}

// fewer returns the defaults of a policy and others of its points, spread evenly over the list,
// most in all; every point if most is 0.
func fewer(d policy.Definition, points []map[string]string, most int) []map[string]string {
	if most == 0 || len(points) <= most {
		return points
	}
	var out, others []map[string]string
	for _, point := range points {
		if isDefault(d, point) {
			out = append(out, point)
		} else {
			others = append(others, point)
		}
	}
	more := most - len(out)
	for i := range more {
		out = append(out, others[(2*i+1)*len(others)/(2*more)])
	}
	return out
}

// Untuned returns the result of another project's policy with its defaults in the judged part,
// false if they were not tried. No count of static is a default.
func (r Row) Untuned() (Point, bool) {
	if r.Policy.Name == fixed {
		return Point{}, false
	}
	d, ok := policy.Find(r.Policy.Name)
	i := slices.IndexFunc(r.Tuning, func(t Trial) bool { return ok && isDefault(d, t.Params) })
	if i < 0 {
		return Point{}, false
	}
	return r.Tuning[i].Rest, true
}

// isDefault reports whether a point sets no parameter to another value than its default.
func isDefault(d policy.Definition, point map[string]string) bool {
	return !slices.ContainsFunc(d.Params, func(p policy.Param) bool {
		value, ok := point[p.Name]
		return ok && !sameSetting(value, p.Default)
	})
}

// sameSetting reports whether two settings are equal, also as durations written differently.
func sameSetting(a, b string) bool {
	x, wrong := time.ParseDuration(a)
	y, alsoWrong := time.ParseDuration(b)
	if wrong == nil && alsoWrong == nil {
		return x == y
	}
	return a == b
}

// open makes the policy for one run, and returns the longest time from a decision until a scaler
// carries it out. The rules of other projects contain their HPA where they need one.
func (c Choice) open(f fitted) (sim.Policy, time.Duration, error) {
	if c.Own() {
		return openOwn(c, f)
	}
	o := sim.PeerOptions{
		Name: c.Name, Rules: map[scaling.ModelKey]policy.Autoscaler{},
		Measured: func(v scaling.VariantKey) policy.Benchmark { return f.measured[v].Benchmark },
	}
	for _, m := range f.Models {
		rule, err := policy.ByName(c.Name, c.Params)
		if err != nil {
			return nil, 0, err
		}
		o.Rules[m.Spec.Key], o.Interval = rule, rule.Interval()
	}
	return sim.NewPeer(o), 0, nil
}
