package v1alpha1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

const samples = "../../config/samples"

// validManifests returns the files whose first document is a VariantAutoscaling
// that is accepted: the samples, and one manifest of each published shape.
func validManifests() []string {
	var files []string
	for _, sample := range []string{"variantautoscaling", "test-different-name-va", "model-profile-va", "variant-profile-va", "minimal-va"} {
		files = append(files, filepath.Join(samples, sample+".yaml"))
	}
	for _, shape := range []string{"m0", "v0.4", "s0", "s1", "f"} {
		files = append(files, filepath.Join("testdata", shape+".yaml"))
	}
	return files
}

// documents returns the YAML documents of a file.
func documents(t *testing.T, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))
}

// decode reads a document into a new T and refuses fields that T does not have.
func decode[T any](t *testing.T, doc []byte) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict(doc, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestSamplesDecodeStrictly(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		for _, doc := range documents(t, name) {
			var meta metav1.TypeMeta
			if err := yaml.Unmarshal(doc, &meta); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch meta.Kind {
			case v1alpha1.Kind:
				decode[v1alpha1.VariantAutoscaling](t, doc)
				found++
			case "HorizontalPodAutoscaler":
				decode[autoscalingv2.HorizontalPodAutoscaler](t, doc)
				found++
			case "Kustomization", "ConfigMap":
			default:
				t.Errorf("%s holds a %q, which this test does not know", name, meta.Kind)
			}
		}
	}
	if found != 7 {
		t.Errorf("decoded %d objects, want 7", found)
	}
}

// TestSampleHPAFollowsSampleVariant checks what makes an HPA follow the decision
// of a VariantAutoscaling exactly.
func TestSampleHPAFollowsSampleVariant(t *testing.T) {
	docs := documents(t, filepath.Join(samples, "variantautoscaling.yaml"))
	if len(docs) != 2 {
		t.Fatalf("got %d documents, want a VariantAutoscaling and its HPA", len(docs))
	}
	va := decode[v1alpha1.VariantAutoscaling](t, docs[0])
	hpa := decode[autoscalingv2.HorizontalPodAutoscaler](t, docs[1])

	target := va.Target()
	scaled := autoscalingv2.CrossVersionObjectReference{
		APIVersion: target.APIVersion, Kind: target.Kind, Name: target.Name,
	}
	if diff := cmp.Diff(hpa.Spec.ScaleTargetRef, scaled); diff != "" {
		t.Errorf("targets differ (-HPA +VariantAutoscaling):\n%s", diff)
	}
	external := hpa.Spec.Metrics[0].External
	if external.Metric.Name != "wva_desired_replicas" {
		t.Errorf("metric is %q", external.Metric.Name)
	}
	want := map[string]string{"variant_name": va.Name, "exported_namespace": va.Namespace}
	if diff := cmp.Diff(external.Metric.Selector.MatchLabels, want); diff != "" {
		t.Errorf("selector (-got +want):\n%s", diff)
	}
	if external.Target.Type != autoscalingv2.AverageValueMetricType || external.Target.AverageValue.String() != "1" {
		t.Errorf("target is %s %s, want AverageValue 1", external.Target.Type, external.Target.AverageValue)
	}
	for name, rules := range map[string]*autoscalingv2.HPAScalingRules{
		"scaleUp": hpa.Spec.Behavior.ScaleUp, "scaleDown": hpa.Spec.Behavior.ScaleDown,
	} {
		if rules.Tolerance == nil || !rules.Tolerance.IsZero() {
			t.Errorf("%s.tolerance is %v, want 0", name, rules.Tolerance)
		}
		if rules.StabilizationWindowSeconds == nil {
			t.Errorf("%s.stabilizationWindowSeconds is not set", name)
		}
	}
	if got, want := *hpa.Spec.MinReplicas, va.Spec.MinReplicas; got != want {
		t.Errorf("HPA's minReplicas is %d, the variant's %d", got, want)
	}
	if got, want := hpa.Spec.MaxReplicas, *va.Spec.MaxReplicas; got != want {
		t.Errorf("HPA's maxReplicas is %d, the variant's %d", got, want)
	}
}

