package chart

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager" // whose module has the CRD
	_ "github.com/kedacore/keda/v2/version"                       // whose module has the CRDs
	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil" // whose module has the CRDs
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// cluster is a real API server that knows the kinds of the chart.
type cluster struct {
	*testbed.Bed
	namespaces map[string]bool // made so far
}

// start brings a local cluster up with the CRDs of KEDA, of cert-manager and of the
// Prometheus operator. It skips the test where the local cluster has not been built.
func start(t *testing.T) *cluster {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, ".local", "bin", "localcluster")); err != nil {
		t.Skip("no built local cluster: run make localcluster")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bed, err := testbed.Up(ctx, testbed.Options{Root: top, Dir: t.TempDir(), Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := bed.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{Bed: bed, namespaces: map[string]bool{}}
	for module, files := range map[string][]string{
		"github.com/kedacore/keda/v2":          {"config/crd/bases/keda.sh_scaledobjects.yaml", "config/crd/bases/keda.sh_clustertriggerauthentications.yaml"},
		"github.com/cert-manager/cert-manager": {"deploy/crds/cert-manager.io_certificates.yaml"},
		"github.com/prometheus-operator/prometheus-operator": {
			"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
			"example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
			"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		},
	} {
		dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatalf("looking for module %s: %s", module, err)
		}
		for _, file := range files {
			var definition apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal(read(t, filepath.Join(strings.TrimSpace(string(dir)), file)), &definition); err != nil {
				t.Fatal(err)
			}
			if err := c.Define(ctx, &definition); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// accepts says whether the API server takes objects, without making them. Their
// namespaces are made.
func (c *cluster) accepts(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if namespace := o.GetNamespace(); namespace != "" && !c.namespaces[namespace] {
			err := c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
			c.namespaces[namespace] = true
		}
		err := c.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			t.Errorf("%s is refused: %s", Identity(o), err)
		}
	}
}

func TestTheAPIServerTakesIt(t *testing.T) {
	t.Parallel()
	c := start(t)
	chart := load(t)
	sample := samples(t)
	for _, name := range slices.Sorted(maps.Keys(sample)) {
		t.Run("sample "+name, func(t *testing.T) {
			c.accepts(t, mustRender(t, chart, sample[name], standard).Objects)
		})
	}
	t.Run("random values", func(t *testing.T) {
		all, _ := described(t)
		rng := rand.New(rand.NewPCG(randomSeed, 0))
		for range randomCount {
			drawn := randomValues(t, rng, chart, all)
			c.accepts(t, mustRender(t, chart, drawn, standard).Objects)
			if t.Failed() {
				t.Fatalf("of values %v", drawn)
			}
		}
	})
	t.Run("kustomize", func(t *testing.T) {
		for _, combination := range combinations(t) {
			t.Run(combination.name, func(t *testing.T) { c.accepts(t, build(t, overlay(t, combination.overlay))) })
		}
		t.Run("samples", func(t *testing.T) { c.accepts(t, build(t, root+"/config/samples")) })
	})
	t.Run("an object that is wrong is refused", func(t *testing.T) {
		wrong := mustRender(t, chart, nil, standard).Objects[0].DeepCopy()
		wrong.Object["spec"] = map[string]any{"nonsense": true}
		err := c.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(wrong), client.DryRunAll, client.FieldOwner("test"))
		if err == nil {
			t.Errorf("%s with a spec of nonsense is accepted: this test sees nothing", Identity(wrong))
		}
	})
	t.Run("pods are restricted", func(t *testing.T) { c.restricted(t) })
	// These change the cluster.
	t.Run("the manager works", func(t *testing.T) {
		for _, test := range []struct{ name, values, namespace string }{
			{"everywhere", "", "models"},
			{"in one namespace", "watchNamespace: team-a", "team-a"},
			{"in limited mode", "limitedMode: true\nrbac: {scale: true}", "limited"},
			{"for an instance, with its own External Metrics", "controllerInstance: blue\nwatchNamespace: team-b\nexternalMetrics: {enabled: true, apiService: false}", "team-b"},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				c.works(t, test.values, test.namespace)
			})
		}
	})
	t.Run("the manager is ready soon", func(t *testing.T) { c.startsSoon(t) })
	t.Run("the manager cannot do what it is told", func(t *testing.T) { c.misconfigured(t) })
	t.Run("certificates are read again", func(t *testing.T) { c.reloads(t) })
	t.Run("KEDA is let in", func(t *testing.T) { c.letsKEDAIn(t) })
	t.Run("an upgrade keeps certificates", func(t *testing.T) { c.keepsCertificates(t) })
	t.Run("another release serves the same", func(t *testing.T) { c.claimed(t) })
	t.Run("no manager serves a namespace", func(t *testing.T) { c.unserved(t) })
	t.Run("OpenShift AI has a manager of its own", func(t *testing.T) { c.managed(t) })
	t.Run("another serves External Metrics", func(t *testing.T) { c.served(t) })
	t.Run("the CRD is older", func(t *testing.T) { c.outdated(t) })
}

// restricted puts the manager's pod in a namespace that enforces the restricted
// Pod Security Standard.
func (c *cluster) restricted(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "restricted", Name: "manager"}}
	for _, o := range []client.Object{namespace, account} {
		if err := c.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range samples(t) {
		for _, o := range mustRender(t, load(t), v, standard).Objects {
			if o.GetKind() != "Deployment" {
				continue
			}
			template := find[appsv1.Deployment](t, []*unstructured.Unstructured{o}, Identity(o)).Spec.Template
			pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			pod.Namespace, pod.Name, pod.Spec.ServiceAccountName = "restricted", "manager", "manager"
			if err := c.Client.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
				t.Errorf("sample %q: the pod is refused: %s", name, err)
			}
			if !*pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
				t.Errorf("sample %q: the root file system is writable", name)
			}
			pod.Spec.SecurityContext = nil
			if err := c.Client.Create(t.Context(), pod, client.DryRunAll); err == nil {
				t.Error("a pod without security context is accepted: this test sees nothing")
			}
		}
	}
}

