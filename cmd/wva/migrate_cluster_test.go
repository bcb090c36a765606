package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// older is where the API keeps the definitions and objects of older versions.
const older = "../../api/v1alpha1/testdata"

// cluster is a local cluster under test.
type cluster struct{ *testbed.Bed }

// TestMigrateOnAPIServer plays a move from the first release to this version.
func TestMigrateOnAPIServer(t *testing.T) {
	c := cluster{apitest.Start(t)}
	t.Run("a cluster without leftovers", func(t *testing.T) {
		out, err := c.migrate(t)
		if want := "Older versions left nothing in this cluster.\n"; out != want || err != nil {
			t.Errorf("got %q, %v, want %q", out, err, want)
		}
		out, err = c.migrate(t, "-o", "json")
		if want := "{\n  \"applied\": false,\n  \"findings\": []\n}\n"; out != want || err != nil {
			t.Errorf("got %q, %v, want %q", out, err, want)
		}
	})
	t.Run("the first release", c.firstRelease)
	t.Run("a variant that no manager serves", c.unserved)
	t.Run("a definition that was replaced before", c.replacedBefore)
	t.Run("services of KServe", c.kserve)
	t.Run("a cluster without the kind", func(t *testing.T) {
		if err := c.Client.Delete(t.Context(), c.definition(t)); err != nil {
			t.Fatal(err)
		}
		c.await(t, "the kind goes", func() bool {
			out, err := c.migrate(t)
			return err == nil && strings.HasPrefix(out, "Older versions left nothing")
		})
	})
}

func (c cluster) migrate(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := newMigrateCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(append([]string{"--kubeconfig", c.State.Kubeconfig}, args...))
	command.SetOut(&out)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// firstRelease holds everything that migrate looks for at once.
func (c cluster) firstRelease(t *testing.T) {
	c.install(t, "m0")
	va, bystander := c.leave(t)
	before := c.versions(t)

	out, err := c.migrate(t)
	if !errors.Is(err, errFinding) {
		t.Fatalf("got %v, want a finding; wrote:\n%s", err, out)
	}
	want := `
STATE    NAMESPACE                          OBJECT                                                FOUND                                                                                    REMEDY
found                                       CustomResourceDefinition/variantautoscalings.llmd.ai  of an older version: it has status.currentAlloc.load                                     replace it by this version's
found    llm-d-sim                          VariantAutoscaling/vllme-deployment                   stored status.currentAlloc has load, accelerator, maxBatch, variantCost                  write it without them
found    llm-d-sim                          VariantAutoscaling/vllme-deployment                   owned by Deployment vllme-deployment, and deleted with it                                remove the reference
found    llm-d-sim                          VariantAutoscaling/vllme-deployment                   label inference.optimization/modelName, which is not read                                remove the label
found                                       Namespace/llm-d-sim                                   label wva.llmd.ai/config-enabled, without which ConfigMaps are read too                  remove the label
found    llm-d-sim                          ConfigMap/wva-model-scale-to-zero-config              an older name of model-scale-to-zero-config                                              rename it to model-scale-to-zero-config
found    workload-variant-autoscaler-system ConfigMap/serviceclass                                not read, because service-classes-config is there                                        delete it
by hand  workload-variant-autoscaler-system ConfigMap/accelerator-unitcost                        an older name of accelerator-unit-costs                                                  rename it to accelerator-unit-costs where it is kept: by Helm release wva
found    workload-variant-autoscaler-system ConfigMap/capacity-scaling-config                     an older name of saturation-scaling-config                                               rename it to saturation-scaling-config

Nothing was changed. wva migrate --apply does what is under REMEDY.
`
	if diff := cmp.Diff(squeeze(out), squeeze(want)); diff != "" {
		t.Errorf("report (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(c.versions(t), before); diff != "" {
		t.Errorf("a report changed the cluster:\n%s", diff)
	}

	c.refused(t)
	if diff := cmp.Diff(c.versions(t), before); diff != "" {
		t.Errorf("what was refused changed the cluster:\n%s", diff)
	}

	answer := c.apply(t)
	for _, f := range answer.Findings {
		wanted := stateRemoved
		if f.Name == "accelerator-unitcost" {
			wanted = stateByHand
		}
		if f.State != wanted || f.Error != "" {
			t.Errorf("%s %s: %s is %q (%s), want %q", f.Kind, f.Name, f.Found, f.State, f.Error, wanted)
		}
	}
	c.checkMigrated(t, va, bystander)
	answer = c.apply(t)
	if len(answer.Findings) != 1 || answer.Findings[0].State != stateByHand {
		t.Errorf("the second time it finds %+v, want what is to be done by hand", answer.Findings)
	}
	if err := c.Client.Delete(t.Context(), configMap("workload-variant-autoscaler-system", "accelerator-unitcost", nil)); err != nil {
		t.Fatal(err)
	}
}

// unserved looks at the objects of the first release beside a manager of another namespace, then of every one, then
// beside one that is stopped.
func (c cluster) unserved(t *testing.T) {
	const served = "by hand llm-d-sim VariantAutoscaling/vllme-deployment no manager serves its namespace: " +
		"workload-variant-autoscaler-system/manager serves namespace workload-variant-autoscaler-system " +
		"serve it (watchNamespace of the chart, of an earlier one wva.namespaceScoped), or delete it"
	labels := map[string]string{"control-plane": "controller-manager", "app.kubernetes.io/name": "workload-variant-autoscaler"}
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: testbed.SystemNamespace, Name: "manager", Labels: labels}}
	manager.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	manager.Spec.Template.Labels = labels
	for _, test := range []struct {
		namespace string
		replicas  int32
		want      bool
	}{{testbed.SystemNamespace, 1, true}, {"", 1, false}, {testbed.SystemNamespace, 0, false}} {
		manager.Spec.Replicas = new(test.replicas)
		manager.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "i", Args: []string{"--watch-namespace=" + test.namespace}}}
		if err := c.Apply(t.Context(), manager); err != nil {
			t.Fatal(err)
		}
		out, err := c.migrate(t)
		if err != nil && !errors.Is(err, errFinding) {
			t.Fatal(err)
		}
		if got := slices.Contains(squeeze(out), served); got != test.want {
			t.Errorf("a manager of namespace %q with %d replicas: named %t, want %t, in\n%s", test.namespace, test.replicas, got, test.want, out)
		}
	}
	if err := c.Client.Delete(t.Context(), manager); err != nil {
		t.Fatal(err)
	}
}

