package rbac_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
)

func TestRolesAreApartFromThoseThatChangeWorkloads(t *testing.T) {
	const prefix = "workload-variant-autoscaler-"
	tests := map[string]struct {
		documents []byte
		want      []string
	}{
		"of the manager": {
			rbac.ManagerRoles(),
			[]string{"ClusterRole " + prefix + "manager-role", "ClusterRole " + prefix + "node-reader-role", "Role " + prefix + "manager-role"},
		},
		"for actuation": {rbac.ActuationRoles(), []string{"ClusterRole " + rbac.PodMarkerRole, "ClusterRole " + rbac.ScalerRole}},
	}
	role := regexp.MustCompile(`(?m)^---\napiVersion: rbac.authorization.k8s.io/v1\nkind: (\w+)\nmetadata:\n  name: (\S+)$`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, found := range role.FindAllSubmatch(tt.documents, -1) {
				got = append(got, string(found[1])+" "+string(found[2]))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("roles (-want +got):\n%s", diff)
			}
		})
	}
}
