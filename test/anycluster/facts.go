package anycluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Facts is the state of a cluster before a run.
type Facts struct {
	// KindCluster is the name of the kind cluster, "" for another cluster.
	KindCluster string
	// OpenShift says that the cluster has the APIs of OpenShift.
	OpenShift bool
	// UserMonitoring says that OpenShift's Prometheus for users' namespaces runs.
	UserMonitoring bool
	// ExternalMetrics is the Service that serves External Metrics, "" for none.
	ExternalMetrics string
	// Definition says that the CRD is installed.
	Definition bool
	// APIServerPorts are the ports of the API server's endpoints.
	APIServerPorts []int32
}

// The names of objects of which a cluster has one.
const (
	definition         = "variantautoscalings.llmd.ai"
	externalMetricsAPI = "v1beta1.external.metrics.k8s.io"
)

var (
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
)

// Lacks returns what a scenario needs and the cluster lacks, "" for nothing.
func (f Facts) Lacks(l Label) string {
	switch {
	case l == Kind && f.KindCluster == "":
		return "the nodes are not those of one kind cluster (providerID kind://...)"
	case l == Kind && f.ExternalMetrics != "":
		return fmt.Sprintf("External Metrics are served by %s, so no HPA can read ours", f.ExternalMetrics)
	case l == OpenShift && !f.OpenShift:
		return "the API server has neither route.openshift.io nor config.openshift.io"
	case l == OpenShift && !f.UserMonitoring:
		return "no Prometheus runs in openshift-user-workload-monitoring (enableUserWorkload in ConfigMap openshift-monitoring/cluster-monitoring-config)"
	}
	return ""
}

// inspect reads the facts of a cluster.
func inspect(ctx context.Context, clients kubernetes.Interface, c client.Client) (f Facts, err error) {
	groups, err := clients.Discovery().ServerGroups()
	if err != nil {
		return f, fmt.Errorf("asking the API server for its groups: %w", err)
	}
	f.OpenShift = slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool {
		return g.Name == "route.openshift.io" || g.Name == "config.openshift.io"
	})
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return f, fmt.Errorf("listing nodes: %w", err)
	}
	f.KindCluster = kindCluster(nodes.Items)
	if f.OpenShift {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace("openshift-user-workload-monitoring"), client.MatchingLabels{"app.kubernetes.io/name": "prometheus"}); err != nil {
			return f, fmt.Errorf("looking for the monitoring of users' namespaces: %w", err)
		}
		f.UserMonitoring = len(pods.Items) > 0
	}
	if f.ExternalMetrics, err = externalMetricsServer(ctx, c); err != nil {
		return f, err
	}
	if f.Definition, err = exists(ctx, c, definitionKind, definition); err != nil {
		return f, err
	}
	f.APIServerPorts, err = apiServerPorts(ctx, c)
	return f, err
}

// kindCluster returns the name of the kind cluster of the nodes, "" if one of them is in no kind
// cluster or in another. Their providerID is kind://docker/CLUSTER/NODE.
func kindCluster(nodes []corev1.Node) string {
	name := ""
	for i := range nodes {
		rest, ok := strings.CutPrefix(nodes[i].Spec.ProviderID, "kind://")
		parts := strings.Split(rest, "/")
		if !ok || len(parts) != 3 || name != "" && name != parts[1] {
			return ""
		}
		name = parts[1]
	}
	return name
}

// externalMetricsServer returns the Service that serves External Metrics, "" for none.
func externalMetricsServer(ctx context.Context, c client.Client) (string, error) {
	api, err := object(ctx, c, apiServiceKind, externalMetricsAPI)
	if err != nil || api == nil {
		return "", err
	}
	namespace, _, _ := unstructured.NestedString(api.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(api.Object, "spec", "service", "name")
	return namespace + "/" + name, nil
}

// apiServerPorts returns the ports of the API server behind its Service, which network policies
// apply to.
func apiServerPorts(ctx context.Context, c client.Client) ([]int32, error) {
	var slicesOf discoveryv1.EndpointSliceList
	if err := c.List(ctx, &slicesOf, client.InNamespace("default"), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, fmt.Errorf("reading the endpoints of the API server: %w", err)
	}
	ports := []int32{443}
	for _, s := range slicesOf.Items {
		for _, p := range s.Ports {
			if p.Port != nil {
				ports = append(ports, *p.Port)
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}

// exists reports whether an object of the cluster exists.
func exists(ctx context.Context, c client.Client, kind schema.GroupVersionKind, name string) (bool, error) {
	o, err := object(ctx, c, kind, name)
	return o != nil, err
}

// object returns an object of the cluster, nil if it does not exist.
func object(ctx context.Context, c client.Client, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	if err := c.Get(ctx, client.ObjectKey{Name: name}, o); apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // said by the comment: there is nothing to return
	} else if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return o, nil
}
