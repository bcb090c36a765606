package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkConfig runs "wva config check".
func checkConfig(t *testing.T, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	command := newConfigCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(args)
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&out)
	command.SetErr(&out)
	err = command.ExecuteContext(t.Context())
	return out.String(), err
}

const goodConfiguration = `# A comment alone is no document.
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: service-classes-config}
  data:
    premium.yaml: |
      name: Premium
      priority: 1
      data: [{model: meta/llama, slo-tpot: 24, slo-ttft: 500}]
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: saturation-scaling-config, namespace: team}
  data:
    default: "kvCacheThreshold: 0.7"
---
apiVersion: llmd.ai/v1alpha1
kind: VariantAutoscaling
metadata: {name: llama-a100, namespace: team}
spec:
  modelID: meta/llama
  sloClassRef: {name: service-classes-config, key: premium.yaml}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: llama-a100}
`

func TestConfigCheckAcceptsWhatIsGood(t *testing.T) {
	out, err := checkConfig(t, goodConfiguration, "check", "-f", "-")
	const want = "Checked: ConfigMaps 2, VariantAutoscalings 1; passed over: 1. Refused: 0, doubtful: 0.\n"
	if err != nil || out != want {
		t.Errorf("got %v and\n%s\nwant %s", err, out, want)
	}
}

func TestConfigCheckAcceptsTheSamplesAndThePublishedManifests(t *testing.T) {
	args := []string{"check", "-f", filepath.Join("..", "..", "config", "samples", "variantautoscaling.yaml")}
	published, err := filepath.Glob(filepath.Join("..", "..", "api", "v1alpha1", "testdata", "[msvf][0-9.]*.yaml"))
	if err != nil || len(published) < 3 {
		t.Fatalf("got %q, %v; want the published manifests", published, err)
	}
	for _, file := range published {
		args = append(args, "-f", file)
	}
	if out, err := checkConfig(t, "", args...); err != nil || !strings.Contains(out, "Refused: 0") {
		t.Errorf("got %v and\n%s", err, out)
	}
	out, err := checkConfig(t, "", "check", "-f", filepath.Join("..", "..", "config", "samples", "test-invalid-minmax.yaml"))
	if !errors.Is(err, errFinding) || exitCode(err) != 1 || !strings.Contains(out, "maxReplicas must be greater than or equal to minReplicas") {
		t.Errorf("got %v and\n%s\nwant the rule of the definition", err, out)
	}
}

