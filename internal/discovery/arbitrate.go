package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// claim is the target of a VariantAutoscaling, without the API version: one object has several.
type claim struct{ namespace, kind, name string }

// arbitrate returns the objects that may scale their target, sorted by key, and for every object
// that shares its target the keys of all objects with that target, first the one that may scale it.
// Objects that are being deleted claim nothing.
func arbitrate(vas []v1alpha1.VariantAutoscaling) ([]*v1alpha1.VariantAutoscaling, map[scaling.VariantKey][]scaling.VariantKey) {
	byClaim := map[claim][]*v1alpha1.VariantAutoscaling{}
	for i := range vas {
		va := &vas[i]
		if va.DeletionTimestamp.IsZero() {
			ref := refOf(va)
			c := claim{va.Namespace, ref.Kind, ref.Name}
			byClaim[c] = append(byClaim[c], va)
		}
	}
	winners := make([]*v1alpha1.VariantAutoscaling, 0, len(byClaim))
	contenders := map[scaling.VariantKey][]scaling.VariantKey{}
	for _, rivals := range byClaim {
		slices.SortFunc(rivals, byAgeThenName)
		winners = append(winners, rivals[0])
		if len(rivals) == 1 {
			continue
		}
		keys := make([]scaling.VariantKey, len(rivals))
		for i, va := range rivals {
			keys[i] = keyOf(va)
		}
		for _, key := range keys {
			contenders[key] = keys
		}
	}
	slices.SortFunc(winners, func(a, b *v1alpha1.VariantAutoscaling) int { return keyOf(a).Compare(keyOf(b)) })
	return winners, contenders
}

// conflictsOf returns the targets of winners that other objects name too, in the order of winners.
func conflictsOf(winners []*v1alpha1.VariantAutoscaling, contenders map[scaling.VariantKey][]scaling.VariantKey) []scaling.Conflict {
	var conflicts []scaling.Conflict
	for _, va := range winners {
		if rivals := contenders[keyOf(va)]; len(rivals) > 1 {
			conflicts = append(conflicts, scaling.Conflict{Target: refOf(va), Contenders: rivals})
		}
	}
	return conflicts
}

func byAgeThenName(a, b *v1alpha1.VariantAutoscaling) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
