package external

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/metrics/pkg/apis/external_metrics/install"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver/installer"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
	storage "sigs.k8s.io/custom-metrics-apiserver/pkg/registry/external_metrics"
)

// apiPrefix is the path under which API groups live.
const apiPrefix = "/apis"

// requestTimeout limits the time of a request, reviews included.
const requestTimeout = 20 * time.Second

// api is the group external.metrics.k8s.io as HTTP.
type api struct {
	scheme    *runtime.Scheme
	codecs    serializer.CodecFactory
	container *restful.Container
}

// newAPI returns the routes of the group: the lists of metrics, and discovery
// of the group at each of its three levels.
func newAPI(metrics provider.ExternalMetricsProvider) (*api, error) {
	a := &api{scheme: newScheme(), container: restful.NewContainer()}
	a.codecs = serializer.NewCodecFactory(a.scheme)
	a.container.Router(restful.CurlyRouter{})

	version := v1beta1.SchemeGroupVersion
	group := &installer.MetricsAPIGroupVersion{
		DynamicStorage: storage.NewREST(metrics),
		ResourceLister: provider.NewExternalMetricResourceLister(metrics),
		Handlers:       &installer.EMHandlers{},
		APIGroupVersion: &endpoints.APIGroupVersion{
			Root:            apiPrefix,
			GroupVersion:    version,
			ParameterCodec:  metav1.ParameterCodec,
			Serializer:      a.codecs,
			Creater:         a.scheme,
			Convertor:       a.scheme,
			UnsafeConvertor: runtime.UnsafeObjectConvertor(a.scheme),
			Typer:           a.scheme,
			Namer:           runtime.Namer(meta.NewAccessor()),
		},
	}
	if err := group.InstallREST(a.container); err != nil {
		return nil, fmt.Errorf("installing the API %s: %w", version, err)
	}

	served := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
	described := metav1.APIGroup{
		Name:             version.Group,
		Versions:         []metav1.GroupVersionForDiscovery{served},
		PreferredVersion: served,
	}
	a.container.Add(discovery.NewAPIGroupHandler(a.codecs, described).WebService())
	root := discovery.NewRootAPIsHandler(noAddresses{}, a.codecs)
	root.AddGroup(described)
	a.container.Add(root.WebService())
	return a, nil
}

// noAddresses leaves the addresses of this server out of discovery: clients
// come through the aggregation layer and must not go around it.
type noAddresses struct{}

// ServerAddressByClientCIDRs returns nil.
func (noAddresses) ServerAddressByClientCIDRs(net.IP) []metav1.ServerAddressByClientCIDR { return nil }

// newScheme returns the types that the group speaks.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}

// handler returns the routes behind the guard, which authorizes requests.
func (a *api) handler(guard func(http.Handler) http.Handler) http.Handler {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis")}
	h := guard(http.HandlerFunc(a.container.Dispatch))
	h = withDeadline(h, requestTimeout)
	h = filters.WithCacheControl(h)
	return filters.WithRequestInfo(h, resolver)
}

// withDeadline ends the context of a request after d.
func withDeadline(h http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), d)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}