func TestConfigCheckNamesWhatIsWrong(t *testing.T) {
	configMap := func(name, data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  " + data + "\n"
	}
	variant := func(spec string) string {
		return "apiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nmetadata: {name: v}\nspec: " + spec + "\n"
	}
	costs := configMap("accelerator-unit-costs", `A100: '{"device": "NVIDIA-A100", "cost": "40.00"}'`) + "---\n"
	classes := configMap("service-classes-config", "a: '{name: A, data: [{model: m, slo-ttft: 1}]}'") + "---\n"
	tests := []struct {
		name, manifests string
		refused         bool
		want            string // severity, object, field and the beginning of the message
	}{
		{
			"threshold", configMap("saturation-scaling-config", "default: 'kvCacheThreshold: 80'"), true,
			`refused|workload-variant-autoscaler-system/saturation-scaling-config|default, kvCacheThreshold|"80" is not accepted: want a ratio from 0 to 1`,
		},
		{
			"unknown key", configMap("wva-variantautoscaling-config", "GLOBAL_OPT_INTERVALS: 60s"), true,
			"refused|workload-variant-autoscaler-system/wva-variantautoscaling-config|GLOBAL_OPT_INTERVALS|is not known; did you mean GLOBAL_OPT_INTERVAL?",
		},
		{
			"class without data", configMap("serviceclass", "a: 'name: A'"), true,
			"refused|workload-variant-autoscaler-system/serviceclass|a, data|is empty: the class is for no model",
		},
		{
			"cost", configMap("accelerator-unit-costs", `A100: '{"cost": "40 cents"}'`), true,
			`refused|workload-variant-autoscaler-system/accelerator-unit-costs|A100, cost|"40 cents" is not accepted`,
		},
		{"data that is no text", configMap("accelerator-unit-costs", "A100: 40"), true, "refused|||is no ConfigMap: "},
		{
			"the name of a release", configMap("release-saturation-scaling-config", "default: ''"), true,
			"refused|workload-variant-autoscaler-system/release-saturation-scaling-config|default|is not read: it is empty",
		},
		{
			"the name of a release, in a namespace of models",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: release-saturation-scaling-config, namespace: team}\n", false,
			"doubtful|team/release-saturation-scaling-config||is not a name that the manager reads by itself: want saturation-scaling-config",
		},
		{
			"twice",
			configMap("serviceclass", "a: 'nonsense'") + "---\n" + configMap("serviceclass", "a: '{data: [{model: m, slo-ttft: 1}]}'"),
			false, "doubtful|workload-variant-autoscaler-system/serviceclass||is there more than once",
		},
		{
			"cost of a variant", variant("{modelID: m, variantCost: '.5'}"), true,
			`refused|default/v|spec.variantCost|Invalid value: ".5": spec.variantCost in body should match '^\d+(\.\d+)?$'`,
		},
		{"missing model", variant("{}"), true, "refused|default/v|spec.modelID|Required value"},
		{"unknown field", variant("{modelID: m, maxReplica: 3}"), true, "refused|default/v|spec.maxReplica|is not a field of the definition"},
		{"other version", strings.Replace(variant("{modelID: m}"), "v1alpha1", "v1", 1), true, `refused|||has apiVersion "llmd.ai/v1": want llmd.ai/v1alpha1`},
		{"no name", strings.Replace(variant("{modelID: m}"), "{name: v}", "{}", 1), true, "refused||metadata.name|is missing"},
		{
			"accelerator without unit cost", costs + variant("{modelID: m, accelerator: H100}"), false,
			`doubtful|default/v|spec.accelerator|"H100" has no unit cost, and variantCost is not set: a replica costs the default, 10`,
		},
		{
			"class that is not there", classes + variant("{modelID: m, sloClassRef: {name: service-classes-config, key: b}}"),
			false, `doubtful|default/v|spec.sloClassRef|sloClassRef names the key "b", which holds no service class`,
		},
		{
			"model without class", classes + variant("{modelID: x}"), false,
			`doubtful|default/v|spec.modelID|model "x" in namespace "default" not found in any service class`,
		},
		{
			"entry for a model without a variant",
			configMap("model-scale-to-zero-config", "model.m: 'modelID: lama'") + "---\n" + variant("{modelID: llama}"), false,
			`doubtful|workload-variant-autoscaler-system/model-scale-to-zero-config|model.m, modelID|"lama" is served by no VariantAutoscaling; did you mean llama?`,
		},
		{
			"entry for a model of another namespace",
			configMap("model-scale-to-zero-config", "model.m: '{modelID: m, namespace: team}'") + "---\n" + variant("{modelID: m}"),
			false,
			`doubtful|workload-variant-autoscaler-system/model-scale-to-zero-config|model.m, modelID|"m" is served by no VariantAutoscaling of namespace team`,
		},
		{
			"no retention", configMap("model-scale-to-zero-config", "model.m: '{modelID: m, retentionPeriod: -1m}'"), true,
			`refused|workload-variant-autoscaler-system/model-scale-to-zero-config|model.m, retentionPeriod|"-1m" is not accepted`,
		},
		{
			"a long retention", configMap("model-scale-to-zero-config", "model.m: '{modelID: m, retentionPeriod: 25h}'"), false,
			`doubtful|workload-variant-autoscaler-system/model-scale-to-zero-config|model.m, retentionPeriod|"25h" is longer than 24h`,
		},
		{
			"two entries for one model", configMap("model-scale-to-zero-config", "a: 'modelID: m'\n  b: 'model_id: m'"), true,
			`refused|workload-variant-autoscaler-system/model-scale-to-zero-config|b|is for the same models as a`,
		},
		{
			"an actuation that is none",
			strings.Replace(variant("{modelID: m}"), "{name: v}", "{name: v, annotations: {wva.llmd.ai/actuation: zeroo}}", 1),
			true,
			`refused|default/v|metadata.annotations, wva.llmd.ai/actuation|"zeroo" is not accepted: want "metrics", "zero", "scale" or "advisory"`,
		},
		{
			"a pause that is none",
			strings.Replace(variant("{modelID: m}"), "{name: v}", "{name: v, annotations: {wva.llmd.ai/paused: 'yes'}}", 1), true,
			`refused|default/v|metadata.annotations, wva.llmd.ai/paused|"yes" is not accepted: want "true" or "false"`,
		},
		{
			"a target without a scale", variant("{modelID: m, scaleTargetRef: {kind: DaemonSet, name: d}}"), true,
			`refused|default/v|spec.scaleTargetRef.kind|"DaemonSet" has no scale subresource`,
		},
		{"no object", "- a\n", true, "refused|||is no object"},
		{"no YAML", "a: [\n", true, "refused|||is not YAML: "},
		{"no kind", "a: 1\n", true, "refused|||is no object of Kubernetes: want apiVersion and kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := checkConfig(t, tt.manifests, "check", "-f", "-", "-o", "json")
			if errors.Is(err, errFinding) != tt.refused || err != nil && !tt.refused {
				t.Errorf("got %v, want it refused: %t", err, tt.refused)
			}
			var report checkReport
			if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Findings) != 1 {
				t.Fatalf("got %v and\n%s\nwant one finding", err, out)
			}
			f := report.Findings[0]
			object := ""
			if f.Kind != "" {
				object = f.Namespace + "/" + f.Name
			} else if f.File == "" {
				t.Error("neither object nor file is named")
			}
			if got := strings.Join([]string{string(f.Severity), object, f.Field, f.Message}, "|"); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestConfigCheckFindsEntriesThatContradictForOneModel(t *testing.T) {
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: saturation-scaling-config}
data: {m: "{model_id: m, kvSpareTrigger: 0.6}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: saturation-scaling-config, namespace: team}
data: {default: "kvCacheThreshold: 0.5"}
---
apiVersion: llmd.ai/v1alpha1
kind: VariantAutoscaling
metadata: {name: v, namespace: team}
spec: {modelID: m}
`
	out, err := checkConfig(t, manifests, "check", "-f", "-")
	if !errors.Is(err, errFinding) || !strings.Contains(out, "ConfigMap team/saturation-scaling-config, default: contradicts what else holds for the model") {
		t.Errorf("got %v and\n%s", err, out)
	}
}

func TestConfigCheckTakesFilesWithAndWithoutTheFlag(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	want, err := checkConfig(t, "", "check", "-f", files[0], "-f", files[1])
	if err != nil || !strings.Contains(want, "passed over: 2") && !strings.Contains(want, "ConfigMaps 2") {
		t.Fatalf("got %v and\n%s", err, want)
	}
	for _, args := range [][]string{{"check", files[0], files[1]}, {"check", "-f", files[0], files[1]}} {
		if got, err := checkConfig(t, "", args...); err != nil || got != want {
			t.Errorf("%q: got %v and\n%s\nwant\n%s", args, err, got, want)
		}
	}
}

func TestConfigCheckPrintsATable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(
		file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: serviceclass, namespace: s}\ndata: {a: 'name: A'}\n"),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	out, err := checkConfig(t, "", "check", "-f", file, "--system-namespace", "s")
	const want = "SEVERITY  OBJECT                    FIELD    FINDING\n" +
		"refused   ConfigMap s/serviceclass  a, data  is empty: the class is for no model: want a list of rows with model, slo-tpot, slo-ttft\n" +
		"\nChecked: ConfigMaps 1, VariantAutoscalings 0; passed over: 0. Refused: 1, doubtful: 0.\n"
	if !errors.Is(err, errFinding) || out != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out, want)
	}
}

func TestConfigRefusesBadUsage(t *testing.T) {
	for _, args := range [][]string{{"check"}, {"check", "-f", "x", "-o", "yaml"}, {"chek"}} {
		if _, err := checkConfig(t, "", args...); !errors.Is(err, errUsage) || exitCode(err) != 2 {
			t.Errorf("%q: got %v, want bad usage", args, err)
		}
	}
	if _, err := checkConfig(t, "", "check", "-f", filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || exitCode(err) != 1 {
		t.Errorf("no such file: got %v", err)
	}
}

func FuzzConfigCheck(f *testing.F) {
	f.Add([]byte(goodConfiguration))
	f.Add([]byte("apiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nmetadata: {name: v}\nspec: {modelID: m, minReplicas: 5, maxReplicas: 2}\n"))
	f.Add([]byte("apiVersion: v1\nkind: ConfigMapList\nitems: [{}, 3]\n"))
	f.Add([]byte("{\"apiVersion\": \"v1\"}\n---\n%\n"))
	objects, err := newSchema() // takes longer than a document
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := readManifests([]string{"-"}, bytes.NewReader(text))
		if err != nil {
			return // a document that is too long
		}
		report, err := configCheckFlags{systemNamespace: "s", namespace: "n"}.check(t.Context(), read, objects)
		if err != nil {
			t.Fatal(err)
		}
		if report.VariantAutoscalings != len(read.variants) {
			t.Errorf("checked %d of %d variants", report.VariantAutoscalings, len(read.variants))
		}
		for _, f := range report.Findings {
			if f.Message == "" || f.Severity == "" || f.Kind == "" && f.File == "" {
				t.Errorf("got %+v, want a finding that says where and what", f)
			}
		}
		if err := writeJSON(&bytes.Buffer{}, report); err != nil {
			t.Error(err)
		}
	})
}
