package memory

import (
	"maps"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Inherit returns the history in which each variant of the fleet without a past gets the past of a
// variant that had the same target and model and has left the fleet: another object may make the
// target a variant while its pods stay. It does not modify h.
func (h History) Inherit(fleet scaling.Fleet) History {
	type place struct {
		namespace, kind, name string
		model                 scaling.ModelKey
	}
	in := make(map[scaling.VariantKey]bool, len(fleet.Variants))
	fresh := map[place]scaling.VariantKey{}
	for _, v := range fleet.Variants {
		in[v.Key] = true
		if _, known := h[v.Key]; !known {
			fresh[place{v.Key.Namespace, v.Target.Kind, v.Target.Name, v.Model}] = v.Key
		}
	}
	if len(fresh) == 0 {
		return h
	}
	out := maps.Clone(h)
	for key, past := range h {
		to, ok := fresh[place{key.Namespace, past.Target.Kind, past.Target.Name, past.Model}]
		if !ok || in[key] {
			continue
		}
		if other, taken := out[to]; taken && !past.DecidedAt.After(other.DecidedAt) {
			continue // of several that left, the one with the latest decision counts
		}
		out[to] = past
	}
	return out
}
