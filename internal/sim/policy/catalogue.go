package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Definition describes a policy that ByName makes.
type Definition struct {
	Name     string
	Source   string // where the rule is from
	Reads    string // the values of an Observation that it reads, separated by commas
	Interval time.Duration
	Params   []Param
	// Grid lists the settings to try when the policy is tuned: at most 10 points over at most 2
	// parameters. The others keep their defaults. A policy without such parameters has one empty
	// setting.
	Grid []map[string]string
}

// benchmark names Variant.Benchmark in Definition.Reads.
const benchmark = "benchmark"

// Benches reports whether the policy reads the benchmark of a replica.
func (d Definition) Benches() bool { return slices.Contains(strings.Split(d.Reads, ", "), benchmark) }

// Param describes one parameter.
type Param struct {
	Name    string
	Default string
	Doc     string
}

// UnknownPolicyError says that no policy has the name.
type UnknownPolicyError struct {
	Name  string
	Known []string
}

// Error names the known policies.
func (e *UnknownPolicyError) Error() string {
	return fmt.Sprintf("policy %q is not known%s: want one of %s", e.Name, meant(e.Name, e.Known), strings.Join(e.Known, ", "))
}

// meant returns a question with the nearest known name; "" if none is near, or if name begins a
// known one.
func meant(name string, known []string) string {
	near := spelling.Nearest(name, known)
	if near == "" || slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, name+"-") }) {
		return ""
	}
	return " (did you mean " + near + "?)"
}

// UnknownParamError says that the policy has no parameter of the name.
type UnknownParamError struct {
	Policy string
	Name   string
	Known  []string
}

// Error names the parameters that the policy has.
func (e *UnknownParamError) Error() string {
	return fmt.Sprintf("policy %s has no parameter %q%s: want one of %s", e.Policy, e.Name, meant(e.Name, e.Known), strings.Join(e.Known, ", "))
}

// ByName returns a new policy, with defaults for parameters that are not given. An unknown name is
// an *UnknownPolicyError or an *UnknownParamError; other errors name the parameter and what it
// accepts.
func ByName(name string, params map[string]string) (Autoscaler, error) {
	for _, p := range slices.Concat(peers(), rolePeers()) {
		if p.name == name {
			return p.make(params)
		}
	}
	return nil, &UnknownPolicyError{Name: name, Known: Names()}
}

// Names returns the names of the policies of Catalogue, in the order of the table in the package
// documentation.
func Names() []string {
	all := peers()
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return names
}

// Catalogue describes all policies for models without roles, in the order of Names.
func Catalogue() []Definition {
	all := peers()
	out := make([]Definition, len(all))
	for i, p := range all {
		out[i] = p.describe()
	}
	return out
}

// peer is one policy of the catalogue.
type peer struct {
	name, source, reads string
	open                func() (fields []field, build func() (Autoscaler, error))
}

// define returns a peer with the defaults of its parameters.
func define[P any](name, source, reads string, defaults P, fields func(*P) []field, build func(P) (Autoscaler, error)) peer {
	return peer{name, source, reads, func() ([]field, func() (Autoscaler, error)) {
		p := defaults
		return fields(&p), func() (Autoscaler, error) { return build(p) }
	}}
}

func (p peer) make(params map[string]string) (Autoscaler, error) {
	fields, build := p.open()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			known := make([]string, len(fields))
			for j, f := range fields {
				known[j] = f.name
			}
			return nil, &UnknownParamError{Policy: p.name, Name: name, Known: known}
		}
		if err := fields[i].parse(params[name]); err != nil {
			return nil, fmt.Errorf("policy %s: parameter %w", p.name, err)
		}
	}
	if err := check(p.name, fields); err != nil {
		return nil, err
	}
	return build()
}

func (p peer) describe() Definition {
	fields, _ := p.open()
	d := Definition{Name: p.name, Source: p.source, Reads: p.reads, Grid: []map[string]string{{}}}
	for _, f := range fields {
		d.Params = append(d.Params, Param{Name: f.name, Default: f.text(), Doc: f.doc})
		if f.tune == nil {
			continue
		}
		var points []map[string]string
		for _, point := range d.Grid {
			for _, value := range f.tune {
				next := maps.Clone(point)
				next[f.name] = value
				points = append(points, next)
			}
		}
		d.Grid = points
	}
	if made, err := p.make(nil); err == nil {
		d.Interval = made.Interval()
	}
	return d
}
