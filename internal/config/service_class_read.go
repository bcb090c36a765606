package config

import (
	"fmt"
)

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

// readClasses returns the accepted classes of a ConfigMap. A class that cannot be read, and a
// refused row or field, stay as in last. A refused priority that has no last good value is 100.
func readClasses(of Source, system bool, last classes) (classes, []Finding) {
	f := newFindings(of)
	var sorted []class
	keep := func(key string) string {
		old, had := last.byKey(key)
		if !had {
			return "nothing of this class"
		}
		sorted = append(sorted, old)
		return "the last good class"
	}
	for key, tree := range f.mappings(system, "YAML with name, priority, data", keep) {
		old, _ := last.byKey(key)
		sorted = append(sorted, readClass(key, tree, of, system, old, f))
	}
	duplicates(sorted, of, system, f)
	return newClasses(sorted), f.all()
}

func readClass(key string, tree map[string]any, of Source, system bool, old class, f *findings) class {
	k := class{Key: key}
	before := len(f.list)
	fields, refused := readFields(classFields(), tree, "", f, "data")
	k.Fields = fields
	keepLast(fields, old.Fields, refused, f, before, "the default")
	list, ok := tree["data"].([]any)
	if !ok && tree["data"] != nil {
		inForce := "no rows"
		if len(old.Rows) > 0 {
			inForce = "the last good rows"
		}
		f.add(Finding{Severity: Refused, Field: "data", Value: show(tree["data"]), Want: "a list of rows with model, slo-tpot, slo-ttft", InForce: inForce})
		k.Rows = old.Rows
		return k
	}
	// In another namespace a class without rows may change the priority of the system's class.
	if _, named := k.Fields["priority"]; len(list) == 0 && (system || !named) {
		f.add(Finding{Severity: Refused, Field: "data", Problem: "is empty: the class is for no model", Want: "a list of rows with model, slo-tpot, slo-ttft"})
	}
	oldRows := map[Scope]classRow{}
	for _, row := range old.Rows {
		oldRows[row.Scope] = row
	}
	for i, item := range list {
		if row, ok := readRow(fmt.Sprintf("data[%d]", i), item, of, system, oldRows, f); ok {
			k.Rows = append(k.Rows, row)
		}
	}
	return k
}

func readRow(path string, item any, of Source, system bool, last map[Scope]classRow, f *findings) (classRow, bool) {
	tree, ok := item.(map[string]any)
	if !ok {
		f.add(Finding{Severity: Refused, Field: path, Value: show(item), Want: "a row with model, slo-tpot, slo-ttft", InForce: "nothing of it"})
		return classRow{}, false
	}
	var row classRow
	if !readNames(tree, path+".", f, name{"model", &row.Scope.Model}, name{"namespace", &row.Scope.Namespace}) {
		return classRow{}, false
	}
	if row.Scope.Model == "" {
		f.add(Finding{Severity: Refused, Field: path + ".model", Problem: "is missing", Want: "the ID of a model, or " + DefaultModel, InForce: "nothing of this row"})
		return classRow{}, false
	}
	if !system {
		if !ownNamespace(row.Scope.Namespace, of, f) {
			return classRow{}, false
		}
		row.Scope.Namespace = of.Namespace
	}
	outer := f.concerns
	defer func() { f.concerns = outer }()
	f.concerns = row.concerns()
	before := len(f.list)
	var refused []string
	row.Fields, refused = readFields(rowFields(), tree, path+".", f, "model", "namespace")
	if len(refused) == 0 && len(row.Fields) == 0 {
		f.add(Finding{Severity: Refused, Field: path, Problem: "has no objective", Want: "slo-tpot, slo-ttft or both", InForce: "nothing of this row"})
		return classRow{}, false
	}
	if len(refused) == 0 {
		return row, true
	}
	old, had := last[row.Scope]
	inForce := "nothing of this row"
	if had {
		inForce = "the last good row"
	}
	f.hold(before, func(string) string { return inForce })
	return old, had
}

// concerns returns the scope of the models that a row is for.
func (r classRow) concerns() Scope {
	if r.Scope.Model == DefaultModel {
		return Scope{Namespace: r.Scope.Namespace}
	}
	return r.Scope
}

// duplicates adds findings for rows and names that an earlier class already has.
func duplicates(sorted []class, of Source, system bool, f *findings) {
	rows, names := map[Scope]string{}, map[string]string{}
	for _, k := range sorted {
		f.key, f.concerns = k.Key, Scope{}
		if !system {
			f.concerns.Namespace = of.Namespace
		}
		if name, ok := k.Fields["name"].(string); ok {
			if first, taken := names[name]; taken {
				f.add(Finding{Severity: Doubtful, Field: "name", Value: name, Problem: "is also the name of the class of " + shorten(first)})
			} else {
				names[name] = k.Key
			}
		}
		for _, row := range k.Rows {
			if first, taken := rows[row.Scope]; taken {
				f.concerns = row.concerns()
				f.add(Finding{
					Severity: Refused, Field: "data", Value: row.Scope.Model, Problem: "has a row already" + inNamespace(row.Scope.Namespace),
					Want: "one row for each model", InForce: "that of " + shorten(first), Unnamed: true,
				})
				continue
			}
			rows[row.Scope] = k.Key
		}
	}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