func TestPublishedShapesDecodeStrictly(t *testing.T) {
	a100 := &v1alpha1.PerfParms{
		DecodeParms:  map[string]string{"alpha": "20.58", "beta": "0.41"},
		PrefillParms: map[string]string{"gamma": "20.58", "delta": "0.041"},
	}
	mi300x := &v1alpha1.PerfParms{
		DecodeParms:  map[string]string{"alpha": "7.77", "beta": "0.15"},
		PrefillParms: map[string]string{"gamma": "7.77", "delta": "0.15"},
	}
	class := &v1alpha1.SLOClassRef{Name: "premium-slo", Key: "opt-125m"}
	single := v1alpha1.VariantAutoscalingSpec{
		ModelID: "default/default", VariantID: "default/default-A100-1",
		Accelerator: "A100", AcceleratorCount: new(int32(1)), SLOClassRef: class,
		VariantProfile: &v1alpha1.VariantProfile{MaxBatchSize: new(int32(4)), PerfParms: a100},
		VariantCost:    "40", MaxReplicas: new(int32(8)),
	}
	targeted := single
	targeted.ScaleTargetRef = &v1alpha1.ScaleTargetRef{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "vllme-deployment-a100",
	}
	tests := []struct {
		file   string
		spec   v1alpha1.VariantAutoscalingSpec
		target string
	}{
		{"m0.yaml", v1alpha1.VariantAutoscalingSpec{
			ModelID: "default/default", SLOClassRef: class,
			ModelProfile: &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{
				{Acc: "A100", AccCount: new(int32(1)), PerfParms: a100, MaxBatchSize: new(int32(4))},
				{Acc: "MI300X", AccCount: new(int32(1)), PerfParms: mi300x, MaxBatchSize: new(int32(4))},
			}},
		}, "vllme-deployment"},
		{"v0.4.yaml", v1alpha1.VariantAutoscalingSpec{
			ModelID: "unsloth/Meta-Llama-3.1-8B", VariantCost: "10.0",
			ModelProfile: &v1alpha1.ModelProfile{Accelerators: []v1alpha1.AcceleratorProfile{
				{Acc: "H100", AccCount: new(int32(1)), MaxBatchSize: new(int32(512))},
			}},
		}, "ms-inference-scheduling-llm-d-modelservice-decode"},
		{"s0.yaml", single, "vllme-deployment"},
		{"s1.yaml", targeted, "vllme-deployment-a100"},
		{"f.yaml", v1alpha1.VariantAutoscalingSpec{
			ModelID: "default/default", VariantCost: "10.0",
			ScaleTargetRef: &v1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "sample-deployment"},
		}, "sample-deployment"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			va := decode[v1alpha1.VariantAutoscaling](t, documents(t, filepath.Join("testdata", tt.file))[0])
			if diff := cmp.Diff(va.Spec, tt.spec); diff != "" {
				t.Errorf("spec (-got +want):\n%s", diff)
			}
			want := v1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: tt.target}
			if diff := cmp.Diff(va.Target(), want); diff != "" {
				t.Errorf("target (-got +want):\n%s", diff)
			}
		})
	}
}

func TestTargetKeepsWhatTheSpecNames(t *testing.T) {
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Name: "va"}}
	va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{
		APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "lws",
	}
	if diff := cmp.Diff(va.Target(), *va.Spec.ScaleTargetRef); diff != "" {
		t.Errorf("target (-got +want):\n%s", diff)
	}
}

// TestStatusSaysWhatIsKnown pins what is written where Go would leave it out: a
// zero that is a fact, and nothing where nothing is known.
func TestStatusSaysWhatIsKnown(t *testing.T) {
	tests := map[string]struct {
		status v1alpha1.VariantAutoscalingStatus
		want   string
	}{
		"nothing": {v1alpha1.VariantAutoscalingStatus{}, "{}\n"},
		"zeros": {
			v1alpha1.VariantAutoscalingStatus{
				CurrentAlloc:          &v1alpha1.CurrentAlloc{},
				DesiredOptimizedAlloc: &v1alpha1.OptimizedAlloc{LastUpdate: &v1alpha1.LastUpdate{}},
				Actuation:             &v1alpha1.Actuation{},
			},
			"actuation:\n  applied: false\ncurrentAlloc:\n  numReplicas: 0\n" +
				"desiredOptimizedAlloc:\n  lastUpdate:\n    numReplicasChanged: 0\n  numReplicas: 0\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := yaml.Marshal(tt.status)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), tt.want); diff != "" {
				t.Errorf("status (-got +want):\n%s", diff)
			}
		})
	}
}

func TestSchemeKnowsTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1alpha1.Kind, v1alpha1.Kind + "List"} {
		if !scheme.Recognizes(v1alpha1.GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", kind)
		}
	}
}
