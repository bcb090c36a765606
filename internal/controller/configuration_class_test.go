package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// naming makes an object name the service class with a key.
func naming(key string) func(*v1alpha1.VariantAutoscaling) {
	return func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.SLOClassRef = &v1alpha1.SLOClassRef{Name: "classes", Key: key}
	}
}

func TestConfigurationValidSaysWhichClassAndProfileAreMissing(t *testing.T) {
	gold := config.Objective{Class: "Gold", Key: "gold", Priority: 1, TTFT: 500}
	free := config.Objective{Class: "Free", Key: "free", Priority: 9, TTFT: 5000}
	lost := config.Objective{Class: "Free", Key: "free", Priority: 9, TTFT: 5000, Unfollowed: "gold is not there"}
	profiled := scaling.Variant{Accelerator: "A100", Profile: scaling.Profile{Source: "variantProfile"}}
	const noClass = `model "m" in namespace "n" not found in any service class and default/default fallback not found`
	const noProfile = `Engine "queueing" sizes by profiles, and the variant has none yet: ` +
		`one is learned in three minutes in which its replicas serve and no queue stands; ` +
		`none is computed until then: the name of model "m" does not say its size; to state one, want ` +
		`spec.variantProfile.perfParms with decodeParms (alpha, beta) and prefillParms (gamma, delta), or an entry of spec.modelProfile for A100`
	tests := map[string]struct {
		va      *v1alpha1.VariantAutoscaling
		engine  string
		classes map[string]config.Objective
		named   []config.ClassRef // named by the variants of the model, the most important first
		variant scaling.Variant
		learned bool
		shared  int // number of namespaces
		reason  v1alpha1.ConditionReason
		want    string
	}{
		"none is needed":                        {va: object(), reason: v1alpha1.ReasonConfigurationAccepted, want: accepted},
		"its class":                             {va: object(naming("gold")), classes: map[string]config.Objective{"gold": gold}, named: refs("gold"), reason: v1alpha1.ReasonConfigurationAccepted, want: accepted},
		"no class":                              {va: object(naming("gold")), named: refs("gold"), reason: v1alpha1.ReasonServiceClassMissing, want: noClass},
		"another class":                         {va: object(naming("gold")), classes: map[string]config.Objective{"gold": lost}, named: refs("gold"), reason: v1alpha1.ReasonServiceClassMissing, want: "gold is not there; in force: class Free"},
		"a class that another one outranks":     {va: object(naming("free")), classes: map[string]config.Objective{"gold": gold, "free": free}, named: refs("gold", "free"), reason: v1alpha1.ReasonInvalidConfiguration, want: "spec.sloClassRef: class Free has priority 9, and another variant of the model names class Gold with priority 1: want one class for a model; in force: class Gold"},
		"no class for an engine that needs one": {va: object(), engine: config.EngineQueueing, variant: profiled, reason: v1alpha1.ReasonServiceClassMissing, want: noClass},
		"no profile for an engine that needs one": {
			va: object(), engine: config.EngineQueueing, classes: map[string]config.Objective{"": gold},
			variant: scaling.Variant{Model: scaling.ModelKey{ID: "m"}, Accelerator: "A100"}, reason: v1alpha1.ReasonProfileMissing, want: noProfile,
		},
		"a profile that is computed": {
			va: object(), engine: config.EngineQueueing, classes: map[string]config.Objective{"": gold},
			variant: scaling.Variant{Model: scaling.ModelKey{ID: "Qwen/Qwen3-32B"}, Accelerator: "H200"}, reason: v1alpha1.ReasonConfigurationAccepted,
			want: accepted + ` Engine "queueing" sizes by profiles: until the variant's is learned, in three minutes in which its replicas serve and no queue stands, ` +
				"by one that is computed from 32 billion parameters of 16 bits and the memory bandwidth of 1 x H200, 4800 GB/s; may be off by a factor of 2.5.",
		},
		"a profile that another namespace shares": {
			va: object(), engine: config.EngineQueueing, classes: map[string]config.Objective{"": gold},
			variant: scaling.Variant{Model: scaling.ModelKey{ID: "m"}, Accelerator: "A100"}, shared: 1, reason: v1alpha1.ReasonConfigurationAccepted,
			want: accepted + ` Engine "queueing" sizes by profiles: until the variant's is learned, in three minutes in which its replicas serve and no queue stands, ` +
				"by what replicas of the same model, accelerators and pod template showed in another namespace (WVA_SHARE_PROFILES).",
		},
		"a profile that is learned": {
			va: object(), engine: config.EngineQueueing, classes: map[string]config.Objective{"": gold},
			variant: scaling.Variant{Accelerator: "A100"}, learned: true, reason: v1alpha1.ReasonConfigurationAccepted, want: accepted,
		},
		"both": {va: object(), engine: config.EngineHybrid, classes: map[string]config.Objective{"": gold}, variant: profiled, reason: v1alpha1.ReasonConfigurationAccepted, want: accepted},
		"no profile for an engine that needs none": {
			va: object(), engine: config.EngineSaturation, classes: map[string]config.Objective{"": gold}, variant: scaling.Variant{Accelerator: "A100"}, reason: v1alpha1.ReasonConfigurationAccepted, want: accepted,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := metav1.ConditionFalse
			if tt.reason == v1alpha1.ReasonConfigurationAccepted {
				status = metav1.ConditionTrue
			}
			v := view{explained: true, classes: tt.named}
			v.Variant = tt.variant
			if tt.learned {
				v.Past.Fit.Bands = []memory.Band{{ITL: memory.Sums{}.Plus([3]float64{1, 1, 1}, 15, memory.SamplesEnough, 10)}}
			}
			if tt.shared > 0 {
				v.Past.Fit.Shared = memory.Shared{Bands: []memory.Band{{}}, Namespaces: tt.shared}
			}
			want := condition(v1alpha1.ConditionConfigurationValid, status, tt.reason, tt.want)
			if diff := cmp.Diff(want, configurationValid(&fixedFindings{engine: tt.engine, classes: tt.classes}, tt.va, v).Condition); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsWrongWithTheLookupOfAModelIsNotOfAVariantThatNamesItsClass(t *testing.T) {
	twice := config.Finding{Severity: config.Refused, ConfigMap: "c", Problem: "has a row already", Unnamed: true}
	gold := config.Objective{Class: "Gold", Key: "gold", Priority: 1}
	tests := map[string]struct {
		va      *v1alpha1.VariantAutoscaling
		classes map[string]config.Objective
		want    v1alpha1.ConditionReason
	}{
		"it names none":        {object(), map[string]config.Objective{"": gold}, v1alpha1.ReasonInvalidConfiguration},
		"it names one":         {object(naming("gold")), map[string]config.Objective{"": gold, "gold": gold}, v1alpha1.ReasonConfigurationAccepted},
		"it names one in vain": {object(naming("gold")), map[string]config.Objective{"": gold}, v1alpha1.ReasonInvalidConfiguration},
	}
	for name, tt := range tests {
		found := &fixedFindings{all: []config.Finding{twice}, classes: tt.classes}
		if got := configurationValid(found, tt.va, view{}); got.Reason != string(tt.want) {
			t.Errorf("%s: got %s %q, want %s", name, got.Reason, got.Message, tt.want)
		}
	}
}

func refs(keys ...string) []config.ClassRef {
	var out []config.ClassRef
	for _, key := range keys {
		out = append(out, config.ClassRef{Name: "classes", Key: key})
	}
	return out
}

func TestWhatNoSchemaRefusesIsNamed(t *testing.T) {
	huge := strings.Repeat("9", 400)
	tests := map[string]struct {
		change  func(*v1alpha1.VariantAutoscaling)
		profile scaling.Profile
		want    string
	}{
		"a cost beyond any number":   {func(va *v1alpha1.VariantAutoscaling) { va.Spec.VariantCost = huge }, scaling.Profile{}, `spec.variantCost: "` + huge[:longestFinding/4] + `" is not accepted: want a decimal number from 0 to 1.79769`},
		"a negative cost":            {func(va *v1alpha1.VariantAutoscaling) { va.Spec.VariantCost = "-1" }, scaling.Profile{}, `spec.variantCost: "-1" is not accepted`},
		"bounds that no schema knew": {func(va *v1alpha1.VariantAutoscaling) { va.Spec.MinReplicas, va.Spec.MaxReplicas = 3, new(int32(1)) }, scaling.Profile{}, `spec.maxReplicas: "1" is not accepted: want minReplicas (3) or more; in force: 1 replica`},
		"a pause that is none": {func(va *v1alpha1.VariantAutoscaling) {
			va.Annotations = map[string]string{v1alpha1.AnnotationPaused: "yes"}
		}, scaling.Profile{}, `annotation wva.llmd.ai/paused: "yes" is not accepted: want "true" or "false"; in force: false`},
		"a profile that cannot be read": {
			func(*v1alpha1.VariantAutoscaling) {},
			scaling.Profile{Source: "variantProfile", Problem: `variantProfile.perfParms.decodeParms.beta is "fast": want a decimal number, 0 or more`},
			`spec.variantProfile.perfParms.decodeParms.beta is "fast": want a decimal number, 0 or more; in force: no profile`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := view{explained: true}
			v.Variant.Profile = tt.profile
			got := configurationValid(&fixedFindings{}, object(tt.change), v)
			if got.Reason != string(v1alpha1.ReasonInvalidConfiguration) || !strings.HasPrefix(got.Message, tt.want) {
				t.Errorf("got %s %q, want %q", got.Reason, got.Message, tt.want)
			}
		})
	}
	fine := object(func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.VariantCost, va.Spec.MinReplicas, va.Spec.MaxReplicas = "2.5", 3, new(int32(3))
		va.Annotations = map[string]string{v1alpha1.AnnotationPaused: "false"}
	})
	if got := configurationValid(&fixedFindings{}, fine, view{}); got.Reason != string(v1alpha1.ReasonConfigurationAccepted) {
		t.Errorf("an ordinary object: %s %q", got.Reason, got.Message)
	}
}
