//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// upgradeReplicas is how many replicas the target of a release has. The HPAs may go to 1.
const upgradeReplicas = 3

// servesLabel is on the pods of a published release's target.
const servesLabel = "llm-d.ai/model"

// publishedRelease is a release of the published chart whose objects the test has written anew. Its program is this
// version's with the arguments and variables of the published one.
type publishedRelease struct {
	name, namespace string
	values          string // that differ from those of the chart, as YAML
}

// publishedValues are those that a test goes by.
type publishedValues struct {
	LLMD struct{ Namespace, ModelName string }
	WVA  struct {
		ReplicaCount int32
		Metrics      struct {
			Port   int
			Secure bool
		}
		Prometheus struct{ MonitoringNamespace, ServiceAccountName string }
	}
}

// publishedReleases are those of CI: one with the values of its chart, and one with each of them changed. What stays is
// targetAverageValue, which is another number of replicas, what switches an object off, and what names one model.
var publishedReleases = []publishedRelease{
	{name: "wva", namespace: testbed.SystemNamespace},
	{name: "changed", namespace: "team-b", values: `
wva:
  enabled: false
  image: {repository: registry.example.com/team/workload-variant-autoscaler, tag: v0.4.2}
  imagePullPolicy: IfNotPresent
  replicaCount: 2
  logging: {level: debug}
  metrics: {port: 9443, secure: false}
  reconcileInterval: 30s
  configMap: {immutable: true}
  prometheus:
    monitoringNamespace: monitoring-b
    serviceAccountName: prometheus-k8s
    releaseLabel: kps
    baseURL: https://prometheus.example.com
    tls: {insecureSkipVerify: false, caCertPath: ""}
  limitedMode: true
  nodeSelector: pool=gpu
  scaleToZero: true
  controllerInstance: blue
  capacityScaling:
    default: {kvCacheThreshold: 0.7, queueLengthThreshold: 6, kvSpareTrigger: 0.2, queueSpareTrigger: 4}
    overrides: {large: {model_id: m, kvSpareTrigger: 0.3}}
llmd: {namespace: team-b, modelName: other, modelID: meta/llama-3.1-8b}
va: {accelerator: A100, variantCost: "12.5", sloTpot: 20, sloTtft: 500}
hpa:
  minReplicas: 2
  maxReplicas: 4
  targetAverageValue: "1"
  behavior:
    scaleUp: {stabilizationWindowSeconds: 0, selectPolicy: Min, policies: [{type: Percent, value: 100, periodSeconds: 15}]}
    scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Max, policies: [{type: Pods, value: 5, periodSeconds: 15}]}
vllmService: {port: 8000, targetPort: 8001, nodePort: 30001, interval: 5s, scheme: https}
`},
}

// TestAPublishedReleaseIsUpgradedInPlace upgrades releases of the published chart with their values as they are, and an
// install of the published manifests. At every instant exactly one scaler scales each target, no replica comes or goes,
// and afterwards the managers serve the same variants. The HPAs read decisions by Prometheus and its adapter.
func TestAPublishedReleaseIsUpgradedInPlace(t *testing.T) {
	u := startUpgrades(t)
	t.Run("helm", func(t *testing.T) {
		for _, r := range publishedReleases {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				u.upgrade(t, r)
			})
		}
	})
	t.Run("kustomize", u.kustomize)
}

// upgrades is a cluster of its own, with the definition of the published version.
type upgrades struct {
	bed        *testbed.Bed
	helm       string // program
	old, chart string // folders of charts
}

