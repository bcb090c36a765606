package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// defaultKey is the key of the entry for every model.
const defaultKey = "default"

// policyEntry is one accepted entry of KindSaturation.
type policyEntry struct {
	Namespace, ConfigMap, Key string // its place
	Scope                     Scope
	Fields                    values
}

// policies are the accepted entries of one ConfigMap by their scope. The empty scope is that of the
// key default.
type policies map[Scope]policyEntry

// chain returns the entries that apply to a model, the most general first.
func (p policies) chain(s Scope) []policyEntry {
	scopes := []Scope{{}, {Namespace: s.Namespace}, {Model: s.Model}, s}
	var out []policyEntry
	seen := map[Scope]bool{}
	for _, scope := range scopes {
		if e, ok := p[scope]; ok && !seen[scope] {
			out = append(out, e)
		}
		seen[scope] = true
	}
	return out
}

// policyReader reads ConfigMaps of KindSaturation.
type policyReader struct {
	fields   []field[ModelSettings]
	defaults ModelSettings
}

// read returns the accepted entries of a ConfigMap; an entry of last replaces a refused one. base
// holds the entries of the lower layer: of the system namespace, for the ConfigMap of another.
func (r policyReader) read(of Source, system bool, base, last policies) (policies, []Finding) {
	f := newFindings(of)
	out := policies{}
	parsed, bad := r.parse(of, system, last, f)
	// The general before the special, because the special inherits from it.
	order := slices.SortedFunc(maps.Keys(parsed), Scope.compare)
	for _, scope := range order {
		entry := parsed[scope]
		f.key, f.concerns = entry.Key, r.concerns(scope, of, system)
		below, _ := r.resolve(r.defaults, f.concerns, base, out)
		p := r.over(below, entry)
		want, wrong := p.contradiction()
		if !wrong {
			out[scope] = entry
			if doubt := p.doubt(); doubt != "" && doubt != below.doubt() {
				f.add(Finding{Severity: Doubtful, Problem: doubt})
			}
			continue
		}
		found := Finding{Severity: Refused, Problem: "contradicts itself or what it inherits", Want: want, InForce: "what it inherits"}
		if old, ok := last[scope]; ok && !bad[scope] {
			if _, wrong := r.over(below, old).contradiction(); !wrong {
				out[scope], found.InForce = old, "the last good entry"
			}
		}
		f.add(found)
	}
	return out, f.all()
}

// concerns returns the scope of the models that an entry is for. Outside the system namespace they
// are in the namespace of the ConfigMap.
func (policyReader) concerns(scope Scope, of Source, system bool) Scope {
	if !system {
		scope.Namespace = of.Namespace
	}
	return scope
}

// parse reads every entry. bad holds the scopes whose entry is that of last.
func (r policyReader) parse(of Source, system bool, last policies, f *findings) (parsed policies, bad map[Scope]bool) {
	parsed, bad = policies{}, map[Scope]bool{}
	byKey := map[string]policyEntry{}
	for _, e := range last {
		byKey[e.Key] = e
	}
	keep := func(key string) string {
		if old, ok := byKey[key]; ok {
			return keepEntry(parsed, bad, old)
		}
		return "what it inherits"
	}
	for key, tree := range f.mappings(system, "YAML fields", keep) {
		scope, ok := policyScope(key, tree, of, system, f)
		if !ok {
			continue
		}
		if first, taken := parsed[scope]; taken {
			f.add(Finding{Severity: Refused, Problem: "is for the same models as " + shorten(first.Key), Want: "one entry for each", InForce: shorten(first.Key)})
			continue
		}
		f.concerns = r.concerns(scope, of, system)
		before := len(f.list)
		fields, refused := readFields(r.fields, tree, "", f, "model_id", "namespace")
		if len(refused) == 0 {
			parsed[scope] = policyEntry{of.Namespace, of.Name, key, scope, fields}
			continue
		}
		inForce := "what it inherits, in place of the whole entry"
		if old, ok := last[scope]; ok {
			inForce = keepEntry(parsed, bad, old)
		}
		f.hold(before, func(string) string { return inForce })
	}
	return parsed, bad
}

// keepEntry keeps the last good entry, unless its scope has one, and says what is in force.
func keepEntry(parsed policies, bad map[Scope]bool, old policyEntry) string {
	if _, taken := parsed[old.Scope]; !taken {
		parsed[old.Scope], bad[old.Scope] = old, true
	}
	return "the last good entry"
}

// policyScope reads which models an entry is for. Outside the system namespace they are always in
// the ConfigMap's own namespace, and the scope leaves it out.
func policyScope(key string, tree map[string]any, of Source, system bool, f *findings) (Scope, bool) {
	var scope Scope
	if !readNames(tree, "", f, name{"model_id", &scope.Model}, name{"namespace", &scope.Namespace}) {
		return Scope{}, false
	}
	if !system {
		if !ownNamespace(scope.Namespace, of, f) {
			return Scope{}, false
		}
		if key != defaultKey && scope.Namespace != "" && scope.Model == "" {
			f.add(Finding{Severity: Refused, Field: "model_id", Problem: "is missing", Want: "the ID of a model; what is for the whole namespace stands under the key default", InForce: "nothing of this entry"})
			return Scope{}, false
		}
		scope.Namespace = ""
	}
	switch {
	case key == defaultKey && scope != Scope{}:
		f.add(Finding{Severity: Doubtful, Problem: "is for every model: its model_id and namespace have no effect"})
		return Scope{}, true
	case key != defaultKey && scope == Scope{}:
		f.add(Finding{
			Severity: Refused, Field: "model_id", Problem: "is missing", Want: "the ID of a model, a namespace, or both",
			Nearest: spelling.Nearest(key, []string{defaultKey}), InForce: "nothing of this entry",
		})
		return Scope{}, false
	}
	return scope, true
}

// ownNamespace refuses an entry for a namespace other than that of its ConfigMap.
func ownNamespace(namespace string, of Source, f *findings) bool {
	if namespace == "" || namespace == of.Namespace {
		return true
	}
	f.add(Finding{
		Severity: Refused, Field: "namespace", Value: namespace, InForce: "nothing of this entry",
		Want: "the namespace of the ConfigMap, or none; what is for other namespaces stands in the system namespace",
	})
	return false
}

// resolve applies the entries for a model to p, layer by layer, the lowest first. It skips an entry
// that would make the settings contradict themselves, and returns it in passed.
func (r policyReader) resolve(p ModelSettings, s Scope, layers ...policies) (resolved ModelSettings, passed []policyEntry) {
	for _, entries := range layers {
		for _, e := range entries.chain(s) {
			next := r.over(p, e)
			if _, wrong := next.contradiction(); wrong {
				passed = append(passed, e)
				continue
			}
			p = next
		}
	}
	return p, passed
}

// over applies one entry to p.
func (r policyReader) over(p ModelSettings, e policyEntry) ModelSettings {
	applyFields(r.fields, &p, e.Fields)
	p.NamesSpare = p.NamesSpare || e.Fields.namesSpare()
	return p
}

// compare orders the general before the special, then by name.
func (s Scope) compare(o Scope) int {
	return cmp.Or(s.rank()-o.rank(), strings.Compare(s.Namespace, o.Namespace), strings.Compare(s.Model, o.Model))
}

// rank is higher for a more special scope.
func (s Scope) rank() int {
	rank := 0
	if s.Namespace != "" {
		rank++
	}
	if s.Model != "" {
		rank += 2
	}
	return rank
}