// claimed renders beside a release whose role says what it serves.
func (c *cluster) claimed(t *testing.T) {
	chart := load(t)
	other := mustRender(t, chart, values(t, "controllerInstance: blue"), Release{Name: "other", Namespace: "elsewhere"})
	role := find[rbacv1.ClusterRole](t, other.Objects, "ClusterRole//other-workload-variant-autoscaler-blue-manager-role")
	role.Annotations["meta.helm.sh/release-name"], role.Annotations["meta.helm.sh/release-namespace"] = "other", "elsewhere"
	if err := c.Client.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, values, release, want string
	}{
		{"the same instance", "controllerInstance: blue", "mine", `release elsewhere/other serves controller instance "blue" of every namespace already`},
		{"no instance", "", "mine", "Give each its own controllerInstance or watchNamespace"},
		{"another instance", "controllerInstance: green", "mine", ""},
		{"the release itself", "controllerInstance: blue", "other", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Render(chart, values(t, test.values), Release{Name: test.release, Namespace: "elsewhere", Cluster: c.Config})
			said(t, err, test.want)
		})
	}
	if err := c.Client.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
}

// unserved renders beside a VariantAutoscaling, and for models, in namespaces that no manager serves.
func (c *cluster) unserved(t *testing.T) {
	chart := load(t)
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "alone"}})
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: "alone", Name: "forgotten"}}
	va.Spec.ModelID = "m"
	c.create(t, va)
	release := Release{Name: "mine", Namespace: "elsewhere", Cluster: c.Config}
	const text = "No manager serves these VariantAutoscalings"
	for _, test := range []struct {
		values string
		named  bool
	}{{"watchNamespace: elsewhere", true}, {"watchNamespace: alone", false}, {"", false}} {
		out := mustRender(t, chart, values(t, test.values), release)
		if got := strings.Contains(out.Notes, text) && strings.Contains(out.Notes, "     alone/forgotten\n"); got != test.named {
			t.Errorf("values %q: named %t, want %t, in notes\n%s", test.values, got, test.named, out.Notes)
		}
	}
	const models = "controller: {enabled: false}\nmodels: [{modelID: m, namespace: alone, variants: [{name: forgotten, scaler: none}]}]\n"
	_, err := Render(chart, values(t, models), release)
	said(t, err, "") // nothing is known of a manager
	other := mustRender(t, chart, values(t, "watchNamespace: elsewhere"), release)
	role := find[rbacv1.ClusterRole](t, other.Objects, "ClusterRole//mine-workload-variant-autoscaler-elsewhere-manager-role")
	role.Annotations["meta.helm.sh/release-name"], role.Annotations["meta.helm.sh/release-namespace"] = "mine", "elsewhere"
	c.create(t, role)
	alone := Release{Name: "models", Namespace: "alone", Cluster: c.Config}
	_, err = Render(chart, values(t, models), alone)
	said(t, err, "model m is in namespace alone, which no manager serves: release elsewhere/mine serves namespace elsewhere. Install a manager for it first")
	_, err = Render(chart, values(t, strings.Replace(models, "namespace: alone", "namespace: elsewhere", 1)), alone)
	said(t, err, "")
	for _, o := range []client.Object{role, va} {
		if err := c.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// said holds an error, or none, against what it must say.
func said(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %s, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v\nwant in it %q", err, want)
	}
}

// served renders beside another server of External Metrics.
func (c *cluster) served(t *testing.T) {
	chart := load(t)
	v := values(t, "externalMetrics: {enabled: true, insecureSkipVerify: true}")
	release := Release{Name: "mine", Namespace: "elsewhere", Cluster: c.Config}
	_, err := Render(chart, v, release)
	said(t, err, "")
	api := mustRender(t, chart, v, Release{Name: "mine", Namespace: "keda"})
	i := slices.IndexFunc(api.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "APIService" })
	if err := c.Client.Create(t.Context(), api.Objects[i]); err != nil {
		t.Fatal(err)
	}
	_, err = Render(chart, v, release)
	said(t, err, "External Metrics are served by Service keda/mine-workload-variant-autoscaler-external-metrics already")
	if err := c.Client.Delete(t.Context(), api.Objects[i]); err != nil {
		t.Fatal(err)
	}
}

// outdated renders for a cluster with a CRD of which fields are missing.
func (c *cluster) outdated(t *testing.T) {
	release := Release{Name: "mine", Namespace: "elsewhere", Cluster: c.Config}
	_, err := Render(load(t), nil, release)
	said(t, err, "")
	var definition apiextensionsv1.CustomResourceDefinition
	if err := c.Client.Get(t.Context(), client.ObjectKey{Name: "variantautoscalings.llmd.ai"}, &definition); err != nil {
		t.Fatal(err)
	}
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	delete(schema.Properties["spec"].Properties, "sloClassRef")
	delete(schema.Properties["status"].Properties, "actuation")
	if err := c.Client.Update(t.Context(), &definition); err != nil {
		t.Fatal(err)
	}
	_, err = Render(load(t), nil, release)
	said(t, err, "is older than this chart: it lacks spec.sloClassRef, status.actuation. Helm never upgrades one")
}
