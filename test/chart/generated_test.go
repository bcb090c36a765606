package chart

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// intro begins the chart's README.
const intro = `# workload-variant-autoscaler

<!-- Generated: CGO_ENABLED=0 go -C test/chart test . -update -->

Installs the manager of the Workload Variant Autoscaler, and what models need to be served by it: VariantAutoscalings, HPAs or KEDA
ScaledObjects, monitors. [Installing](../../docs/user-guide/install.md) explains the choices.

` + "```sh" + `
# not run: as in docs/user-guide/install.md, where it is
helm install workload-variant-autoscaler charts/workload-variant-autoscaler \
  --namespace workload-variant-autoscaler-system --create-namespace \
  --set prometheus.baseURL=https://prometheus.example.com
` + "```" + `

The files in [ci](ci) are samples, each accepted by a real API server. Models are given so; every field is in
` + "`values.schema.json`" + `, and ` + "`controller.enabled=false`" + ` installs nothing else:

` + "```yaml" + `
models:
  - modelID: meta/llama-3.1-8b          # as in the label model_name of its metrics
    namespace: llm-inference
    monitor: {kind: PodMonitor, selector: {llm-d.ai/model: llama-8b}}
    variants:
      - name: llama-8b-l40s             # of the VariantAutoscaling, its scaler and its Deployment
        accelerator: L40S
        cost: "12"
        minReplicas: 1
        maxReplicas: 4
        scaler: hpa                     # or keda, none
` + "```" + `

`

const referenceIntro = `# The Helm chart's values

<!-- Generated: CGO_ENABLED=0 go -C test/chart test . -update -->

Of [charts/workload-variant-autoscaler](../../charts/workload-variant-autoscaler). How to install it, and which values matter first, is
in [installing](../user-guide/install.md). Whatever is not listed is refused.

`

func TestWhatIsGeneratedIsUpToDate(t *testing.T) {
	all, published := described(t)
	definitions := map[string]any{}
	if err := json.Unmarshal(read(t, "testdata/defs.json"), &definitions); err != nil {
		t.Fatal(err)
	}
	schema, err := Schema(all, definitions, published)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := Reference(all, published, 2)
	if err != nil {
		t.Fatal(err)
	}
	generated(t, chartPath+"/values.schema.json", string(schema))
	generated(t, chartPath+"/README.md", intro+tables)
	generated(t, root+"/docs/reference/helm.md", referenceIntro+tables)
	copies := map[string]string{
		chartPath + "/crds/llmd.ai_variantautoscalings.yaml": root + "/config/crd/bases/llmd.ai_variantautoscalings.yaml",
		chartPath + "/files/manager-roles.yaml":              root + "/config/rbac/role.yaml",
	}
	for _, folder := range []string{"dashboards", "rules"} {
		for _, from := range list(t, root+"/monitoring/"+folder) {
			copies[filepath.Join(chartPath, "files", folder, filepath.Base(from))] = from
		}
		for _, to := range list(t, chartPath+"/files/"+folder) {
			if copies[to] == "" {
				t.Errorf("%s is a copy of nothing in monitoring/%s: remove it", to, folder)
			}
		}
	}
	for to, from := range copies {
		generated(t, to, string(read(t, from)))
	}
}

// list returns the files of a folder, none where there is no such folder.
func list(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return files
}
