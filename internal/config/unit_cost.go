package config

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// UnitCost is the cost of one accelerator of a type.
type UnitCost struct {
	// Accelerator is the type, the key of the ConfigMap.
	Accelerator string
	// Device is the product name on nodes, "" if not set.
	Device string
	// Cost is in cost units per accelerator and hour, >= 0.
	Cost float64
}

// unitCosts are the accepted entries of one ConfigMap by accelerator type. A
// field that an entry does not name is not in its values.
type unitCosts map[string]values

const mostCost = 1e9 // cost units per hour; more is a typing error

// unitCostFields are the fields of an entry of KindUnitCosts.
func unitCostFields() []field[UnitCost] {
	fields := []field[UnitCost]{
		textField(Key{Name: "device", Accepts: "the product name on nodes", Meaning: "product name of the accelerator on nodes"}, func(u *UnitCost) *string { return &u.Device }),
		newField(Key{
			Name: "cost", Type: "number", Accepts: `a decimal number from 0 to 1000000000, in quotes: "40.00"`,
			Meaning: "cost of one accelerator [units per hour]",
		}, cost, func(u *UnitCost) *float64 { return &u.Cost }),
	}
	for i := range fields {
		fields[i].In, fields[i].PerNamespace = KindUnitCosts, true
	}
	return fields
}

// decimalCost is the form of a cost in every published version.
var decimalCost = regexp.MustCompile(`^\d+(\.\d+)?$`)

// cost reads a cost that is text or a number.
func cost(raw any) (float64, bool) {
	s, ok := text(raw)
	if n, isNumber := raw.(json.Number); isNumber {
		s, ok = n.String(), true
	}
	if !ok || !decimalCost.MatchString(s) {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && x <= mostCost
}

// readUnitCosts returns the accepted entries of a ConfigMap; an entry of last replaces a refused
// one.
func readUnitCosts(of Source, system bool, base, last unitCosts) (unitCosts, []Finding) {
	f := newFindings(of)
	if !system {
		f.concerns.Namespace = of.Namespace
	}
	out := unitCosts{}
	for _, key := range slices.Sorted(maps.Keys(of.Data)) {
		f.key, f.concerns.Accelerator = key, key
		keep := "no unit cost"
		if _, ok := base[key]; ok {
			keep = "that of the system namespace"
		}
		old, hasOld := last[key]
		if hasOld {
			keep = "the last good entry"
		}
		tree, err := decodeMapping(of.Data[key])
		if err != nil {
			f.add(Finding{Severity: Refused, Problem: "is not read: " + err.Error(), Want: `JSON such as {"device": "NVIDIA-L40S", "cost": "32.00"}`, InForce: keep})
			if hasOld {
				out[key] = old
			}
			continue
		}
		before := len(f.list)
		fields, wrong := readFields(unitCostFields(), tree, "", f)
		refused := len(wrong) > 0
		_, inherited := base[key]["cost"]
		if _, named := fields["cost"]; !named && !inherited && !refused {
			f.add(Finding{Severity: Refused, Field: "cost", Problem: "is missing", Want: "a decimal number"})
			refused = true
		}
		if !refused {
			out[key] = fields
			continue
		}
		if hasOld {
			out[key] = old
		}
		f.hold(before, func(string) string { return keep })
	}
	return out, f.all()
}

// unitCostOf returns the unit cost of an accelerator, looked up by its type or else by its device.
// Each field is that of the last layer that has it.
func unitCostOf(accelerator string, layers ...unitCosts) (UnitCost, bool) {
	types := map[string]bool{}
	for _, layer := range layers {
		for name := range layer {
			types[name] = true
		}
	}
	merged := func(name string) UnitCost {
		u := UnitCost{Accelerator: name}
		for _, layer := range layers {
			applyFields(unitCostFields(), &u, layer[name])
		}
		return u
	}
	if types[accelerator] {
		return merged(accelerator), true
	}
	if accelerator == "" {
		return UnitCost{}, false
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if u := merged(name); u.Device == accelerator {
			return u, true
		}
	}
	return UnitCost{}, false
}
