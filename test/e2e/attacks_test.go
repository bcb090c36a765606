//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// attack is what one tenant does. Its objects stay while the next ones follow.
type attack struct {
	name  string
	begin func(t *testing.T, c *chartCluster)
	// seen waits until the manager has told that it met the attack; nil for what it is
	// not told of.
	seen func(t *testing.T, c *chartCluster)
}

var attacks = []attack{
	{name: "none, for comparison", begin: func(*testing.T, *chartCluster) {}},
	{"a variable used 15,000 times in a command line", expandCommandLines, func(t *testing.T, c *chartCluster) {
		c.says(t, tenant, "expanding", v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, "the command line of the engine is longer than")
	}},
	{"10,000 aliases of one text", multiplyAliases, func(t *testing.T, c *chartCluster) {
		c.says(t, tenant, "aliases", v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, "aliases")
	}},
	{"names of 250 kB, and 5,000 entries for 900 models", lengthenNames, func(t *testing.T, c *chartCluster) {
		c.event(t, "model-scale-to-zero-config")
	}},
	{"pages with a status line of 10 MB", serveEndlessStatusLines, func(t *testing.T, c *chartCluster) {
		c.says(t, tenant, hostilePages, v1alpha1.ConditionMetricsAvailable, metav1.ConditionFalse, "No vLLM metrics found")
		c.logged(t, hostilePages, 10, hostilePagesSent)
	}},
	{name: "600 connections with 1 MB of headers to each port", begin: holdConnections},
	{"a target that belongs to no namespace", targetTheCluster, func(t *testing.T, c *chartCluster) {
		c.says(t, tenant, "cluster", v1alpha1.ConditionTargetResolved, metav1.ConditionFalse, "it belongs to no namespace")
		c.poolHas(t, 40)
	}},
}

// logged waits until each of so many pods of a Deployment of the tenant has logged a text.
func (c *chartCluster) logged(t *testing.T, name string, pods int, text string) {
	t.Helper()
	eventually(t, 90*time.Second, func(ctx context.Context) string {
		var list corev1.PodList
		if err := c.bed.Client.List(ctx, &list, client.InNamespace(tenant), client.MatchingLabels{"app": name}); err != nil {
			return err.Error()
		}
		if len(list.Items) != pods {
			return fmt.Sprintf("%s has %d pods, want %d", name, len(list.Items), pods)
		}
		for _, p := range list.Items {
			log, err := c.logs.CoreV1().Pods(tenant).GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			if err != nil {
				return err.Error()
			}
			if !strings.Contains(string(log), text) {
				return fmt.Sprintf("the log of %s does not say %q: %.500s", p.Name, text, log)
			}
		}
		return ""
	})
}

// create creates objects as the tenant, in its namespace.
func (c *chartCluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		o.SetNamespace(tenant)
		if err := c.tenant.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// event waits until there is an event of an object of the tenant.
func (c *chartCluster) event(t *testing.T, name string) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		var list corev1.EventList
		if err := c.bed.Client.List(ctx, &list, client.InNamespace(tenant)); err != nil {
			return err.Error()
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == name {
				return ""
			}
		}
		return "there is no event of " + name
	})
}

// variantOf returns a variant of the model of its name, with a target.
func variantOf(name, version, kind, target string) *v1alpha1.VariantAutoscaling {
	return &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
		Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: name, ScaleTargetRef: &v1alpha1.ScaleTargetRef{APIVersion: version, Kind: kind, Name: target},
			Accelerator: "L40S", VariantCost: "12", MinReplicas: 1,
		},
	}
}

// deploymentOf returns a Deployment of one container.
func deploymentOf(name string, replicas int32, container corev1.Container) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	container.Name = "server"
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
		},
	}
}

// expandCommandLines creates two Deployments of 90 kB whose command lines would have 450
// MB: of any program and without a variant, and of vLLM with one.
func expandCommandLines(t *testing.T, c *chartCluster) {
	expanding := corev1.Container{
		Image: "any", Env: []corev1.EnvVar{{Name: "A", Value: strings.Repeat("a", 30_000)}}, Args: []string{"serve", strings.Repeat("$(A)", 15_000)},
	}
	c.create(t, deploymentOf("any", 0, expanding))
	expanding.Image, expanding.Command = "vllm/vllm-openai:v1", []string{"vllm"}
	c.create(t, deploymentOf("expanding", 0, expanding), variantOf("expanding", "apps/v1", "Deployment", "expanding"))
}

// multiplyAliases creates a ConfigMap of 100 kB that would be 600 MB.
func multiplyAliases(t *testing.T, c *chartCluster) {
	text := "a: &a " + strings.Repeat("x", 60_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]\nkvCacheThreshold: 0.7\n"
	c.create(t, variantOf("aliases", "apps/v1", "Deployment", "aliases"), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "saturation-scaling-config"}, Data: map[string]string{"default": text},
	})
}