// kserve reads a service and its target in the cluster, and prints of them what it prints of files.
func (c cluster) kserve(t *testing.T) {
	out, err := kserve(t, "--kubeconfig", c.State.Kubeconfig)
	if want := "No LLMInferenceService has spec.scaling.wva.\n"; out != want || err != nil {
		t.Errorf("without the kind: got %q, %v, want %q", out, err, want)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "llminferenceservices.serving.kserve.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kserveGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "llminferenceservices", Singular: "llminferenceservice", Kind: kserveKind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha2", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}},
			}},
		},
	}
	if err := c.Define(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	var objects []unstructured.Unstructured
	err = eachDocument("testdata/kserve/keda.yaml", nil, func(_ string, document []byte) error {
		of, err := objectsOf(document)
		objects = append(objects, of...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "llama-kserve"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "v"}}
	deployment.Spec.Replicas = new(int32(3))
	deployment.Spec.Template.Labels = deployment.Spec.Selector.MatchLabels
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}
	if err := c.Apply(t.Context(), namespace, &objects[0], deployment); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/kserve/keda.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, err = kserve(t, "--kubeconfig", c.State.Kubeconfig)
	if diff := cmp.Diff(string(want), out); diff != "" || !errors.Is(err, errFinding) {
		t.Errorf("got %v (- of files, + of the cluster)\n%s", err, diff)
	}
	if err := errors.Join(c.Client.Delete(t.Context(), definition), c.Client.Delete(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
}

// refused runs migrate --apply as a user who may read everything and change
// nothing: each finding says why it stays.
func (c cluster) refused(t *testing.T) {
	t.Helper()
	const user = "reader"
	if err := c.Apply(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"},
		}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		},
	); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := clientcmd.LoadFromFile(c.State.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range kubeconfig.AuthInfos {
		as.Impersonate = user
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		t.Fatal(err)
	}
	var answer migration
	c.await(t, "the role holds", func() bool {
		out, err := c.migrate(t, "--kubeconfig", file, "--apply", "-o", "json")
		return errors.Is(err, errFinding) && json.Unmarshal([]byte(out), &answer) == nil
	})
	for _, f := range answer.Findings {
		if f.Name == "accelerator-unitcost" {
			continue
		}
		if f.State != stateFailed || !strings.Contains(f.Error, "forbidden") {
			t.Errorf("%s %s is %q (%q), want failed as forbidden", f.Kind, f.Name, f.State, f.Error)
		}
	}
	out, err := c.migrate(t, "--kubeconfig", file, "--apply")
	if !errors.Is(err, errFinding) || !strings.Contains(out, "replacing the definition variantautoscalings.llmd.ai: ") {
		t.Errorf("the table does not say what was refused: %v\n%s", err, out)
	}
}

// checkMigrated looks at the objects themselves.
func (c cluster) checkMigrated(t *testing.T, va, bystander *unstructured.Unstructured) {
	t.Helper()
	now := c.get(t, va)
	if len(now.GetOwnerReferences()) != 0 {
		t.Errorf("owners are %v", now.GetOwnerReferences())
	}
	if diff := cmp.Diff(now.GetLabels(), map[string]string{v1alpha1.LabelAcceleratorName: "A100"}); diff != "" {
		t.Errorf("labels (-got +want):\n%s", diff)
	}
	for _, field := range []string{"numReplicas", "ttftAverage", "itlAverage"} {
		if _, ok, _ := unstructured.NestedFieldNoCopy(now.Object, "status", "currentAlloc", field); !ok {
			t.Errorf("status.currentAlloc lost its %s", field)
		}
	}
	if refs := c.get(t, bystander).GetOwnerReferences(); len(refs) != 1 {
		t.Errorf("an owner that no older version set is gone: %v", refs)
	}
	for name, want := range map[string]string{
		"saturation-scaling-config": "kvCacheThreshold: 0.7", "service-classes-config": "new", "capacity-scaling-config": "", "serviceclass": "",
		"accelerator-unitcost": "kept", "accelerator-unit-costs": "",
	} {
		var cm corev1.ConfigMap
		err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: testbed.SystemNamespace, Name: name}, &cm)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		if got := cm.Data["default"]; got != want {
			t.Errorf("ConfigMap %s holds %q, want %q", name, got, want)
		}
	}
	// The older definition shows whether the load is still stored.
	c.install(t, "m0")
	if _, ok, _ := unstructured.NestedFieldNoCopy(c.get(t, va).Object, "status", "currentAlloc", "load"); ok {
		t.Error("the load is still stored")
	}
	c.install(t, "")
}

