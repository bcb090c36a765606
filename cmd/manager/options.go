package main

import (
	"crypto/tls"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
)

// cacheOptions restricts the watches to the objects that this manager serves.
func cacheOptions(o *config.Operator) cache.Options {
	options := discovery.CacheOptions(discovery.Needs{
		Pages: scrapedPods(o.Collector), Namespace: o.WatchNamespace,
	})
	if o.WatchNamespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.WatchNamespace: {}}
	}
	if o.ControllerInstance != "" {
		options.ByObject[&v1alpha1.VariantAutoscaling{}] = cache.ByObject{
			Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelControllerInstance: o.ControllerInstance}),
		}
	}
	return options
}

// scrapedPods selects the pods whose pages are scraped, nil for none: all for the backends pods and
// epp, else the endpoint pickers. A selector that cannot be parsed, which validation refuses,
// counts as none.
func scrapedPods(c config.Collector) labels.Selector {
	if c.Backend != config.BackendPrometheus {
		return labels.Everything()
	}
	pickers, err := labels.Parse(c.Scrape.PickerSelector)
	if err != nil || pickers.Empty() {
		return nil
	}
	return pickers
}

// newCache returns a cache whose watches have no timeout: the timeout of the REST client is for
// requests, but a watch lasts.
func newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	options.HTTPClient = nil // built from config
	return cache.New(config, options)
}

// checkMetricsCertificate refuses a certificate that cannot be served.
func checkMetricsCertificate(o *config.Operator) error {
	if !o.MetricsSecure || o.MetricsCertPath == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(o.MetricsCertPath, o.MetricsCertName), filepath.Join(o.MetricsCertPath, o.MetricsCertKey)); err != nil {
		return &config.FieldError{
			Key: "METRICS_CERT_PATH", Value: o.MetricsCertPath,
			Want: fmt.Sprintf("a folder with the certificate %s and its key %s (%s)", o.MetricsCertName, o.MetricsCertKey, err),
		}
	}
	return nil
}

// eventSource is the component name in events.
const eventSource = "workload-variant-autoscaler"

// newExternalMetrics builds the External Metrics API, which every manager serves: the leader from
// its ledger, the others from the objects' status. It returns no runnable where the API has no
// address.
func newExternalMetrics(c common, store *external.Store) ([]manager.Runnable, error) {
	o := c.operator
	if o.ExternalMetricsBindAddress == "" {
		return nil, nil
	}
	options := external.Options{
		BindAddress: o.ExternalMetricsBindAddress, RESTConfig: c.mgr.GetConfig(), Log: c.log,
		Provider: external.NewProvider(external.ProviderOptions{
			Store: store, Fallback: actuator.NewStatusValues(c.served, c.fleet.Followed), ControllerInstance: o.ControllerInstance,
			Pods: c.fleet.ReadyPods,
			Ambiguous: actuator.NewAmbiguities(actuator.AmbiguitiesOptions{
				Reader: c.served, Events: c.mgr.GetEventRecorder(eventSource), Clock: clock.RealClock{}, Log: c.log,
			}).Report,
		}),
	}
	if o.ExternalMetricsCertPath != "" {
		options.CertFile = filepath.Join(o.ExternalMetricsCertPath, "tls.crt")
		options.KeyFile = filepath.Join(o.ExternalMetricsCertPath, "tls.key")
	}
	server, err := external.New(options)
	if err != nil {
		return nil, err
	}
	return []manager.Runnable{everywhere{server}}, nil
}

// newExternalScaler builds the external scaler of KEDA, which every manager serves: the leader from
// its ledger, the others from the objects' status. It returns no runnable where the scaler has no
// address.
func newExternalScaler(c common, store *external.Store) ([]manager.Runnable, error) {
	o := c.operator.ExternalScaler
	if o.BindAddress == "" {
		return nil, nil
	}
	options := externalscaler.Options{
		BindAddress: o.BindAddress, ClientAuthorities: o.ClientCAPath, Log: c.log, Targets: c.fleet.By,
		Decisions: external.Source{Store: store, Fallback: actuator.NewStatusValues(c.served, c.fleet.Followed)},
	}
	if o.CertPath != "" {
		options.CertFile, options.KeyFile = filepath.Join(o.CertPath, "tls.crt"), filepath.Join(o.CertPath, "tls.key")
	}
	server, err := externalscaler.New(options)
	if err != nil {
		return nil, err
	}
	return []manager.Runnable{everywhere{server}}, nil
}
