package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Objective holds the objectives of the requests of a model, and their source. The zero value is
// that of a model without a service class.
type Objective struct {
	Class string `json:"class"` // name of the service class
	Key   string `json:"key"`   // of the ConfigMap
	// Priority is 1 to 100, lower is more important.
	Priority int `json:"priority"`
	// ITL and TTFT are in ms, queueing included; 0 is no objective.
	ITL  float64 `json:"itl,omitempty"`
	TTFT float64 `json:"ttft,omitempty"`
	// Level says which row of the class applies.
	Level Level `json:"level"`
	// Unfollowed says why the given references did not lead here; "" if one did, or none was given.
	Unfollowed string `json:"unfollowed,omitempty"`
}

// Known reports whether there is an objective for ITL or TTFT.
func (o Objective) Known() bool { return o.ITL > 0 || o.TTFT > 0 }

// Level says how specifically a row of a service class names a model.
type Level string

// The levels, the most specific first. They are looked up in this order.
const (
	LevelNamespacedModel Level = "namespace and model"
	LevelModel           Level = "model"
	LevelNamespace       Level = "default of the namespace"
	LevelDefault         Level = "default"
)

// DefaultModel is the model ID of a row for models that have no row of their own.
const DefaultModel = "default/default"

// lowestPriority is the priority of a class that sets none.
const lowestPriority = 100

// ClassRef is a VariantAutoscaling's sloClassRef: a ConfigMap of
// KindServiceClasses and one of its keys. The zero value refers to none.
type ClassRef struct{ Name, Key string }

// classRow holds the objectives of one model in a class.
type classRow struct {
	Scope  Scope
	Fields values // slo-tpot, slo-ttft
}

// class is one accepted service class.
type class struct {
	Key    string
	Fields values // name, priority
	Rows   []classRow
}

// classes are the accepted classes of one ConfigMap, sorted by key. Where is the index of their
// rows: the first of each scope wins.
type classes struct {
	Classes []class
	Where   map[Scope]rowAt
}

// rowAt is the place of a row.
type rowAt struct{ Class, Row int }

// newClasses indexes classes that are sorted by key.
func newClasses(sorted []class) classes {
	c := classes{Classes: sorted, Where: map[Scope]rowAt{}}
	for i, k := range sorted {
		for j, row := range k.Rows {
			if _, taken := c.Where[row.Scope]; !taken {
				c.Where[row.Scope] = rowAt{i, j}
			}
		}
	}
	return c
}

func (c classes) byKey(key string) (class, bool) {
	i, ok := slices.BinarySearchFunc(c.Classes, key, func(k class, key string) int { return strings.Compare(k.Key, key) })
	if !ok {
		return class{}, false
	}
	return c.Classes[i], true
}

// lookedFor returns the scopes in which a model is looked up, in this order.
func lookedFor(m scaling.ModelKey) []struct {
	Level Level
	Scope Scope
} {
	return []struct {
		Level Level
		Scope Scope
	}{
		{LevelNamespacedModel, Scope{Namespace: m.Namespace, Model: m.ID}},
		{LevelModel, Scope{Model: m.ID}},
		{LevelNamespace, Scope{Namespace: m.Namespace, Model: DefaultModel}},
		{LevelDefault, Scope{Model: DefaultModel}},
	}
}

// found is a row, its class and the level at which it was found.
type found struct {
	class class
	row   classRow
	level Level
}

// find looks a model up in all classes.
func (c classes) find(m scaling.ModelKey) (found, bool) {
	for _, at := range lookedFor(m) {
		if where, ok := c.Where[at.Scope]; ok {
			k := c.Classes[where.Class]
			return found{k, k.Rows[where.Row], at.Level}, true
		}
	}
	return found{}, false
}

// findIn looks a model up in one class.
func (c classes) findIn(key string, m scaling.ModelKey) (found, bool) {
	k, _ := c.byKey(key)
	for _, at := range lookedFor(m) {
		for _, row := range k.Rows {
			if row.Scope == at.Scope {
				return found{k, row, at.Level}, true
			}
		}
	}
	return found{}, false
}

// NoClassError says that a model has no objectives.
type NoClassError struct{ Model scaling.ModelKey }

// Error is the published text.
func (e *NoClassError) Error() string {
	return fmt.Sprintf("model %q in namespace %q not found in any service class and default/default fallback not found", e.Model.ID, e.Model.Namespace)
}

// Objective returns the objectives of a model. The class that refs name wins: of several the most
// important, then the first. Otherwise (namespace, model), model, the namespace's default/default
// and default/default are looked up in this order, in the classes of the model's namespace before
// those of the system namespace, and in the order of their keys. The system namespace supplies what
// a class of the model's namespace does not set. Where namespaces are not trusted, the system
// namespace sets the priority. Its error is a *NoClassError.
func (s *Snapshot) Objective(m scaling.ModelKey, refs ...ClassRef) (Objective, error) {
	o, err := s.objective(m, refs)
	if err == nil && !s.trusts() {
		o.Priority = s.system.classes.granted(m, refs)
	}
	return o, err
}

