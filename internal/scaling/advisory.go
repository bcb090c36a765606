package scaling

import "time"

// Unpublished reports whether no scaler may read the decision on v.
func (v Variant) Unpublished() bool { return v.Withheld || v.Advisory }

// Advisory reports whether decisions on the model are advice.
func (s Snapshot) Advisory() bool { return len(s.Variants) > 0 && s.Variants[0].Advisory }

// Advise marks the variants of the models that are asked for advice only: of every model where all
// is true, else of those of which a variant asks for ActuationAdvisory, which asks reports. Their
// reductions need no approval. It changes the given slice.
//
// A model is decided on as a whole, so that one advisory variant beside one that is scaled would
// get advice for a fleet that does not exist. So a model is advisory where one of its variants is.
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

// Advised returns p of a variant whose decisions are advice, with what another scaler last set in the
// place of the last decision: the next decision is computed from what runs, and the first one that
// is carried out begins there. What was measured and wanted stays; what was ordered, moved or called
// does not, because none of it was carried out.
func (p Past) Advised(seen ReplicaCounts, now time.Time) Past {
	p.MoveTo, p.MoveCost, p.Failures = 0, 0, Failures{}
	p.Called, p.Refused = time.Time{}, time.Time{}
	if !seen.Observed {
		return p
	}
	return p.Decide(seen.Current, now)
}