// startUpgrades starts a cluster in place of the shared one, until the test ends.
func startUpgrades(t *testing.T) *upgrades {
	t.Helper()
	root, before := shared.bed.Root, shared.bed
	u := &upgrades{helm: filepath.Join(root, ".local", "bin", "helm"), chart: filepath.Join(root, "charts", "workload-variant-autoscaler"), old: t.TempDir()}
	dir := filepath.Join(root, ".local", "e2e-upgrade")
	if err := localcluster(t.Context(), "down", "--dir", dir); err != nil { // what a run left that was killed
		t.Fatal(err)
	}
	bed, err := testbed.Up(t.Context(), testbed.Options{Root: root, Dir: dir, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	before.OnDown(func(ctx context.Context) error { return localcluster(ctx, "down", "--dir", dir) }) // of a run that is interrupted
	u.bed, shared.bed = bed, bed
	t.Cleanup(func() {
		shared.bed = before
		if err := bed.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, file := range []string{"monitoring.coreos.com_servicemonitors.yaml", "keda.sh_scaledobjects.yaml"} {
		var def apiextensionsv1.CustomResourceDefinition
		decodeFile(t, filepath.Join(root, "config", "samples", "testdata", "crd", file), &def)
		if err := bed.Define(t.Context(), &def); err != nil {
			t.Fatal(err)
		}
	}
	startPrometheusAdapter(t, filepath.Join(root, ".local", "bin", "prometheus-adapter"))
	// The published chart: values and objects of the facts, and no crds, because one definition serves all.
	for from, to := range map[string]string{
		"test/e2e/testdata/published": "", "test/chart/testdata/published/values.yaml": "values.yaml",
	} {
		copyTo(t, filepath.Join(root, from), filepath.Join(u.old, to))
	}
	u.published(t)
	return u
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// published puts the definition of the published version in place of this one's.
func (u *upgrades) published(t *testing.T) {
	t.Helper()
	var def apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.VariantAutoscalings(), &def); err != nil {
		t.Fatal(err)
	}
	schema := &apiextensionsv1.JSONSchemaProps{}
	decodeFile(t, filepath.Join(u.bed.Root, "api", "v1alpha1", "testdata", "older", "f.yaml"), schema)
	def.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
	if err := u.bed.Define(t.Context(), &def); err != nil {
		t.Fatal(err)
	}
}

// run runs a program for the cluster and returns what it says.
func (u *upgrades) run(t *testing.T, stdin, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+u.bed.State.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (u *upgrades) must(t *testing.T, stdin, program string, args ...string) string {
	t.Helper()
	out, err := u.run(t, stdin, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// upgrade installs a release of the published chart and upgrades it.
func (u *upgrades) upgrade(t *testing.T, r publishedRelease) {
	var values publishedValues
	decodeFile(t, filepath.Join(u.old, "values.yaml"), &values)
	if err := yaml.Unmarshal([]byte(r.values), &values); err != nil {
		t.Fatal(err)
	}
	target, model := values.LLMD.ModelName+"-decode", values.LLMD.Namespace
	u.serving(t, model, target, values.LLMD.ModelName)
	u.scraped(t, r, values)
	if err := u.bed.Namespace(t.Context(), r.namespace); err != nil {
		t.Fatal(err)
	}
	u.must(t, r.values, u.helm, "install", r.name, u.old, "--namespace", r.namespace, "--values", "-")
	u.hasManagers(t, r.namespace, 0)
	if model == r.namespace { // which its manager serves
		u.follows(t, model, once)
	}

	history := u.record(t, model)
	upgrade := []string{"upgrade", r.name, u.chart, "--namespace", r.namespace, "--reset-then-reuse-values"}
	if out, err := u.run(t, "", u.helm, upgrade...); err != nil {
		// One that runs beside this one may have replaced it already.
		if !strings.Contains(out, "helm show crds <this chart> | kubectl apply --server-side --force-conflicts -f -") {
			t.Fatalf("refused, and not for the definition: %v", err)
		}
		u.must(t, u.must(t, "", u.helm, "show", "crds", u.chart), u.bed.State.Kubectl, "apply", "--server-side", "--force-conflicts", "-f", "-")
		t.Log(u.must(t, "", u.helm, upgrade...))
	}
	u.hasManagers(t, r.namespace, cmp.Or(values.WVA.ReplicaCount, 2))
	u.follows(t, model, stays)
	u.undisturbed(t, history, target)
	u.must(t, "", u.helm, "uninstall", r.name, "--namespace", r.namespace, "--wait")
}

// serving makes the target of a release: fake pods that serve nothing.
func (u *upgrades) serving(t *testing.T, namespace, target, model string) {
	t.Helper()
	d := testbed.Variant{Namespace: namespace, Name: target, Profile: "llama-8b-l40s", GPU: "NVIDIA-H100-80GB-HBM3", Replicas: upgradeReplicas}.
		Objects()[0].(*appsv1.Deployment)
	d.Spec.Template.Labels[servesLabel] = model
	if err := errors.Join(u.bed.Namespace(t.Context(), namespace), u.bed.Apply(t.Context(), d)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // it holds GPUs
		if err := u.bed.Client.Delete(context.Background(), d); err != nil {
			t.Error(err)
		}
	})
	hasReady(t, namespace, target, upgradeReplicas)
}

// scraped has Prometheus scrape the managers of a release as the account that its values name.
func (u *upgrades) scraped(t *testing.T, r publishedRelease, values publishedValues) {
	t.Helper()
	namespace, account := values.WVA.Prometheus.MonitoringNamespace, values.WVA.Prometheus.ServiceAccountName
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account + "-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: account}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	if err := errors.Join(u.bed.Namespace(t.Context(), namespace), u.bed.Apply(t.Context(), sa, secret)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		if err := u.bed.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil || len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
			return fmt.Sprintf("no token of %s/%s: %v", namespace, account, err)
		}
		return ""
	})
	discovery := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		u.targets(w, req, r.namespace, values.WVA.Metrics.Port)
	}))
	t.Cleanup(discovery.Close)
	scheme := "https"
	if !values.WVA.Metrics.Secure {
		scheme = "http"
	}
	config := fmt.Sprintf(`scrape_configs:
- job_name: %s
  scrape_interval: 1s
  scheme: %s
  authorization: {credentials: %q}
  tls_config: {insecure_skip_verify: true}
  http_sd_configs: [{url: %q, refresh_interval: 1s}]
`, r.name, scheme, secret.Data[corev1.ServiceAccountTokenKey], discovery.URL)
	path := filepath.Join(u.bed.State.PrometheusConfigDir, r.name+".yml")
	if err := errors.Join(os.WriteFile(path, []byte(config), 0o600), u.bed.ReloadPrometheus(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // pods of other releases get the addresses of those that end
		if err := errors.Join(os.Remove(path), u.bed.ReloadPrometheus(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

// targets tells Prometheus where the managers of a namespace are.
func (u *upgrades) targets(w http.ResponseWriter, req *http.Request, managers string, port int) {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := []group{}
	var pods corev1.PodList
	if err := u.bed.Client.List(req.Context(), &pods, client.InNamespace(managers), client.MatchingLabels{"control-plane": "controller-manager"}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, p := range pods.Items {
		if p.Status.PodIP != "" {
			address := net.JoinHostPort(p.Status.PodIP, strconv.Itoa(port))
			groups = append(groups, group{[]string{address}, map[string]string{"namespace": p.Namespace, "pod": p.Name}})
		}
	}
	text, err := json.Marshal(groups)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // Prometheus asks again
}

// hasManagers waits until one Deployment of managers is there whose pods are all Ready and of its last version, and are
// n, unless that is 0.
func (u *upgrades) hasManagers(t *testing.T, namespace string, n int32) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() { // before the cluster goes
			said, err := exec.CommandContext(context.Background(), u.bed.State.Kubectl, "--kubeconfig", u.bed.State.Kubeconfig, "logs", "--namespace", namespace,
				"--selector", "control-plane=controller-manager", "--tail=40", "--prefix").CombinedOutput()
			t.Logf("the managers say: %s (%v)", said, err)
			for _, path := range []string{"/api/v1/targets?state=active", "/api/v1/query?query=wva_desired_replicas"} {
				said, err := u.asksPrometheus(path)
				t.Logf("Prometheus says at %s: %s (%v)", path, said, err)
			}
		}
	})
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		var list appsv1.DeploymentList
		var pods corev1.PodList
		labels := client.MatchingLabels{"app.kubernetes.io/name": "workload-variant-autoscaler"}
		err := errors.Join(u.bed.Client.List(ctx, &list, client.InNamespace(namespace), labels), u.bed.Client.List(ctx, &pods, client.InNamespace(namespace), labels))
		if err != nil || len(list.Items) != 1 {
			return fmt.Sprintf("%d Deployments of managers: %v", len(list.Items), err)
		}
		d, s := list.Items[0], list.Items[0].Status
		want := *d.Spec.Replicas
		if n > 0 && want != n {
			return fmt.Sprintf("%d managers are to run, want %d", want, n)
		}
		if s.ObservedGeneration != d.Generation || s.UpdatedReplicas != want || s.ReadyReplicas != want || len(pods.Items) != int(want) {
			return fmt.Sprintf("of %d managers %d are of the last version, %d Ready, and there are %d pods", want, s.UpdatedReplicas, s.ReadyReplicas, len(pods.Items))
		}
		return ""
	})
}

func (u *upgrades) asksPrometheus(path string) (string, error) {
	resp, err := http.Get(u.bed.State.Prometheus + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<10))
	return string(body), err
}

