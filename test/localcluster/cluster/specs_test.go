package cluster

import (
	"slices"
	"testing"
)

func TestFeatureGatesAreThoseOfThePartsOfKubernetes(t *testing.T) {
	const flag = "--feature-gates=HPAScaleToZero=true"
	parts := []string{apiServer, controllerManager, scheduler}
	for _, gates := range []string{"", "HPAScaleToZero=true"} {
		for _, s := range specs(layout{}, &State{Network: chooseNetwork()}, settings{featureGates: gates}) {
			want := gates != "" && slices.Contains(parts, s.name)
			if got := slices.Contains(s.args, flag); got != want {
				t.Errorf("with gates %q, %s has the flag %s: %t, want %t", gates, s.name, flag, got, want)
			}
		}
	}
}
