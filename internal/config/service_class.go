package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Objective is what requests of a model should meet, and who says so. The zero
// value is that of a model that no service class holds.
type Objective struct {
	Class string `json:"class"` // name of the service class
	Key   string `json:"key"`   // of the ConfigMap
	// Priority is 1 to 100, lower is more important.
	Priority int `json:"priority"`
	// ITL and TTFT are in ms, queueing included; 0 is no objective.
	ITL  float64 `json:"itl,omitempty"`
	TTFT float64 `json:"ttft,omitempty"`
	// Level says which of a class's rows it is.
	Level Level `json:"level"`
	// Unfollowed says why no reference that was given led here; "" if one did, or
	// none was given.
	Unfollowed string `json:"unfollowed,omitempty"`
}

// Known reports whether there is something that requests should meet.
func (o Objective) Known() bool { return o.ITL > 0 || o.TTFT > 0 }

// Level says how specifically a row of a service class names a model.
type Level string

// The levels, in the order in which they are looked for.
const (
	LevelNamespacedModel Level = "namespace and model"
	LevelModel           Level = "model"
	LevelNamespace       Level = "default of the namespace"
	LevelDefault         Level = "default"
)

// DefaultModel is the model ID of a row that holds for models without one.
const DefaultModel = "default/default"

// lowestPriority is that of a class that names none.
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

// classes are the accepted classes of one ConfigMap, sorted by key. Where looks
// rows up: the first of each scope wins.
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

// lookedFor returns the scopes in which a model is looked for.
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

// found is a row, its class and how it was found.
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

// Objective returns what requests of a model should meet. The class that refs
// name wins, of several the most important, then the first; then (namespace,
// model), model, the namespace's default/default and default/default are looked
// for, in the classes of the model's namespace before those of the system
// namespace, and in the order of their keys. What a class of the model's namespace
// does not say is that of the system's. Where namespaces are not trusted the priority
// is the one that the system namespace gives them. Its error is a *NoClassError.
func (s *Snapshot) Objective(m scaling.ModelKey, refs ...ClassRef) (Objective, error) {
	o, err := s.objective(m, refs)
	if err == nil && !s.trusts() {
		o.Priority = s.system.classes.granted(m, refs)
	}
	return o, err
}

// objective is Objective where namespaces are trusted.
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

// follow returns the rows of the class that a reference names, or why it leads
// to none.
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

// objective puts rows over each other, the last on top; there is one at least. The
// class is that of the last, as every layer knows it.
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
