// Package rbac holds the manager's roles for Go programs that install them. The
// YAML is generated from the markers in internal/controller by make generate.
package rbac

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed role.yaml
var roles string

// The ClusterRoles for objects with the annotation wva.llmd.ai/actuation.
const (
	// ScalerRole sets replicas by the scale subresource.
	ScalerRole = "workload-variant-autoscaler-scaler-role"
	// PodMarkerRole marks the pods that should go first when replicas are removed.
	PodMarkerRole = "workload-variant-autoscaler-pod-marker-role"
)

// ManagerRoles returns, as YAML documents in this order, the ClusterRole of the
// manager, the ClusterRole that reads nodes, which only limited mode needs, and
// the Role for the manager's own namespace: its lease, and what it has learned.
func ManagerRoles() []byte {
	return join(slices.DeleteFunc(documents(), actuates))
}

// ActuationRoles returns, as YAML documents, PodMarkerRole and ScalerRole. The
// manager has neither by itself.
func ActuationRoles() []byte {
	return join(slices.DeleteFunc(documents(), func(d string) bool { return !actuates(d) }))
}

// actuates reports whether a document is one of ActuationRoles.
func actuates(document string) bool {
	return strings.Contains(document, "name: "+ScalerRole+"\n") || strings.Contains(document, "name: "+PodMarkerRole+"\n")
}

const separator = "---\n"

func documents() []string { return strings.Split(strings.TrimPrefix(roles, separator), "\n"+separator) }

func join(documents []string) []byte {
	out := make([]string, len(documents))
	for i, d := range documents {
		out[i] = separator + strings.TrimSuffix(d, "\n") + "\n"
	}
	return []byte(strings.Join(out, ""))
}