// lengthenNames creates a ConfigMap with an entry for a model of a very long name and
// 5,000 for others, and variants of models with names that are like them.
func lengthenNames(t *testing.T, c *chartCluster) {
	const models, entries, long = 900, 5000, 250_000
	data := map[string]string{"long": "modelID: " + strings.Repeat("a", long) + "\nenableScaleToZero: true\n"}
	for i := range entries {
		data[fmt.Sprint("e", i)] = fmt.Sprintf("modelID: org/model-with-an-ordinary-name-%05d\n", i)
	}
	c.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "model-scale-to-zero-config"}, Data: data})
	named := variantOf("long", "apps/v1", "Deployment", "long")
	named.Spec.ModelID = strings.Repeat("b", long)
	c.create(t, named)
	var group errgroup.Group
	group.SetLimit(16)
	for i := range models {
		group.Go(func() error {
			va := variantOf(fmt.Sprintf("m-%04d", i), "apps/v1", "Deployment", "none")
			va.Spec.ModelID = fmt.Sprintf("org/madel-with-an-ordinary-name-%05d-x", i)
			return c.tenant.Create(t.Context(), va)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// serveEndlessStatusLines deploys ten pods of a variant that answer with 10 MB before
// anything else.
func serveEndlessStatusLines(t *testing.T, c *chartCluster) {
	const pods = 10
	c.create(t, deploymentOf(hostilePages, pods, corev1.Container{
		Image: "localhost/" + hostile + ":dev", Args: []string{hostilePages, "--listen=:8000"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8000}},
	}), variantOf(hostilePages, "apps/v1", "Deployment", hostilePages))
	eventually(t, time.Minute, func(ctx context.Context) string {
		d := &appsv1.Deployment{}
		if err := c.bed.Client.Get(ctx, client.ObjectKey{Namespace: tenant, Name: hostilePages}, d); err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas != pods {
			return fmt.Sprintf("%d hostile pods are Ready, want %d", d.Status.ReadyReplicas, pods)
		}
		return ""
	})
}

// holdConnections deploys ten pods that hold 600 connections to each port of each manager.
func holdConnections(t *testing.T, c *chartCluster) {
	managers, err := c.managers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{hostileConnections, "--from=:0"}
	for _, p := range managers {
		for _, port := range []string{"8081", "8443"} {
			args = append(args, net.JoinHostPort(p.Status.PodIP, port))
		}
	}
	d := deploymentOf(hostileConnections, connectingPods, corev1.Container{Image: "localhost/" + hostile + ":dev", Args: args})
	c.create(t, d)
	c.logged(t, hostileConnections, connectingPods, connectionsHeld)
	t.Cleanup(func() { // what the next attack meets is not to be the work of this machine
		if err := client.IgnoreNotFound(c.tenant.Delete(context.WithoutCancel(t.Context()), d)); err != nil {
			t.Error(err)
		}
	})
}

// nodePoolGroup is the API group of a kind that belongs to no namespace and has a scale.
const nodePoolGroup = "platform.example"

func nodePools() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "nodepools." + nodePoolGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: nodePoolGroup, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "nodepools", Kind: "NodePool"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
					SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: new(".status.selector"),
				}},
			}},
		},
	}
}

func nodePool() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": nodePoolGroup + "/v1", "kind": "NodePool", "metadata": map[string]any{"name": "shared"},
		"spec": map[string]any{"replicas": int64(40)}, "status": map[string]any{"replicas": int64(40), "selector": "app=shared"},
	}}
}

// targetTheCluster creates a variant whose target is an object of the cluster, which the
// manager may scale and the tenant may not.
func targetTheCluster(t *testing.T, c *chartCluster) {
	if err := c.bed.Apply(t.Context(), nodePool()); err != nil {
		t.Fatal(err)
	}
	pods, err := c.managers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]bool{pods[0].Spec.ServiceAccountName: true, tenant: false} {
		namespace := chartNamespace
		if user == tenant {
			namespace = tenant
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":" + user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: nodePoolGroup, Version: "v1", Resource: "nodepools", Subresource: "scale", Name: "shared", Verb: "update",
			},
		}}
		if err := c.bed.Client.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != want {
			t.Fatalf("%s may update the scale of a NodePool: %t, want %t", review.Spec.User, review.Status.Allowed, want)
		}
	}
	va := variantOf("cluster", nodePoolGroup+"/v1", "NodePool", "shared")
	va.Annotations = map[string]string{v1alpha1.AnnotationActuation: "scale"}
	va.Spec.MinReplicas, va.Spec.MaxReplicas = 1, new(int32(1))
	c.create(t, va)
}

// poolHas fails the test unless the object of the cluster has its replicas.
func (c *chartCluster) poolHas(t *testing.T, want int64) {
	t.Helper()
	pool := nodePool()
	if err := c.bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedInt64(pool.Object, "spec", "replicas"); got != want {
		t.Errorf("the NodePool is to have %d replicas, want %d", got, want)
	}
}
