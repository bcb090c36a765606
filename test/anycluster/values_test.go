//go:build anycluster

package anycluster

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTheChartAcceptsTheValuesOfEveryCluster renders what other clusters than this one
// would get.
func TestTheChartAcceptsTheValuesOfEveryCluster(t *testing.T) {
	t.Parallel()
	openShift := filepath.Join(shared.helm.Chart, "ci", "openshift-values.yaml")
	for name, facts := range map[string]Facts{
		"kind":      {KindCluster: "kind", APIServerPorts: []int32{443, 6443}},
		"KEDA":      {ExternalMetrics: "keda/keda-metrics", APIServerPorts: []int32{443, 6443}},
		"OpenShift": {OpenShift: true, APIServerPorts: []int32{6443}},
	} {
		for _, image := range []string{"example.com/wva:dev", "example.com/wva@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"} {
			r := &Run{Options: Options{Image: image}, Facts: facts, Choice: Choice{Chosen: All()}, ID: shared.ID}
			for _, release := range []struct {
				values map[string]any
				flags  []string
			}{{r.values(), nil}, {r.openShiftValues(), []string{"--values", openShift}}} {
				data, err := yaml.Marshal(release.values)
				if err != nil {
					t.Fatal(err)
				}
				args := append([]string{"template", "r", shared.helm.Chart}, append(release.flags, "--values", "-")...)
				if err := shared.helm.run(t.Context(), data, args...); err != nil {
					t.Errorf("%s, %s: %v\n%s", name, image, err, data)
				}
			}
		}
	}
}
