package externalscaler

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// metricName is the name of the one metric. target is its divisor in the HPA, so that the quotient
// is the number of replicas.
const (
	metricName = metrics.DesiredReplicas
	target     = 1
)

// service implements the calls.
type service struct {
	wire.UnimplementedExternalScalerServer
	lookup   *lookup
	streams  *streams
	who      *certificate.Authorities // nil admits every client
	clock    clock.WithTicker
	stopping chan struct{} // closed when the server stops
}

var _ wire.ExternalScalerServer = (*service)(nil)

func newService(opts Options, who *certificate.Authorities) *service {
	return &service{
		lookup: newLookup(opts), streams: newStreams(), who: who, clock: opts.Clock, stopping: make(chan struct{}),
	}
}

// IsActive reports whether the variant should have a replica.
func (s *service) IsActive(ctx context.Context, ref *wire.ScaledObjectRef) (*wire.IsActiveResponse, error) {
	v, err := s.lookup.decision(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &wire.IsActiveResponse{Result: v.Desired > 0}, nil
}

// GetMetricSpec returns the metric and its target, even for an unknown variant.
func (s *service) GetMetricSpec(_ context.Context, ref *wire.ScaledObjectRef) (*wire.GetMetricSpecResponse, error) {
	if err := check(ref); err != nil {
		return nil, err
	}
	return spec(), nil
}

// spec returns the metric that every trigger reads.
func spec() *wire.GetMetricSpecResponse {
	return &wire.GetMetricSpecResponse{MetricSpecs: []*wire.MetricSpec{{
		MetricName: metricName, TargetSize: target, TargetSizeFloat: target,
	}}}
}

// GetMetrics returns the decided replicas of the variant.
func (s *service) GetMetrics(ctx context.Context, request *wire.GetMetricsRequest) (*wire.GetMetricsResponse, error) {
	if name := request.GetMetricName(); name != metricName {
		return nil, status.Errorf(codes.InvalidArgument, "metric %.80q is asked for, and %s is served", name, metricName)
	}
	v, err := s.lookup.decision(ctx, request.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	return &wire.GetMetricsResponse{MetricValues: []*wire.MetricValue{{
		MetricName: metricName, MetricValue: int64(v.Desired), MetricValueFloat: float64(v.Desired),
	}}}, nil
}
