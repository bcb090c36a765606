package discovery

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// prefillOnly are llm-d's roles of pods that end no request: what is measured of them is not what
// a replica of its own serves (llm-d-router, bylabel/roles.go).
var prefillOnly = []scaling.Role{scaling.RolePrefill, "encode", "encode-prefill"}

// The labels of pods that serve together: the service of KServe, the model of llm-d.
var together = []string{"app.kubernetes.io/name", "llm-d.ai/model"}

// separateRoles marks every variant of a model of which some serve a part of each request only.
// What their readings say together is not decided on yet. targets are those of the variants.
func separateRoles(variants []scaling.Variant, targets []target, in map[string]workloads) {
	parts := map[scaling.ModelKey]string{}
	for i, v := range variants {
		switch {
		case slices.Contains(prefillOnly, v.Role):
			parts[v.Model] = fmt.Sprintf("variant %s has the role %s", v.Key.Name, v.Role)
		case v.Role == scaling.RoleDecode && parts[v.Model] == "":
			if of := in[v.Key.Namespace].prefillOf(targets[i].labels); of != "" {
				parts[v.Model] = fmt.Sprintf("variant %s has the role %s, %s", v.Key.Name, v.Role, of)
			}
		}
	}
	for i := range variants {
		v := &variants[i]
		part, split := parts[v.Model]
		if !split || v.Undecidable != "" {
			continue
		}
		v.Undecidable = fmt.Sprintf("model %s is served in parts (%s), which are not decided on: each variant of it stays at what runs", v.Model.ID, part)
		v.Paused = true
	}
}

// prefillOf names the workload that begins the requests which pods with some labels end, "" for none.
func (w workloads) prefillOf(decode map[string]string) string {
	var names []string
	for name, of := range w.known {
		if role := scaling.Role(of.labels[v1alpha1.RoleKey]); slices.Contains(prefillOnly, role) && servesWith(of.labels, decode) {
			names = append(names, fmt.Sprintf("%s %s the role %s", name.kind, name.name, role))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// servesWith reports whether labels of pods say that they serve together. Where they say nothing
// of it, they do.
func servesWith(a, b map[string]string) bool {
	for _, key := range together {
		if a[key] != "" && b[key] != "" {
			return a[key] == b[key]
		}
	}
	return true
}
