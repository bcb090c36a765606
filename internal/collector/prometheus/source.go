package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
)

// Source answers queries over the Prometheus HTTP API. It is safe for
// concurrent use.
type Source struct {
	api       v1.API
	client    *client
	onWarning func(expr string, warnings []string)
}

var _ collector.Source = (*Source)(nil)

// New returns a Source, or what is wrong with the configuration. It does not
// contact the store, which may come up later.
func New(config Config) (*Source, error) {
	u, err := config.validate()
	if err != nil {
		return nil, err
	}
	config = config.withDefaults()
	trans, err := newTransport(config)
	if err != nil {
		return nil, err
	}
	base, err := api.NewClient(api.Config{Address: config.URL, RoundTripper: trans})
	if err != nil {
		return nil, fmt.Errorf("creating the Prometheus client: %w", err)
	}
	c := &client{
		Client: base,
		host:   hostPort(u),
		config: config,
		http: &http.Client{
			Transport: trans,
			Timeout:   config.Timeout,
			// A redirect leads to a login page or to another host, and neither
			// should see the credentials.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return &Source{api: v1.NewAPI(c), client: c, onWarning: config.OnWarning}, nil
}

// Query implements collector.Source. It sends POST, and GET where POST is not
// allowed. Errors are of type *Error.
func (s *Source) Query(ctx context.Context, expr string, at time.Time) ([]collector.Sample, error) {
	value, warnings, _, err := s.api.Query(ctx, expr, at)
	if len(warnings) > 0 {
		s.onWarning(expr, warnings)
	}
	if err != nil {
		return nil, s.described(err)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		found := "an answer without a result"
		if value != nil {
			found = fmt.Sprintf("a %s where a vector was expected", value.Type())
		}
		return nil, &Error{Host: s.client.host, Status: http.StatusOK, Found: found}
	}
	samples := make([]collector.Sample, 0, len(vector))
	for _, row := range vector {
		if row == nil || row.Histogram != nil {
			continue // a native histogram is no number
		}
		samples = append(samples, toSample(row))
	}
	return samples, nil
}

// Close closes the connections that no query uses.
func (s *Source) Close() { s.client.http.CloseIdleConnections() }

// described returns err as an *Error.
func (s *Source) described(err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	// What the library says about a 2xx answer.
	if answered, ok := errors.AsType[*v1.Error](err); ok {
		return &Error{Host: s.client.host, Status: http.StatusOK, Found: answered.Error(), err: err}
	}
	return unreached(s.client.host, err)
}

// toSample converts one row.
func toSample(row *model.Sample) collector.Sample {
	labels := make(map[string]string, len(row.Metric))
	for name, value := range row.Metric {
		labels[string(name)] = string(value)
	}
	return collector.Sample{Labels: labels, Value: float64(row.Value), At: row.Timestamp.Time().UTC()}
}
