package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
)

// askedWithin bounds the time of a query to Prometheus, and largestSeries the bytes read of its
// answer.
const (
	askedWithin   = 3 * time.Second
	largestSeries = 1 << 20
)

// probedMetric is a metric that every version of vLLM has, without its prefix.
const probedMetric = "num_requests_running"

// service is the Service that an address names.
type service struct{ Namespace, Name, Port, Scheme string }

// serviceOf returns the Service that an address names as NAME.NAMESPACE.svc, and false for any
// other address.
func serviceOf(address string) (service, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return service{}, false
	}
	parts := strings.Split(u.Hostname(), ".")
	if len(parts) < 3 || parts[2] != "svc" {
		return service{}, false
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return service{Namespace: parts[1], Name: parts[0], Port: cmp.Or(u.Port(), usual), Scheme: u.Scheme}, true
}

// proxy returns the path of the API server that leads to the Service.
func (s service) proxy() string {
	name := s.Name + ":" + s.Port
	if s.Scheme == "https" {
		name = "https:" + name
	}
	return "/api/v1/namespaces/" + s.Namespace + "/services/" + name + "/proxy"
}

// prometheusKey is the setting of the manager for the address of Prometheus.
const prometheusKey = "PROMETHEUS_BASE_URL"

// prometheusIn returns the address in a variable of the Deployments, "" for none.
func prometheusIn(deployments []appsv1.Deployment) string {
	for i := range deployments {
		for _, c := range deployments[i].Spec.Template.Spec.Containers {
			for _, v := range c.Env {
				if v.Name == prometheusKey && v.Value != "" {
					return v.Value
				}
			}
		}
	}
	return ""
}

// prometheusOf returns the address in the settings of a namespace, "" for none.
func prometheusOf(maps []corev1.ConfigMap, names config.Names, system string) string {
	for _, m := range maps {
		if kind, ok := names.KindOf(m.Name); ok && kind == config.KindSettings && m.Namespace == system && m.Data[prometheusKey] != "" {
			return m.Data[prometheusKey]
		}
	}
	return ""
}

// readPrefixes queries Prometheus, once per namespace, for series of vLLM under a prefix that the
// manager does not read, where a variant has no metrics. An unreachable Prometheus is no fault.
func (e *examination) readPrefixes(ctx context.Context, progress io.Writer) {
	known := map[string]doctor.Prefixes{}
	for i := range e.Variants {
		v := &e.Variants[i]
		if !slices.ContainsFunc(v.Object.Status.Conditions, missesMetrics) || v.File != "" {
			continue
		}
		ns := v.Object.Namespace
		if _, asked := known[ns]; !asked {
			if len(known) == 0 {
				fmt.Fprintln(progress, "Asking Prometheus for series under another prefix")
			}
			found, err := e.otherPrefixes(ctx, ns)
			known[ns] = doctor.Prefixes{Found: found, Read: e.prefixes}
			if err != nil {
				known[ns] = doctor.Prefixes{Why: oneLine(err)}
			}
		}
		v.Prefixes = known[ns]
	}
}

// missesMetrics reports whether a condition says that there are no metrics.
func missesMetrics(c metav1.Condition) bool { return c.Reason == string(v1alpha1.ReasonMetricsMissing) }

// otherPrefixes returns the prefixes of series of vLLM in a namespace that the manager does not
// read.
func (e *examination) otherPrefixes(ctx context.Context, namespace string) ([]string, error) {
	query := fmt.Sprintf(`group by (__name__) ({__name__=~".+%s",namespace=%q})`, probedMetric, namespace)
	body, err := e.askPrometheus(ctx, query)
	if err != nil {
		return nil, err
	}
	return prefixesIn(body, e.prefixes)
}

// prefixesIn returns the prefixes in the answer to a query for names, without those that the
// manager reads.
func prefixesIn(body []byte, read []string) ([]string, error) {
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("reading the answer of Prometheus: want a result, got %s", cmp.Or(answer.Error, fmt.Sprintf("%.100s", body)))
	}
	var out []string
	for _, r := range answer.Data.Result {
		prefix, ok := strings.CutSuffix(r.Metric["__name__"], probedMetric)
		if ok && !slices.Contains(read, prefix) && !slices.Contains(out, prefix) {
			out = append(out, prefix)
		}
	}
	slices.Sort(out)
	return out, nil
}

// askPrometheus sends a query without credentials: to --prometheus, to a Service through the API
// server, or to an address of this machine.
func (e *examination) askPrometheus(ctx context.Context, query string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, askedWithin)
	defer stop()
	const path = "/api/v1/query"
	base, err := url.Parse(e.prometheusAt)
	of, isService := serviceOf(e.prometheusAt)
	switch {
	case e.prometheusAt == "":
		return nil, errors.New("the manager's configuration does not say where Prometheus is: --prometheus URL")
	case err != nil:
		return nil, fmt.Errorf("reading the address of Prometheus: %w", err)
	case isService && e.prometheus == "":
		to := of.proxy() + strings.TrimSuffix(base.Path, "/") + path
		c, err := rest.UnversionedRESTClientFor(unversioned(e.config))
		if err != nil {
			return nil, err
		}
		return c.Get().AbsPath(to).Param("query", query).DoRaw(ctx)
	case e.prometheus == "" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("%s is an address within the cluster: --prometheus URL", base.Redacted())
	}
	return getQuery(ctx, base.JoinPath(path), query)
}

// getQuery sends a query to an address.
func getQuery(ctx context.Context, to *url.URL, query string) ([]byte, error) {
	to.RawQuery = url.Values{"query": {query}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Timeout: askedWithin}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking Prometheus: %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, largestSeries))
}

// unversioned returns a configuration for requests to any path.
func unversioned(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return out
}
