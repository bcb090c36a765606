package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// lookLimit bounds the search for Prometheus in the manager's configuration.
const lookLimit = 3 * time.Second

// past returns the Prometheus for the time before the manager: the one that is named, else that of
// the manager's configuration; nil where there is none.
func (f *dashboardFlags) past(ctx context.Context, restConfig *rest.Config, c client.Reader) (*dashboard.Past, error) {
	if f.store.url != "" {
		source, err := f.store.open()
		if err != nil {
			return nil, fmt.Errorf("%w: --prometheus: %w", errUsage, err)
		}
		return dashboard.NewPast(source, redacted(f.store.url), nil), nil
	}
	ctx, stop := context.WithTimeout(ctx, lookLimit)
	defer stop()
	address := configuredPrometheus(ctx, c, f.lease.Namespace)
	if address == "" {
		return nil, nil //nolint:nilnil // as LiveOptions takes it
	}
	source, err := fromHere(restConfig, address)
	if err != nil {
		return dashboard.NewPast(noStore{err}, redacted(address), nil), nil
	}
	return dashboard.NewPast(source, redacted(address), nil), nil
}

// redacted returns an address without its password.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return address
}

// configuredPrometheus returns the address of Prometheus in the configuration of the manager in a
// namespace. It returns "" where there is none or the user may not read it.
func configuredPrometheus(ctx context.Context, c client.Reader, system string) string {
	var deployments appsv1.DeploymentList
	if err := c.List(ctx, &deployments, client.InNamespace(system)); err == nil {
		if address := prometheusIn(deployments.Items); address != "" {
			return address
		}
	}
	var maps corev1.ConfigMapList
	if err := c.List(ctx, &maps, client.InNamespace(system)); err != nil {
		return ""
	}
	var own []string
	for _, m := range maps.Items {
		own = append(own, m.Name)
	}
	return prometheusOf(maps.Items, config.PublishedNames().WithPrefixed(own), system)
}

// fromHere returns the Prometheus at an address of the manager's configuration, as this machine
// reaches it: a Service through the API server with the credentials of the kubeconfig, an address
// of this machine directly.
func fromHere(restConfig *rest.Config, address string) (*prometheus.Source, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the manager's configuration has no address that can be read: name it by --prometheus")
	}
	of, isService := serviceOf(address)
	switch {
	case loopback(base.Hostname()):
		return prometheus.New(prometheus.Config{URL: address, AllowInsecure: true})
	case !isService:
		return nil, errors.New("the manager asks it with credentials of its own: wva dashboard --prometheus asks it with yours")
	}
	server, _, err := rest.DefaultServerUrlFor(restConfig)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(restConfig)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the kubeconfig: %w", err)
	}
	to := server.JoinPath(of.proxy(), strings.TrimSuffix(base.Path, "/"))
	to.RawQuery = base.RawQuery
	return prometheus.New(prometheus.Config{URL: to.String(), AllowInsecure: true, Transport: transport})
}

// noStore is a Prometheus that this machine cannot reach.
type noStore struct{ why error }

func (n noStore) Range(context.Context, string, time.Time, time.Time, time.Duration) ([]query.Curve, error) {
	return nil, n.why
}
