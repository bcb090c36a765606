package chart

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

// bound returns the bindings to roles of others as kind, namespace, role and subject.
func bound(t *testing.T, out *Output) []string {
	t.Helper()
	var all []string
	for _, o := range out.Objects {
		if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
			continue
		}
		b := find[rbacv1.RoleBinding](t, []*unstructured.Unstructured{o}, Identity(o)) // of one shape
		for _, s := range b.Subjects {
			if !strings.Contains(b.RoleRef.Name, "workload-variant-autoscaler") || strings.HasSuffix(b.RoleRef.Name, "-metrics-reader") {
				all = append(all, strings.TrimSpace(b.Namespace+" "+b.RoleRef.Name+": "+s.Namespace+"/"+s.Name))
			}
		}
	}
	slices.Sort(all)
	return all
}

// ingress returns the namespaces that may reach a port of the manager; nil where every one may.
func ingress(t *testing.T, out *Output, port int32) []string {
	t.Helper()
	policy := find[networkingv1.NetworkPolicy](t, out.Objects, "NetworkPolicy/workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager")
	for _, rule := range policy.Spec.Ingress {
		if rule.Ports[0].Port.IntVal != port {
			continue
		}
		var from []string
		for _, peer := range rule.From {
			from = append(from, peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName])
		}
		return from
	}
	t.Fatalf("no rule for port %d", port)
	return nil
}

func TestThePresetsOfOpenShift(t *testing.T) {
	chart := load(t)
	const manager = "workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager"
	const userWorkload, platform = "openshift-user-workload-monitoring", "openshift-monitoring"
	for _, test := range []struct {
		sample, url  string
		scrape       []string // the namespaces whose Prometheus may scrape
		bound        []string
		watch, lacks string // argument that is given, and one that is not
	}{
		{
			"openshift", "https://thanos-querier.openshift-monitoring.svc:9091",
			[]string{userWorkload, platform},
			[]string{
				"cluster-monitoring-view: " + manager, "system:auth-delegator: " + manager,
				"workload-variant-autoscaler-metrics-reader: " + platform + "/prometheus-k8s",
				"workload-variant-autoscaler-metrics-reader: " + userWorkload + "/prometheus-user-workload",
			},
			"--leader-elect", "--watch-namespace=team-a",
		},
		{
			"openshift-tenant", "https://thanos-querier.openshift-monitoring.svc:9092/?namespace=team-a",
			[]string{userWorkload},
			[]string{
				"system:auth-delegator: " + manager, "team-a view: " + manager,
				"workload-variant-autoscaler-workload-variant-autoscaler-system-metrics-reader: " + userWorkload + "/prometheus-user-workload",
			},
			"--watch-namespace=team-a", "--watch-namespace=",
		},
	} {
		t.Run(test.sample, func(t *testing.T) {
			v := samples(t)[test.sample]
			set(v, "externalScaler.enabled", true)
			out := mustRender(t, chart, v, standard)
			if diff := cmp.Diff(test.bound, bound(t, out)); diff != "" {
				t.Errorf("rights (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.scrape, ingress(t, out, 8443)); diff != "" {
				t.Errorf("who may reach the metrics (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]string{"openshift-keda"}, ingress(t, out, 9443)); diff != "" {
				t.Errorf("who may reach the external scaler (-want +got)\n%s", diff)
			}
			settings := find[corev1.ConfigMap](t, out.Objects, ofSettings).Data
			for key, want := range map[string]string{
				"PROMETHEUS_BASE_URL": test.url, "PROMETHEUS_CA_CERT_PATH": "/etc/wva/prometheus-ca/service-ca.crt",
				"PROMETHEUS_TOKEN_PATH": "/var/run/secrets/kubernetes.io/serviceaccount/token",
			} {
				if settings[key] != want {
					t.Errorf("%s: got %q, want %q", key, settings[key], want)
				}
			}
			d := find[appsv1.Deployment](t, out.Objects, "Deployment/"+manager).Spec.Template.Spec
			if d.SecurityContext.RunAsUser != nil {
				t.Errorf("got user %d, want that of OpenShift", *d.SecurityContext.RunAsUser)
			}
			if args := d.Containers[0].Args; !slices.Contains(args, test.watch) || slices.Contains(args, test.lacks) {
				t.Errorf("got arguments %v, want %s and not %s", args, test.watch, test.lacks)
			}
			find[unstructured.Unstructured](t, out.Objects, "ServiceMonitor/workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager-metrics-monitor")
		})
	}
	refused(t, chart, "rbac: {namespaceRoles: [view]}", "rbac.namespaceRoles: the manager serves every namespace")
}

// managed renders beside the Kserve of OpenShift AI, which may have a manager of its own.
func (c *cluster) managed(t *testing.T) {
	keeps := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "kserves.components.platform.opendatahub.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "components.platform.opendatahub.io", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "kserves", Singular: "kserve", Kind: "Kserve"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keeps}},
			}},
		},
	}
	if err := c.Define(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	chart, release := load(t), Release{Name: "mine", Namespace: "elsewhere", Cluster: c.Config}
	for _, test := range []struct{ state, want string }{
		{"Removed", ""},
		{"Managed", "Kserve default-kserve of OpenShift AI has spec.wva.managementState Managed"},
	} {
		if err := c.Apply(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "components.platform.opendatahub.io/v1alpha1", "kind": "Kserve", "metadata": map[string]any{"name": "default-kserve"},
			"spec": map[string]any{"wva": map[string]any{"managementState": test.state}},
		}}); err != nil {
			t.Fatal(err)
		}
		_, err := Render(chart, nil, release)
		said(t, err, test.want)
	}
	if err := c.Client.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	// Others of the cluster render once it is not served any more.
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		served, err := servedVersions(c.Config)
		return !slices.Contains(served, "components.platform.opendatahub.io/v1alpha1"), err
	})
	if err != nil {
		t.Fatal(err)
	}
}