// replacedBefore is a cluster whose definition was replaced by hand: the API
// server hides the load that it has stored.
func (c cluster) replacedBefore(t *testing.T) {
	c.install(t, "m0")
	va := c.store(t, "hidden", nil)
	c.install(t, "")
	c.await(t, "the load is hidden", func() bool {
		_, ok, _ := unstructured.NestedFieldNoCopy(c.get(t, va).Object, "status", "currentAlloc", "load")
		return !ok
	})
	answer := c.apply(t)
	if len(answer.Findings) != 2 || answer.Findings[0].State != stateRemoved || answer.Findings[1].State != stateRemoved {
		t.Fatalf("got %+v, want the fields and the label of one object, removed", answer.Findings)
	}
	if answer := c.apply(t); len(answer.Findings) != 0 {
		t.Errorf("the second time it finds %+v", answer.Findings)
	}
	c.install(t, "m0")
	if _, ok, _ := unstructured.NestedFieldNoCopy(c.get(t, va).Object, "status", "currentAlloc", "load"); ok {
		t.Error("the load is still stored")
	}
}

// apply runs migrate --apply -o json.
func (c cluster) apply(t *testing.T) migration {
	t.Helper()
	out, err := c.migrate(t, "--apply", "-o", "json")
	if err != nil && !errors.Is(err, errFinding) {
		t.Fatal(err)
	}
	var answer migration
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	if !answer.Applied {
		t.Error("it does not say that it applied")
	}
	return answer
}

