package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// Ready returns nil if the manager reports that it is ready, else an error with its answer.
func (m *Manager) Ready(ctx context.Context) error {
	if _, err := get(ctx, m.client, m.HealthURL+"/readyz", ""); err != nil {
		return fmt.Errorf("asking %s whether it is ready: %w", m.Name, err)
	}
	return nil
}

// Explain returns the manager's explanation of every variant.
func (m *Manager) Explain(ctx context.Context) ([]explain.Explanation, error) {
	body, err := m.Get(ctx, "/debug/decisions")
	if err != nil {
		return nil, err
	}
	var out []explain.Explanation
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("reading the manager's decisions: %w", err)
	}
	return out, nil
}

// Get reads a path of the manager's authenticated port.
func (m *Manager) Get(ctx context.Context, path string) ([]byte, error) {
	body, err := get(ctx, m.client, m.URL+path, m.token)
	if err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", path, m.Name, err)
	}
	return body, nil
}

// GetAs reads a path of the manager's authenticated port with a token, and returns the
// status and the body of the answer.
func (m *Manager) GetAs(ctx context.Context, path, token string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL+path, http.NoBody)
	if err != nil {
		return 0, nil, fmt.Errorf("reading %s of %s: %w", path, m.Name, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := m.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("reading %s of %s: %w", path, m.Name, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// ExternalMetric returns wva_desired_replicas of a variant from the API of this manager itself.
func (m *Manager) ExternalMetric(ctx context.Context, namespace, variant string) (float64, error) {
	body, err := get(ctx, m.client, m.ExternalURL+externalMetricPath(namespace, variant), m.token)
	if err != nil {
		return 0, fmt.Errorf("reading wva_desired_replicas of %s: %w", m.Name, err)
	}
	return externalMetric(body)
}

// ExternalMetric returns wva_desired_replicas of a variant from the API server, as an HPA reads it.
func (b *Bed) ExternalMetric(ctx context.Context, namespace, variant string) (float64, error) {
	c, err := rest.HTTPClientFor(b.Config)
	if err != nil {
		return 0, fmt.Errorf("connecting to the local cluster: %w", err)
	}
	body, err := get(ctx, c, b.Config.Host+externalMetricPath(namespace, variant), "")
	if err != nil {
		return 0, fmt.Errorf("reading wva_desired_replicas of the API server: %w", err)
	}
	return externalMetric(body)
}

func externalMetricPath(namespace, variant string) string {
	return "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + namespace + "/wva_desired_replicas?labelSelector=" +
		url.QueryEscape("variant_name="+variant)
}

// externalMetric returns the value of a list of one item.
func externalMetric(body []byte) (float64, error) {
	var list struct {
		Items []struct {
			Value resource.Quantity `json:"value"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return 0, fmt.Errorf("reading wva_desired_replicas: %w", err)
	}
	if len(list.Items) != 1 {
		return 0, fmt.Errorf("reading wva_desired_replicas: %d items, want one: %.200s", len(list.Items), body)
	}
	return list.Items[0].Value.AsApproximateFloat64(), nil
}

// Query returns the value of a PromQL expression in the Bed's Prometheus, NaN for no value. Several
// values are an error.
func (b *Bed) Query(ctx context.Context, expression string) (float64, error) {
	body, err := get(ctx, http.DefaultClient, b.State.Prometheus+"/api/v1/query?query="+url.QueryEscape(expression), "")
	if err != nil {
		return 0, fmt.Errorf("querying %s: %w", expression, err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"` // time, and value as text
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("querying %s: %w", expression, err)
	}
	switch rows := answer.Data.Result; len(rows) {
	case 0:
		return math.NaN(), nil
	case 1:
		value, err := strconv.ParseFloat(fmt.Sprint(rows[0].Value[1]), 64)
		if err != nil {
			return 0, fmt.Errorf("querying %s: %w", expression, err)
		}
		return value, nil
	default:
		return 0, fmt.Errorf("querying %s: %d values, want one: %.200s", expression, len(rows), body)
	}
}

// get reads a URL; an answer other than 200 is an error. The token may be empty.
func get(ctx context.Context, c *http.Client, from, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.200s", resp.Status, body)
	}
	return body, nil
}