// An HPA that follows is looked at once, or until two looks of its controller have found nothing else. Between the last
// page of one manager and the first decision of the next there is none to read, and the HPA says so: its replicas stay.
const (
	once  = time.Duration(0)
	stays = 12 * time.Second
)

// follows waits until the variant of a namespace has had, for so long without a break, a decision that keeps its replicas,
// and its HPA has read it and does so.
func (u *upgrades) follows(t *testing.T, namespace string, unbroken time.Duration) {
	t.Helper()
	var since time.Time
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		if said := u.notFollowed(ctx, namespace); said != "" {
			since = time.Time{}
			return said
		}
		if since.IsZero() {
			since = time.Now()
		}
		if followed := time.Since(since); followed < unbroken {
			return fmt.Sprintf("the HPA has followed for %v only", followed)
		}
		return ""
	})
}

// notFollowed says what keeps the HPA of a namespace from its variant's decision.
func (u *upgrades) notFollowed(ctx context.Context, namespace string) string {
	var hpas autoscalingv2.HorizontalPodAutoscalerList
	if err := u.bed.Client.List(ctx, &hpas, client.InNamespace(namespace)); err != nil || len(hpas.Items) != 1 {
		return fmt.Sprintf("%d HPAs: %v", len(hpas.Items), err)
	}
	hpa := hpas.Items[0]
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Status != corev1.ConditionTrue {
			return "the HPA does not read the decision: " + c.Message
		}
	}
	for _, m := range hpa.Status.CurrentMetrics {
		if m.External != nil && m.External.Current.AverageValue != nil && m.External.Current.AverageValue.Value() == 1 && hpa.Status.DesiredReplicas == upgradeReplicas {
			return ""
		}
	}
	return fmt.Sprintf("the HPA wants %d replicas by %v", hpa.Status.DesiredReplicas, hpa.Status.CurrentMetrics)
}

