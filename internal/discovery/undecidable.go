package discovery

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// followedBy completes a variant by what its scalers say. One that is itself a scaler and does
// not read its decision cannot be decided on: nothing that is decided arrives.
func followedBy(v *scaling.Variant, by scaling.Scalers) {
	v.ReadAs = by.ReadAs
	if v.Origin != "" && v.Undecidable == "" {
		for _, s := range by.List {
			if s.Kind == v.Origin && s.Name == v.Key.Name && s.Misread != "" {
				v.Undecidable = fmt.Sprintf("%s %s has the annotation llm-d.ai/managed and does not read its decision: %s", s.Kind, s.Name, s.Misread)
			}
		}
	}
	v.Paused = v.Paused || v.Undecidable != ""
}

// prefillOnly are llm-d's roles of pods that end no request: what is measured of them is not what
// a replica of its own serves (llm-d-router, bylabel/roles.go).
var prefillOnly = []string{"prefill", "encode", "encode-prefill"}

// separateRoles marks every variant of a model of which some serve a part of each request only.
// What their readings say together is not decided on yet.
func separateRoles(variants []scaling.Variant) {
	parts := map[scaling.ModelKey]scaling.Variant{}
	for _, v := range variants {
		if slices.Contains(prefillOnly, v.Role) {
			parts[v.Model] = v
		}
	}
	for i := range variants {
		v := &variants[i]
		part, split := parts[v.Model]
		if !split || v.Undecidable != "" {
			continue
		}
		v.Undecidable = fmt.Sprintf("model %s is served in parts (%s has the role %s), which are not decided on: each variant of it stays at what runs",
			v.Model.ID, part.Key.Name, part.Role)
		v.Paused = true
	}
}