// leave makes what older versions left, and an object that is none of theirs.
func (c cluster) leave(t *testing.T) (va, bystander *unstructured.Unstructured) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "llm-d-sim", Name: "vllme-deployment"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "v"}}
	deployment.Spec.Replicas = new(int32(0))
	deployment.Spec.Template.Labels = deployment.Spec.Selector.MatchLabels
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	helm := configMap(testbed.SystemNamespace, "accelerator-unitcost", map[string]string{"default": "kept"})
	helm.Annotations = map[string]string{"meta.helm.sh/release-name": "wva"}
	if err := c.Apply(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "llm-d-sim", Labels: map[string]string{v1alpha1.LegacyLabelConfigEnabled: "true"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testbed.SystemNamespace}},
		deployment, helm,
		configMap(testbed.SystemNamespace, "capacity-scaling-config", map[string]string{"default": "kvCacheThreshold: 0.7"}),
		configMap(testbed.SystemNamespace, "service-classes-config", map[string]string{"default": "new"}),
		configMap(testbed.SystemNamespace, "serviceclass", map[string]string{"default": "old"}),
		configMap("llm-d-sim", "wva-model-scale-to-zero-config", map[string]string{"default": "x"}),
	); err != nil {
		t.Fatal(err)
	}
	owner := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: deployment.Name, UID: deployment.UID, Controller: new(true), BlockOwnerDeletion: new(false),
	}
	va = c.store(t, "vllme-deployment", []metav1.OwnerReference{owner})
	owner.Controller = nil
	bystander = olderObject(t, "bystander", []metav1.OwnerReference{owner})
	if err := c.Client.Create(t.Context(), bystander); err != nil {
		t.Fatal(err)
	}
	return va, bystander
}

// olderObject returns an object of the first release, with its status.
func olderObject(t *testing.T, name string, owners []metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(older, "stored.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	va := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &va.Object); err != nil {
		t.Fatal(err)
	}
	va.SetName(name)
	va.SetOwnerReferences(owners)
	return va
}

// store makes an object with the load in its status, as the first release did.
func (c cluster) store(t *testing.T, name string, owners []metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	va := olderObject(t, name, owners)
	va.SetLabels(map[string]string{v1alpha1.LegacyLabelModelName: "default-default", v1alpha1.LabelAcceleratorName: "A100"})
	status := va.Object["status"]
	if err := c.Client.Create(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	va.Object["status"] = status
	if err := c.Client.Status().Update(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	return va
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func (c cluster) get(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
		t.Fatal(err)
	}
	return now
}

func (c cluster) definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var def apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.VariantAutoscalings(), &def); err != nil {
		t.Fatal(err)
	}
	return &def
}

// install replaces the definition by an older one, or by this version's with "",
// and waits until the server goes by it.
func (c cluster) install(t *testing.T, name string) {
	t.Helper()
	def := c.definition(t)
	if name != "" {
		text, err := os.ReadFile(filepath.Join(older, "older", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		schema := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict(text, schema); err != nil {
			t.Fatal(err)
		}
		def.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
	}
	if err := c.Apply(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	probe := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
	probe.Spec.ModelID = "m"
	c.await(t, "the server goes by the definition", func() bool {
		err := c.Client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)
		return (err == nil) == (name == "") // the first release needs a profile
	})
}

func (c cluster) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// versions returns the resource version of everything that migrate may change,
// and the generation of the definition, whose status the API server writes.
func (c cluster) versions(t *testing.T) map[string]string {
	t.Helper()
	vas := &unstructured.UnstructuredList{}
	vas.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind + "List"))
	out := map[string]string{}
	for _, list := range []client.ObjectList{vas, &corev1.ConfigMapList{}, &corev1.NamespaceList{}, &apiextensionsv1.CustomResourceDefinitionList{}} {
		if err := c.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			switch {
			case object.GetName() == "kube-root-ca.crt": // written by the cluster
			case object.GetGeneration() > 0 && object.GetNamespace() == "":
				out[fmt.Sprintf("%T/%s", o, object.GetName())] = strconv.FormatInt(object.GetGeneration(), 10)
			default:
				out[fmt.Sprintf("%T/%s/%s", o, object.GetNamespace(), object.GetName())] = object.GetResourceVersion()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// squeeze takes the padding out of a table.
func squeeze(text string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}
