package discovery

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

func TestVariantIDIsStatedOrMadeOfWhatIsResolved(t *testing.T) {
	stated := func(va *v1alpha1.VariantAutoscaling) { va.Spec.VariantID = "llama-A100-2" }
	counted := func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.Accelerator, va.Spec.AcceleratorCount = "H100", new(int32(4))
	}
	tests := map[string]struct {
		va   *v1alpha1.VariantAutoscaling
		want string
	}{
		"stated":              {variant("v", stated, counted), "llama-A100-2"},
		"made":                {variant("v", counted), "m-H100-4"},
		"accelerator unknown": {variant("v"), "m-unknown-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := resolve(tt.va, target{}, nil).ID; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOnlyTheAnnotationTruePauses(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "": false, "yes": false} {
		va := variant("v", func(va *v1alpha1.VariantAutoscaling) {
			va.Annotations = map[string]string{v1alpha1.AnnotationPaused: value}
		})
		if got := resolve(va, target{}, nil).Paused; got != want {
			t.Errorf("annotation %q: paused %t, want %t", value, got, want)
		}
	}
}
