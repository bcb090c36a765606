package main

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// oneObject is a reader of one VariantAutoscaling, serving/v.
type oneObject struct {
	client.Reader // what is not needed here panics
	conditions    []metav1.Condition
}

func (o oneObject) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if key != (client.ObjectKey{Namespace: "serving", Name: "v"}) {
		return errors.New("not there")
	}
	into.(*v1alpha1.VariantAutoscaling).Status.Conditions = o.conditions
	return nil
}

func TestWhoCarriesOutADecisionIsExplainedWithWhatTheObjectSays(t *testing.T) {
	following := metav1.Condition{Type: string(v1alpha1.ConditionScalerFollowing), Reason: "HPALimited", Message: "up to 2"}
	e := explaining{
		scalers: func(scaling.VariantKey) scaling.Scalers {
			return scaling.Scalers{Known: true, List: []scaling.Scaler{{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 2}, Asks: 2}}}
		},
		objects: oneObject{conditions: []metav1.Condition{{Type: "Ready", Reason: "Ready"}, following}},
	}
	scalers := []explain.Scaler{{Kind: scaling.KindHPA, Name: "h", Min: 1, Max: 2, Asks: 2}}
	tests := map[string]explain.Actuation{
		"v":      {Known: true, Scalers: scalers, Reason: "HPALimited", Message: "up to 2"},
		"absent": {Known: true, Scalers: scalers},
	}
	for name, want := range tests {
		got := e.Actuation(t.Context(), scaling.VariantKey{Namespace: "serving", Name: name})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	e.objects = oneObject{}
	if got := e.Actuation(t.Context(), scaling.VariantKey{Namespace: "serving", Name: "v"}); got.Reason != "" {
		t.Errorf("an object without the condition: %+v", got)
	}
}
