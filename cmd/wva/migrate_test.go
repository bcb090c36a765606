package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
)

func TestMigrateRefusesBadUsage(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	tests := map[string]struct {
		args  []string
		usage bool
		want  string
	}{
		"argument":      {[]string{"everything"}, true, `migrate takes no arguments, have ["everything"]`},
		"format":        {[]string{"-o", "yaml"}, true, `--output "yaml": want table or json`},
		"no kubeconfig": {[]string{"--kubeconfig", nowhere}, false, nowhere},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			command := newMigrateCommand()
			command.SilenceUsage, command.SilenceErrors = true, true
			command.SetArgs(tt.args)
			err := command.ExecuteContext(t.Context())
			if err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want usage %v and %q", err, tt.usage, tt.want)
			}
		})
	}
}

func TestMigrateLooksInTheNamespaceOfTheManager(t *testing.T) {
	for env, want := range map[string]string{"": defaultSystemNamespace, "wva": "wva"} {
		t.Setenv("POD_NAMESPACE", env)
		if got := newMigrateCommand().Flag("system-namespace").DefValue; got != want {
			t.Errorf("POD_NAMESPACE=%q: got %q, want %q", env, got, want)
		}
	}
}

func TestOlderDefinitionsAreTold(t *testing.T) {
	read := func() *apiextensionsv1.CustomResourceDefinition {
		var def apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(crd.VariantAutoscalings(), &def); err != nil {
			t.Fatal(err)
		}
		return &def
	}
	tests := map[string]string{ // by file; which published versions they are is said there
		"m0":   "of an older version: it has status.currentAlloc.load",
		"v0.4": "of an older version: it has status.currentAlloc.load",
		"load": "of an older version: it has status.currentAlloc.load",
		"s0":   "of an older version: it lacks spec.modelProfile, spec.scaleTargetRef, status.actuation.scaler and 6 more",
		"s1":   "of an older version: it lacks spec.modelProfile, status.actuation.scaler, status.currentAlloc.itlAverage and 4 more",
		"f":    "of an older version: it lacks spec.accelerator, spec.acceleratorCount, spec.maxReplicas and 9 more",
	}
	for name, want := range tests {
		text, err := os.ReadFile(filepath.Join(older, "older", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		theirs := read()
		schema := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict(text, schema); err != nil {
			t.Fatal(err)
		}
		theirs.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
		if got := olderDefinition(read(), theirs); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}

	newer := read()
	newer.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["more"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	for name, theirs := range map[string]*apiextensionsv1.CustomResourceDefinition{"this": read(), "newer": newer} {
		if got := olderDefinition(read(), theirs); got != "" {
			t.Errorf("%s version: got %q", name, got)
		}
	}
}

func TestStaleStatusIsFoundWhereItIsShownOrWasWritten(t *testing.T) {
	const (
		shown   = `{status: {currentAlloc: {numReplicas: 1, load: {}}}}`
		written = `{metadata: {managedFields: [{}, {fieldsV1: {"f:status": {"f:currentAlloc": {"f:numReplicas": {}, "f:load": {}, "f:maxBatch": {}}}}}]}}`
	)
	tests := map[string]struct{ object, want, after string }{
		"nothing":         {`{}`, "", ""},
		"current fields":  {`{status: {currentAlloc: {numReplicas: 1}}}`, "", ""},
		"shown":           {shown, "stored status.currentAlloc has load", "stored status.currentAlloc has load"}, // until it is written
		"written":         {written, "stored status.currentAlloc has load, maxBatch", ""},
		"not as expected": {`{metadata: {managedFields: [1, {fieldsV1: x}]}, status: {currentAlloc: x}}`, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			va := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.object), &va.Object); err != nil {
				t.Fatal(err)
			}
			if got := staleStatus(va); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			forgetStaleStatus(va)
			if got := staleStatus(va); got != tt.after {
				t.Errorf("afterwards: got %q, want %q", got, tt.after)
			}
		})
	}
}

func TestKeepersOfObjectsAreNamed(t *testing.T) {
	tests := map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"kustomize":    {metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "kustomize"}}, ""},
		"owner":        {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "App", Name: "a"}}}, "App a"},
		"Helm release": {metav1.ObjectMeta{Annotations: map[string]string{"meta.helm.sh/release-name": "wva"}}, "Helm release wva"},
		"Helm":         {metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}}, "Helm"},
		"Argo CD":      {metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "a:b"}}, "Argo CD, a:b"},
		"Flux":         {metav1.ObjectMeta{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "k"}}, "Flux, k"},
	}
	for name, tt := range tests {
		if got := keeperOf(&tt.meta); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
