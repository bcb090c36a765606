// Package rbac holds the manager's roles for Go programs that install them. The
// YAML is generated from the markers in internal/controller by make generate.
package rbac

import _ "embed"

//go:embed role.yaml
var managerRoles string

// ManagerRoles returns, as YAML documents in this order, the ClusterRole of the
// manager, the ClusterRole that reads nodes, which only limited mode needs, and
// the Role for the leases of the manager's own namespace.
func ManagerRoles() []byte { return []byte(managerRoles) }
