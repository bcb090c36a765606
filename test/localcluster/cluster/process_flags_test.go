package cluster

import (
	"slices"
	"testing"
)

func TestFeatureGatesAreThoseOfThePartsOfKubernetes(t *testing.T) {
	const flag = "--feature-gates=HPAScaleToZero=true"
	for _, gates := range []string{"", "HPAScaleToZero=true"} {
		for _, s := range specs(layout{}, &State{Network: chooseNetwork()}, settings{featureGates: gates}) {
			want := gates != "" && slices.Contains(kubernetesParts, s.name)
			if got := slices.Contains(s.args, flag); got != want {
				t.Errorf("with gates %q, %s has the flag %s: %t, want %t", gates, s.name, flag, got, want)
			}
		}
	}
}

func TestAnotherReleaseIsTheControlPlaneAlone(t *testing.T) {
	own, other := UpOptions{Executable: "/own"}, UpOptions{Executable: "/own", Kubernetes: "/other"}
	for _, s := range specs(layout{}, &State{Network: chooseNetwork()}, settings{}) {
		want := "/own"
		if s.name == apiServer || s.name == controllerManager || s.name == scheduler {
			want = "/other"
		}
		if got := other.program(s.name); got != want {
			t.Errorf("with another release, %s is run from %s, want %s", s.name, got, want)
		}
		if got := own.program(s.name); got != "/own" {
			t.Errorf("without one, %s is run from %s, want /own", s.name, got)
		}
	}
}
