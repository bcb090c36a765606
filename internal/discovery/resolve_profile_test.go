package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// parms returns coefficients; an empty one is left out.
func parms(alpha, beta, gamma, delta string) *v1alpha1.PerfParms {
	of := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				out[pairs[i]] = pairs[i+1]
			}
		}
		return out
	}
	return &v1alpha1.PerfParms{DecodeParms: of("alpha", alpha, "beta", beta), PrefillParms: of("gamma", gamma, "delta", delta)}
}

func TestProfileComesFromTheFirstSourceThatHasOne(t *testing.T) {
	older := &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{
		{Acc: "A100", AccCount: new(int32(1)), MaxBatchSize: new(int32(4)), PerfParms: parms("1", "2", "3", "4")},
		{Acc: "A100", AccCount: new(int32(2)), MaxBatchSize: new(int32(8)), PerfParms: parms("5", "6", "7", "8")},
		{Acc: "H100", MaxBatchSize: new(int32(16))},
	}}
	newer := &v1alpha1.VariantProfile{PerfParms: parms("0.5", "0", "1e2", " 0.041 ")}
	fromNewer := scaling.Profile{Source: "variantProfile", Alpha: 0.5, Gamma: 100, Delta: 0.041}
	one := scaling.Profile{Source: "modelProfile", Alpha: 1, Beta: 2, Gamma: 3, Delta: 4, MaxBatchSize: 4}
	two := scaling.Profile{Source: "modelProfile", Alpha: 5, Beta: 6, Gamma: 7, Delta: 8, MaxBatchSize: 8}
	tests := map[string]struct {
		spec        v1alpha1.VariantAutoscalingSpec
		accelerator string
		gpus        scaling.Accelerators
		want        scaling.Profile
	}{
		"none":                                   {v1alpha1.VariantAutoscalingSpec{}, "A100", 1, scaling.Profile{}},
		"newer before older":                     {v1alpha1.VariantAutoscalingSpec{VariantProfile: newer, ModelProfile: older}, "A100", 1, fromNewer},
		"entry of the accelerator":               {v1alpha1.VariantAutoscalingSpec{ModelProfile: older}, "A100", 1, one},
		"entry of the count":                     {v1alpha1.VariantAutoscalingSpec{ModelProfile: older}, "A100", 2, two},
		"count that no entry has":                {v1alpha1.VariantAutoscalingSpec{ModelProfile: older}, "A100", 4, one},
		"entry in another spelling":              {v1alpha1.VariantAutoscalingSpec{ModelProfile: older}, "a100", 1, one},
		"entry of no other accelerator":          {v1alpha1.VariantAutoscalingSpec{ModelProfile: older}, "L40S", 1, scaling.Profile{}},
		"entry without coefficients":             {v1alpha1.VariantAutoscalingSpec{ModelProfile: older}, "H100", 1, scaling.Profile{MaxBatchSize: 16}},
		"newer without coefficients, older with": {v1alpha1.VariantAutoscalingSpec{VariantProfile: &v1alpha1.VariantProfile{}, ModelProfile: older}, "A100", 1, scaling.Profile{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := profile(tt.spec, tt.accelerator, tt.gpus)
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			if want := tt.want.Source != "" && tt.want.Problem == ""; got.Usable() != want {
				t.Errorf("usable is %v, want %v", got.Usable(), want)
			}
		})
	}
}

func TestProfileSaysWhatCannotBeRead(t *testing.T) {
	tests := map[string]struct {
		parms *v1alpha1.PerfParms
		want  string
	}{
		"alpha absent":   {parms("", "2", "3", "4"), "variantProfile.perfParms.decodeParms has no alpha: want a decimal number, 0 or more"},
		"delta absent":   {parms("1", "2", "3", ""), "variantProfile.perfParms.prefillParms has no delta: want a decimal number, 0 or more"},
		"no prefill":     {&v1alpha1.PerfParms{DecodeParms: parms("1", "2", "", "").DecodeParms}, "variantProfile.perfParms.prefillParms has no gamma: want a decimal number, 0 or more"},
		"word":           {parms("1", "fast", "3", "4"), `variantProfile.perfParms.decodeParms.beta is "fast": want a decimal number, 0 to 1e+12`},
		"negative":       {parms("1", "2", "-3", "4"), `variantProfile.perfParms.prefillParms.gamma is "-3": want a decimal number, 0 to 1e+12`},
		"not a number":   {parms("NaN", "2", "3", "4"), `variantProfile.perfParms.decodeParms.alpha is "NaN": want a decimal number, 0 to 1e+12`},
		"infinite":       {parms("1", "Inf", "3", "4"), `variantProfile.perfParms.decodeParms.beta is "Inf": want a decimal number, 0 to 1e+12`},
		"out of a range": {parms("1", "2", "3", "1e999"), `variantProfile.perfParms.prefillParms.delta is "1e999": want a decimal number, 0 to 1e+12`},
		"beyond measure": {parms("1", "2", "3", "1e300"), `variantProfile.perfParms.prefillParms.delta is "1e300": want a decimal number, 0 to 1e+12`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec := v1alpha1.VariantAutoscalingSpec{VariantProfile: &v1alpha1.VariantProfile{MaxBatchSize: new(int32(4)), PerfParms: tt.parms}}
			want := scaling.Profile{Source: "variantProfile", Problem: tt.want, MaxBatchSize: 4}
			if diff := cmp.Diff(profile(spec, "A100", 1), want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}