// objective returns the objectives as if namespaces were trusted.
func (s *Snapshot) objective(m scaling.ModelKey, refs []ClassRef) (Objective, error) {
	layers := []classes{s.system.classes, s.local(m.Namespace).classes} // the last wins
	var best Objective
	unfollowed := ""
	for _, ref := range refs {
		if ref == (ClassRef{}) {
			continue
		}
		rows, why := s.follow(ref, m, layers)
		if why != "" {
			unfollowed = cmp.Or(unfollowed, why)
			continue
		}
		if o := objective(layers, rows); best.Priority == 0 || o.Priority < best.Priority {
			best = o
		}
	}
	if best.Priority > 0 {
		return best, nil
	}
	rows := find(layers, m)
	if len(rows) == 0 {
		return Objective{Unfollowed: unfollowed}, &NoClassError{m}
	}
	best = objective(layers, rows)
	best.Unfollowed = unfollowed
	return best, nil
}

// follow returns the rows of the class that a reference names, or why there are none.
func (s *Snapshot) follow(ref ClassRef, m scaling.ModelKey, layers []classes) (rows []found, why string) {
	if kind, ok := s.names.KindOf(ref.Name); !ok || kind != KindServiceClasses {
		return nil, fmt.Sprintf("sloClassRef names the ConfigMap %q, which is not read: want %s", shorten(ref.Name), oneOf(s.names[KindServiceClasses]))
	}
	there := false
	for _, c := range layers {
		if row, ok := c.findIn(ref.Key, m); ok {
			rows = append(rows, row)
		}
		_, ok := c.byKey(ref.Key)
		there = there || ok
	}
	switch {
	case len(rows) > 0:
		return rows, ""
	case there:
		return nil, fmt.Sprintf("sloClassRef names the key %q, which has no row for the model", shorten(ref.Key))
	}
	return nil, fmt.Sprintf("sloClassRef names the key %q, which holds no service class", shorten(ref.Key))
}

// find looks a model up in every layer.
func find(layers []classes, m scaling.ModelKey) []found {
	var rows []found
	for _, c := range layers {
		if row, ok := c.find(m); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// objective applies at least one row in order, the last wins. The class is that of the last row,
// with its fields from every layer.
func objective(layers []classes, rows []found) Objective {
	top := rows[len(rows)-1]
	o := Objective{Class: top.class.Key, Key: top.class.Key, Priority: lowestPriority, Level: top.level}
	for _, c := range layers {
		k, _ := c.byKey(top.class.Key)
		applyFields(classFields(), &o, k.Fields)
	}
	for _, row := range rows {
		applyFields(rowFields(), &o, row.row.Fields)
	}
	return o
}

// classFields are the fields of a service class beside its rows.
func classFields() []field[Objective] {
	return documented(KindServiceClasses, []field[Objective]{
		textField(Key{Name: "name", Meaning: "name of the class; the key of the ConfigMap if not said"}, func(o *Objective) *string { return &o.Class }),
		countField(Key{Name: "priority", Default: "100", Meaning: "priority, lower is more important"}, 1, lowestPriority, func(o *Objective) *int { return &o.Priority }),
	})
}

// mostLatency bounds objectives to an hour, in ms.
const mostLatency = 3_600_000

// rowFields are the objectives in a row of a service class.
func rowFields() []field[Objective] {
	slo := func(name, meaning string, at func(*Objective) *float64) field[Objective] {
		return numberField(Key{Name: name, Default: "0", Accepts: fmt.Sprintf("a number of ms from 0 to %d, 0 for no objective", mostLatency), Meaning: meaning}, 0, mostLatency, at)
	}
	return documented(KindServiceClasses, []field[Objective]{
		slo("slo-tpot", "objective for ITL [ms]", func(o *Objective) *float64 { return &o.ITL }),
		slo("slo-ttft", "objective for TTFT, queueing included [ms]", func(o *Objective) *float64 { return &o.TTFT }),
	})
}

// rowNames documents the fields that say which models a row is for.
func rowNames() []Key {
	return []Key{
		{In: KindServiceClasses, Name: "data", Type: "list", Accepts: "rows, each with model and one objective or both", Meaning: "objectives of the class by model", PerNamespace: true},
		{In: KindServiceClasses, Name: "model", Type: "text", Accepts: "the ID of a model, or default/default", Meaning: "model that a row of data is for", PerNamespace: true},
		{In: KindServiceClasses, Name: "namespace", Type: "text", Accepts: "a namespace", Meaning: "namespace that a row of data is for; every one if not said", PerNamespace: true},
	}
}

// documented sets the kind of fields that a namespace may override.
func documented[T any](kind Kind, fields []field[T]) []field[T] {
	for i := range fields {
		fields[i].In, fields[i].PerNamespace = kind, true
	}
	return fields
}
