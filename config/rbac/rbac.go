// Package rbac holds the manager's ClusterRole for Go programs that install it.
// The YAML is generated from the markers in internal/controller by make
// generate.
package rbac

import _ "embed"

//go:embed role.yaml
var managerRole string

// ManagerRole returns the ClusterRole as one YAML document.
func ManagerRole() []byte { return []byte(managerRole) }
