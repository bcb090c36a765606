package config

import "slices"

// Catalogue returns every key of every ConfigMap, in the order of Kinds. The
// parsers work from the same tables.
func Catalogue() []Key {
	scope := func(in Kind, model string) []Key {
		return []Key{
			{In: in, Name: model, Type: "text", Accepts: "the ID of a model", Meaning: "model that an entry is for", PerNamespace: true},
			{In: in, Name: "namespace", Type: "text", Accepts: "a namespace", Meaning: "namespace that an entry is for; every one if not said", PerNamespace: true},
		}
	}
	return slices.Concat(
		keys(settingFields()),
		keys(classFields()), rowNames(), keys(rowFields()),
		keys(unitCostFields()),
		scope(KindScaleToZero, "modelID"), keys(zeroFields()),
		scope(KindSaturation, "model_id"), keys(policyFields()),
		quotaKeys(),
		scheduleKeys(),
	)
}

// keys returns the documentation of each field.
func keys[T any](fields []field[T]) []Key {
	out := make([]Key, len(fields))
	for i, f := range fields {
		out[i] = f.Key
	}
	return out
}
