package testbed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestADisturbedTargetIsTold(t *testing.T) {
	at := func(revision uint64, text string) Version {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text)) // whose whole numbers are those of the API server
		if err == nil {
			err = o.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		return Version{Revision: revision, Object: o}
	}
	first := func(v Version) Version { v.First = true; return v }
	gone := func(v Version) Version { v.Gone = true; return v }
	const (
		target    = "{kind: Deployment, metadata: {name: d}, spec: {replicas: 3}}"
		fewer     = "{kind: Deployment, metadata: {name: d}, spec: {replicas: 2}}"
		hpa       = "{kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {name: d}}}"
		elsewhere = "{kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {name: e}}}"
		other     = "{kind: HorizontalPodAutoscaler, metadata: {name: g}, spec: {scaleTargetRef: {name: d}}}"
		scaled    = "{kind: ScaledObject, metadata: {name: s}, spec: {scaleTargetRef: {name: d}}}"
		va        = "{kind: VariantAutoscaling, metadata: {name: v, uid: a}, spec: {scaleTargetRef: {name: d}}}"
		again     = "{kind: VariantAutoscaling, metadata: {name: v, uid: b}, spec: {scaleTargetRef: {name: d}}}"
		pod       = "{kind: Pod, metadata: {name: p, labels: {serves: m}}}"
		leaving   = "{kind: Pod, metadata: {name: p, labels: {serves: m}, deletionTimestamp: '2026-01-01T00:00:00Z'}}"
		manager   = "{kind: Pod, metadata: {name: q}}"
	)
	start := []Version{first(at(9, target)), first(at(2, hpa)), first(at(3, va)), first(at(4, pod))}
	tests := []struct {
		name string
		then []Version
		want []string
	}{
		{"nothing", nil, nil},
		{"what is there is written anew", []Version{at(10, target), at(11, hpa), at(12, va), at(13, pod)}, nil},
		{"the pod of a manager", []Version{at(10, manager), gone(at(11, manager))}, nil},
		{"two scalers", []Version{at(10, other)}, []string{"revision 10, HorizontalPodAutoscaler g: d is scaled by [HorizontalPodAutoscaler/g HorizontalPodAutoscaler/h], want one"}},
		{"an HPA and a ScaledObject", []Version{at(10, scaled)}, []string{"revision 10, ScaledObject s: d is scaled by [HorizontalPodAutoscaler/h ScaledObject/s], want one"}},
		{
			"a scaler that is replaced, in the wrong order of arrival",
			[]Version{at(11, other), gone(at(10, hpa))},
			[]string{"revision 10, HorizontalPodAutoscaler h: d is scaled by [], want one"},
		},
		{"a scaler that turns to another target", []Version{at(10, elsewhere)}, []string{"revision 10, HorizontalPodAutoscaler h: d is scaled by [], want one"}},
		{"a replica less", []Version{at(10, fewer)}, []string{"revision 10, Deployment d: it is to have 2 replicas, want 3"}},
		{"a pod that goes", []Version{at(10, leaving)}, []string{"revision 10, Pod p: a replica came or went"}},
		{"a variant that is made anew", []Version{at(10, again)}, []string{"revision 10, VariantAutoscaling v: it came or went"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Disturbances(InOrder(append(append([]Version{}, start...), tt.then...)), "d", "serves", 3)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if got := Disturbances(start[:1], "d", "serves", 3); len(got) != 1 || !strings.Contains(got[0], "scaled by []") {
		t.Errorf("a target without a scaler from the beginning: got %q", got)
	}
}
