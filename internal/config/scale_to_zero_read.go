package config

import (
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// zeroEntry is one accepted entry of KindScaleToZero.
type zeroEntry struct {
	Namespace, ConfigMap, Key string
	Fields                    values // enabled, retention
}

// zeros are the entries of one ConfigMap by their scope. The empty scope is that of the defaults.
type zeros map[Scope]zeroEntry

// zeroDefaultsKey is the key of the defaults in one published format. In the other it is
// defaultKey.
const zeroDefaultsKey = "__defaults__"

// The range of the retention period. More than a day is accepted with a finding.
const (
	defaultRetention = 10 * time.Minute
	longRetention    = 24 * time.Hour
	longestRetention = 365 * 24 * time.Hour
)

// zeroFields are the fields of an entry of KindScaleToZero.
func zeroFields() []field[ScaleToZero] {
	fields := []field[ScaleToZero]{
		truthField(Key{Name: "enableScaleToZero", Default: "WVA_SCALE_TO_ZERO", Meaning: "whether the model may be scaled to zero (also: enable_scale_to_zero)"},
			func(z *ScaleToZero) *bool { return &z.Enabled }),
		durationField(Key{
			Name: "retentionPeriod", Default: spelling.Duration(defaultRetention), Accepts: "a duration above 0, up to 8760h",
			Meaning: "how long it is kept without a request (also: retention_period)",
		}, time.Nanosecond, longestRetention, func(z *ScaleToZero) *time.Duration { return &z.Retention }),
	}
	for i := range fields {
		fields[i].In, fields[i].PerNamespace = KindScaleToZero, true
	}
	return fields
}

// zeroSpellings maps the second published spelling of a field to the first.
func zeroSpellings() map[string]string {
	return map[string]string{"model_id": "modelID", "enable_scale_to_zero": "enableScaleToZero", "retention_period": "retentionPeriod"}
}

// readZeros returns the accepted entries of a ConfigMap. A refused field keeps its last good value;
// without one, the next layer applies.
func readZeros(of Source, system bool, last zeros) (zeros, []Finding) {
	f := newFindings(of)
	out := zeros{}
	byKey := map[string]Scope{}
	for scope, e := range last {
		byKey[e.Key] = scope
	}
	keep := func(key string) string {
		scope, ok := byKey[key]
		if _, taken := out[scope]; !ok || taken {
			return "what holds without it"
		}
		out[scope] = last[scope]
		return "the last good entry"
	}
	for key, tree := range f.mappings(system, "YAML fields", keep) {
		tree = spelledOnce(tree, f)
		scope, ok := zeroScope(key, tree, of, system, f)
		if !ok {
			continue
		}
		if first, taken := out[scope]; taken {
			f.add(Finding{Severity: Refused, Problem: "is for the same models as " + shorten(first.Key), Want: "one entry for each", InForce: shorten(first.Key)})
			continue
		}
		f.concerns.Model = scope.Model
		if system {
			f.concerns.Namespace = scope.Namespace
		}
		out[scope] = zeroEntry{Namespace: of.Namespace, ConfigMap: of.Name, Key: key, Fields: readZeroFields(tree, last[scope].Fields, f)}
	}
	return out, f.all()
}

func readZeroFields(tree map[string]any, last values, f *findings) values {
	before := len(f.list)
	fields, refused := readFields(zeroFields(), tree, "", f, "modelID", "namespace")
	keepLast(fields, last, refused, f, before, "what holds without it")
	if d, ok := fields["retentionPeriod"].(time.Duration); ok && d > longRetention {
		f.add(Finding{Severity: Doubtful, Field: "retentionPeriod", Value: spelling.Duration(d), Problem: "is longer than 24h: replicas without a request are paid for that long"})
	}
	return fields
}

// spelledOnce renames every field to its first spelling.
func spelledOnce(tree map[string]any, f *findings) map[string]any {
	tree = maps.Clone(tree)
	spellings := zeroSpellings()
	for _, second := range slices.Sorted(maps.Keys(spellings)) {
		raw, ok := tree[second]
		if !ok {
			continue
		}
		delete(tree, second)
		first := spellings[second]
		if _, both := tree[first]; both {
			f.add(Finding{Severity: Refused, Field: second, Problem: "is said twice", Want: "either " + first + " or " + second, InForce: first})
			continue
		}
		tree[first] = raw
	}
	return tree
}

// zeroScope reads which models an entry is for.
func zeroScope(key string, tree map[string]any, of Source, system bool, f *findings) (Scope, bool) {
	var scope Scope
	if !readNames(tree, "", f, name{"modelID", &scope.Model}, name{"namespace", &scope.Namespace}) {
		return Scope{}, false
	}
	if key == zeroDefaultsKey || key == defaultKey {
		if scope != (Scope{}) {
			f.add(Finding{Severity: Doubtful, Problem: "is for every model: its modelID and namespace have no effect"})
		}
		return Scope{}, true
	}
	if !system {
		if !ownNamespace(scope.Namespace, of, f) {
			return Scope{}, false
		}
		scope.Namespace = ""
	}
	if scope.Model == "" {
		found := Finding{Severity: Refused, Field: "modelID", Problem: "is missing", Want: "the ID of a model", InForce: "nothing of this entry"}
		found.Nearest = spelling.Nearest(key, []string{zeroDefaultsKey, defaultKey})
		f.add(found)
		return Scope{}, false
	}
	return scope, true
}

// resolve returns to with the entries for a model applied, the defaults first.
func (z zeros) resolve(to ScaleToZero, m Scope) ScaleToZero {
	fields := zeroFields()
	for _, scope := range []Scope{{}, {Model: m.Model}, {Namespace: m.Namespace, Model: m.Model}} {
		applyFields(fields, &to, z[scope].Fields)
	}
	return to
}