func (u *upgrades) record(t *testing.T, namespace string) *testbed.History {
	t.Helper()
	history, err := u.bed.Record(t.Context(), namespace,
		schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
		schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"},
		schema.GroupVersionResource{Group: "llmd.ai", Version: "v1alpha1", Resource: "variantautoscalings"})
	if err != nil {
		t.Fatal(err)
	}
	return history
}

func (u *upgrades) undisturbed(t *testing.T, history *testbed.History, target string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	versions, err := history.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, v := range versions {
		counted[v.Object.GetKind()]++
	}
	t.Logf("versions: %v", counted)
	for _, kind := range []string{"Deployment", "Pod", "HorizontalPodAutoscaler", "VariantAutoscaling"} {
		if counted[kind] == 0 {
			t.Errorf("no version of a %s was recorded, only %v", kind, slices.Sorted(maps.Keys(counted)))
		}
	}
	for _, said := range testbed.Disturbances(versions, target, servesLabel, upgradeReplicas) {
		t.Error(said)
	}
}

// upgradeOverlay is a kustomization whose manager reads the ConfigMap of the earlier one, in place of that of this version.
const upgradeOverlay = `resources: [../../config/default]
patches:
  - patch: |
      $patch: delete
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: workload-variant-autoscaler-variantautoscaling-config, namespace: workload-variant-autoscaler-system}
`

// kustomize upgrades an install of the published manifests: it deletes the Deployment, whose selector cannot be changed,
// and applies config/default. The ConfigMaps, the variants and the HPAs stay as they are.
func (u *upgrades) kustomize(t *testing.T) {
	u.published(t)
	const target, model = "llama-decode", "team-k"
	r := publishedRelease{name: "manifests", namespace: testbed.SystemNamespace}
	var values publishedValues
	values.WVA.Metrics.Port, values.WVA.Metrics.Secure = 8443, true
	values.WVA.Prometheus.MonitoringNamespace, values.WVA.Prometheus.ServiceAccountName = "monitoring-k", "prometheus"
	u.serving(t, model, target, "llama")
	u.scraped(t, r, values)
	kubectl := u.bed.State.Kubectl
	// The managers of a release that is gone may have lost the right to give it up.
	u.must(t, "", kubectl, "delete", "lease", "--namespace", r.namespace, "--all")
	u.must(t, "", kubectl, "apply", "-f", filepath.Join(u.bed.Root, "test", "e2e", "testdata", "published-manifests.yaml"))
	u.hasManagers(t, r.namespace, 0)
	u.follows(t, model, once)

	overlay := filepath.Join(u.bed.Root, ".local", "e2e-overlay") // a kustomization names folders by relative paths
	if err := errors.Join(os.MkdirAll(overlay, 0o755), os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(upgradeOverlay), 0o644)); err != nil {
		t.Fatal(err)
	}
	history := u.record(t, model)
	u.must(t, "", kubectl, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(u.chart, "crds"))
	if out, err := u.run(t, "", kubectl, "apply", "-k", overlay, "--dry-run=server"); err == nil || !strings.Contains(out, "field is immutable") {
		t.Errorf("without the deletion: got %v, want that the selector is immutable", err)
	}
	u.must(t, "", kubectl, "delete", "deployment", "--namespace", r.namespace, "workload-variant-autoscaler-controller-manager")
	u.must(t, "", kubectl, "apply", "-k", overlay)
	u.hasManagers(t, r.namespace, 2)
	u.follows(t, model, stays)
	u.undisturbed(t, history, target)
	log := u.must(t, "", kubectl, "logs", "--namespace", r.namespace, "--selector", "control-plane=controller-manager", "--tail=-1")
	if !strings.Contains(log, "prometheus.of-the-manifests.example") {
		t.Error("no manager asks the Prometheus of the ConfigMap that it found")
	}
}
