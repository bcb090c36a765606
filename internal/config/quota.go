package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Unlimited is a quota without a limit.
const Unlimited = -1

// quotaKey is the only key of KindQuota.
const quotaKey = "quotas"

// quotas is the accepted content of a ConfigMap of KindQuota. Its zero value
// limits nothing.
type quotas struct {
	Namespaces map[string]map[string]int
	Default    map[string]int // nil: unlimited
	Exclude    map[string]bool
}

// of returns the accelerators of a type that a namespace may use.
func (q quotas) of(namespace, accelerator string) int {
	if q.Exclude[namespace] {
		return Unlimited
	}
	if listed, ok := q.Namespaces[namespace]; ok {
		return listed[accelerator] // a type that is not there is 0
	}
	if n, ok := q.Default[accelerator]; ok {
		return n
	}
	return Unlimited
}

// Quotas returns the accelerators that namespaces may use, sorted by namespace and accelerator: the
// listed quotas, and the default for every other namespace of the variants. Unlimited ones are left
// out.
func (s *Snapshot) Quotas(variants []scaling.Variant) []scaling.Quota {
	type holder struct{ namespace, accelerator string }
	pairs := map[holder]bool{}
	for namespace, counts := range s.system.quotas.Namespaces {
		for accelerator := range counts {
			pairs[holder{namespace, accelerator}] = true
		}
	}
	for _, v := range variants {
		pairs[holder{v.Key.Namespace, v.Accelerator}] = true
	}
	var out []scaling.Quota
	for h := range pairs {
		if n := s.Quota(h.namespace, h.accelerator); n != Unlimited {
			out = append(out, scaling.Quota{Namespace: h.namespace, Accelerator: h.accelerator, GPUs: scaling.Accelerators(n)})
		}
	}
	slices.SortFunc(out, func(a, b scaling.Quota) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Accelerator, b.Accelerator))
	})
	return out
}

// readQuotas returns the accepted content. The list of a namespace, the default and the exclusions
// are each accepted as a whole; a refused one is that of last.
func readQuotas(of Source, last quotas) (quotas, []Finding) {
	f := newFindings(of)
	for _, key := range slices.Sorted(maps.Keys(of.Data)) {
		if key != quotaKey {
			f.unknown("", key, []string{quotaKey})
		}
	}
	content, ok := of.Data[quotaKey]
	if !ok {
		return quotas{}, f.all()
	}
	f.key = quotaKey
	tree, err := decodeMapping(content)
	if err != nil {
		f.add(Finding{Severity: Refused, Problem: "is not read: " + err.Error(), Want: "YAML with namespaceQuotas, default, exclude", InForce: "the last good quotas, or none"})
		return last, f.all()
	}
	names := []string{"namespaceQuotas", "default", "exclude"}
	out := quotas{Namespaces: map[string]map[string]int{}, Exclude: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		raw := tree[name]
		switch {
		case !slices.Contains(names, name):
			f.unknown(name, name, names)
		case raw == nil:
		case name == "namespaceQuotas":
			readNamespaceQuotas(raw, out, last, f)
		case name == "default":
			counts, ok := readCounts(raw, "default", "the last good default, or none", f)
			if !ok {
				counts = last.Default
			}
			out.Default = counts
		case name == "exclude":
			out.Exclude = readExclude(raw, last, f)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(out.Exclude)) {
		if _, both := out.Namespaces[namespace]; both {
			f.add(Finding{Severity: Doubtful, Field: "namespaceQuotas." + namespace, Problem: "has no effect: the namespace is excluded", Concerns: Scope{Namespace: namespace}})
		}
	}
	return out, f.all()
}

func readNamespaceQuotas(raw any, out, last quotas, f *findings) {
	listed, ok := raw.(map[string]any)
	if !ok {
		f.add(Finding{Severity: Refused, Field: "namespaceQuotas", Value: show(raw), Want: "a mapping from namespaces to types and counts", InForce: "the last good lists, or none"})
		maps.Copy(out.Namespaces, last.Namespaces)
		return
	}
	for _, namespace := range slices.Sorted(maps.Keys(listed)) {
		f.concerns = Scope{Namespace: namespace}
		counts, ok := readCounts(listed[namespace], "namespaceQuotas."+namespace, "the last good list, or the default", f)
		if old, had := last.Namespaces[namespace]; !ok && had {
			counts, ok = old, true
		}
		if ok {
			out.Namespaces[namespace] = counts
		}
	}
	f.concerns = Scope{}
}

// readCounts reads a mapping from accelerator types to counts.
func readCounts(raw any, path, inForce string, f *findings) (map[string]int, bool) {
	const want = "a whole number from 0 to 1000000, or -1 for unlimited"
	types, ok := raw.(map[string]any)
	if !ok && raw != nil {
		f.add(Finding{Severity: Refused, Field: path, Value: show(raw), Want: "a mapping from accelerator types to counts", InForce: inForce})
		return nil, false
	}
	out, good := map[string]int{}, true
	for _, name := range slices.Sorted(maps.Keys(types)) {
		n, ok := whole(types[name])
		if !ok || n < Unlimited || n > 1_000_000 {
			f.add(Finding{Severity: Refused, Field: path + "." + name, Value: show(types[name]), Want: want, InForce: inForce})
			good = false
			continue
		}
		out[name] = n
	}
	return out, good
}

func readExclude(raw any, last quotas, f *findings) map[string]bool {
	list, ok := raw.([]any)
	out := map[string]bool{}
	for _, item := range list {
		name, isText := text(item)
		out[name] = true
		ok = ok && isText && name != ""
	}
	if !ok {
		f.add(Finding{Severity: Refused, Field: "exclude", Value: show(raw), Want: "a list of namespaces", InForce: "the last good list, or none"})
		return last.Exclude
	}
	return out
}

// quotaKeys documents KindQuota.
func quotaKeys() []Key {
	const counts = "accelerator types, each with a whole number from 0 to 1000000, or -1 for unlimited"
	return []Key{
		{In: KindQuota, Name: "namespaceQuotas", Type: "mapping", Accepts: "namespaces, each with " + counts, Meaning: "accelerators that a namespace may use; a type that is not listed is 0"},
		{In: KindQuota, Name: "default", Type: "mapping", Accepts: counts, Meaning: "accelerators that each other namespace may use for itself; a type that is not listed is unlimited"},
		{In: KindQuota, Name: "exclude", Type: "list", Accepts: "namespaces", Meaning: "namespaces without a limit"},
	}
}
