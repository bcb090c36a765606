// Package rbac holds the manager's roles for Go programs that install them. The
// YAML is generated from the markers in internal/controller by make generate.
package rbac

import (
	_ "embed"
	"fmt"
	"regexp"
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

// ManagerRole is the ClusterRole of the manager, which reads scales.
const ManagerRole = "workload-variant-autoscaler-manager-role"

// targetGroupsValue is the value of the chart that adds API groups to TargetGroups.
const targetGroupsValue = "rbac.targetGroups"

// TargetGroups returns the API groups whose kinds may be scale targets with the roles as
// they are shipped.
func TargetGroups() []string { return []string{"apps", "leaderworkerset.x-k8s.io"} }

// unauthorized is how the API server words what its roles do not allow. An admission
// plugin that forbids something words it otherwise.
var unauthorized = regexp.MustCompile(`cannot (\w+) resource "([^"]+)" in API group "([^"]*)"`)

// Right is one right that the API server found missing.
type Right struct {
	Verb     string
	Resource string // with its subresource, as in deployments/scale
	Group    string // the API group, "" for the core group
}

// Missing returns the right that an error of the API server says is missing. ok is false
// for any other error.
func Missing(err error) (right Right, ok bool) {
	parts := unauthorized.FindStringSubmatch(err.Error())
	if parts == nil {
		return Right{}, false
	}
	return Right{Verb: parts[1], Resource: parts[2], Group: parts[3]}, true
}

// Grant says that the manager lacks a right on a scale subresource, and what gives it.
// role is the ClusterRole that holds it for TargetGroups.
func (r Right) Grant(role string) string {
	lacks := fmt.Sprintf("the manager may not %s %s of API group %q. ", r.Verb, r.Resource, r.Group)
	if slices.Contains(TargetGroups(), r.Group) {
		return lacks + fmt.Sprintf("Bind the ClusterRole %s to its account", role)
	}
	return lacks + fmt.Sprintf("Add the group to %s of the chart, or bind a ClusterRole that allows %s of */scale in that group to its account", targetGroupsValue, r.Verb)
}

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
