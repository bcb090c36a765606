package scaling

// Unpublished reports whether the decision on v is kept from scalers.
func (v Variant) Unpublished() bool { return v.Withheld || v.Advisory }

// Advisory reports whether decisions on the model are advice.
func (s Snapshot) Advisory() bool { return len(s.Variants) > 0 && s.Variants[0].Advisory }

// Advise marks every variant of an advisory model in the given slice: of all models if all is true,
// else of each model of which asks reports true for a variant. Their reductions need no approval.
//
// A model is decided on as a whole. Advice for one variant beside scaled ones would be for a fleet
// that does not exist, so one advisory variant makes its model advisory.
func Advise(variants []Variant, all bool, asks func(VariantKey) bool) {
	models := map[ModelKey]bool{}
	for _, v := range variants {
		if all || asks(v.Key) {
			models[v.Model] = true
		}
	}
	for i := range variants {
		if v := &variants[i]; models[v.Model] {
			v.Advisory, v.Approval.Required = true, false // there is no reduction to approve
		}
	}
}
