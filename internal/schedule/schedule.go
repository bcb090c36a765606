package schedule

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Schedule is a list of windows.
type Schedule []Rule

// Active holds the windows in force at an instant, by the namespace that they are for, "" for all.
type Active map[string][]active

type active struct {
	rule  Rule
	until time.Time // zero for never
}

// At returns the windows in force at now.
func (s Schedule) At(now time.Time) Active {
	out := Active{}
	for _, r := range s {
		if until, in := r.In(now); in {
			out[r.Namespace] = append(out[r.Namespace], active{r, until})
		}
	}
	return out
}

// Of returns the strictest freeze in force for a variant; among equally strict ones, the one that
// ends last. The order of the windows does not matter.
func (a Active) Of(v scaling.Variant) scaling.Freeze {
	var out scaling.Freeze
	for _, namespace := range []string{"", v.Key.Namespace} {
		for _, w := range a[namespace] {
			f := scaling.Freeze{Allow: w.rule.Allow, Window: w.rule.Name, Until: w.until}
			if w.rule.covers(v) && stricter(f, out) {
				out = f
			}
		}
	}
	return out
}

// Freeze returns the variants with the freeze in force for each. It does not modify its argument.
func (a Active) Freeze(variants []scaling.Variant) []scaling.Variant {
	if len(a) == 0 {
		return variants
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		v.Freeze = a.Of(v)
		out[i] = v
	}
	return out
}

func (r Rule) covers(v scaling.Variant) bool {
	return (r.Namespace == "" || r.Namespace == v.Key.Namespace) && (r.Model == "" || r.Model == v.Model.ID) &&
		(r.Variant == "" || r.Variant == v.Key.Name)
}

// stricter reports whether a overrides b: it allows less; or as much, but for longer; or for as
// long, with the name that sorts first.
func stricter(a, b scaling.Freeze) bool {
	switch {
	case a.Allow != b.Allow:
		return a.Allow == scaling.AllowNone || b.Allow == ""
	case a.Until.IsZero() != b.Until.IsZero():
		return a.Until.IsZero()
	case !a.Until.Equal(b.Until):
		return a.Until.After(b.Until)
	}
	return a.Window < b.Window
}
