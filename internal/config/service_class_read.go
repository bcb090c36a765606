package config

import (
	"fmt"
)

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
