package discovery

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The annotations by which a pod says where it serves its metrics, a convention of Prometheus
// configurations.
const (
	annotationScheme = "prometheus.io/scheme"
	annotationPort   = "prometheus.io/port"
	annotationPath   = "prometheus.io/path"
	// annotationPage holds the metrics URL of a pod in the cache. A pod from the API server may
	// have this annotation too; it is ignored there.
	annotationPage = "wva.llmd.ai/page"
	// annotationGPUs holds the number of accelerators of a pod in the cache.
	annotationGPUs = "wva.llmd.ai/gpus"
)

// defaultPort is the port at which vLLM serves its metrics by default.
const defaultPort = 8000

// stripKeepingPages returns a strip that also keeps the metrics URL of the selected pods.
func stripKeepingPages(of labels.Selector) func(object any) (any, error) {
	return func(object any) (any, error) {
		p, ok := object.(*corev1.Pod)
		if !ok || !of.Matches(labels.Set(p.Labels)) {
			return strip(object)
		}
		page := metricsURLOf(p)
		if len(p.Spec.Containers) == 0 {
			// The pod was stripped before: every pod of the API server has a container. On a pod
			// that was not stripped, its author wrote the annotation, which could name any address.
			page = p.Annotations[annotationPage]
		}
		stripped, err := strip(p)
		if out, ok := stripped.(*corev1.Pod); ok && page != "" {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, annotationPage, page)
		}
		return stripped, err
	}
}

// metricsURLOf returns the URL of a pod's metrics, "" while the pod has no address. The port is
// that of the annotation, else the port named for metrics, else the one named for HTTP, because
// engines serve both at one port.
func metricsURLOf(p *corev1.Pod) string {
	if p.Status.PodIP == "" {
		return ""
	}
	port, err := strconv.ParseUint(p.Annotations[annotationPort], 10, 16)
	if err != nil || port == 0 {
		port = uint64(metricsPort(p))
	}
	// The user who deployed the pod wrote the annotations. A scheme is copied into the URL
	// unescaped, so any other text could name another host.
	scheme := "http"
	if strings.EqualFold(p.Annotations[annotationScheme], "https") {
		scheme = "https"
	}
	page := url.URL{
		Scheme: scheme,
		Host:   net.JoinHostPort(p.Status.PodIP, strconv.FormatUint(port, 10)),
		Path:   "/" + strings.TrimPrefix(cmp.Or(p.Annotations[annotationPath], "/metrics"), "/"),
	}
	return page.String()
}

// metricsPort returns the port at which a pod most likely serves metrics.
func metricsPort(p *corev1.Pod) int {
	best, rank := defaultPort, 4
	names := []string{"metrics", "http-metrics", "http"}
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			at := slices.Index(names, port.Name)
			if at < 0 {
				at = len(names)
			}
			if at < rank {
				best, rank = int(port.ContainerPort), at
			}
		}
	}
	return best
}

// MetricsEndpoint is where a pod serves its metrics.
type MetricsEndpoint struct {
	Namespace, Pod string
	Model          string // the model ID that the pod serves, "" for an endpoint picker
	URL            string
	Starting       bool // the pod is not Ready, and may have no page yet
}

// MetricsEndpoints returns the metrics endpoints of the live pods of a fleet, in the fleet's order.
// It leaves out pods without an address.
func MetricsEndpoints(fleet scaling.Fleet) []MetricsEndpoint {
	models := make(map[scaling.VariantKey]string, len(fleet.Variants))
	for _, v := range fleet.Variants {
		models[v.Key] = v.Model.ID
	}
	pages := make([]MetricsEndpoint, 0, len(fleet.Pods))
	for _, p := range fleet.Pods {
		if p.MetricsURL != "" {
			pages = append(pages, MetricsEndpoint{Namespace: p.Namespace, Pod: p.Name, Model: models[p.Variant], URL: p.MetricsURL, Starting: !p.Ready})
		}
	}
	return pages
}

// Pickers returns the metrics endpoints of the endpoint pickers of gateways: the Ready pods that
// selector matches, sorted by namespace and name.
func (c *Cluster) Pickers(ctx context.Context, selector labels.Selector) ([]MetricsEndpoint, error) {
	var list corev1.PodList
	if err := c.reader.List(ctx, &list, client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing endpoint pickers: %w", err)
	}
	var pages []MetricsEndpoint
	for i := range list.Items {
		if p, ok := living(&list.Items[i]); ok && p.ready && p.metricsURL != "" {
			pages = append(pages, MetricsEndpoint{Namespace: p.namespace, Pod: p.name, URL: p.metricsURL})
		}
	}
	slices.SortFunc(pages, func(a, b MetricsEndpoint) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod))
	})
	return pages, nil
}
