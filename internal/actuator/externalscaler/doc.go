// Package externalscaler serves the decisions to KEDA as an external scaler: the gRPC
// service externalscaler.ExternalScaler, which a ScaledObject names by a trigger of type
// external or external-push. KEDA reads the decision without Prometheus, and learns within
// a second that a variant is to have its first replica.
//
//	GetMetricSpec     wva_desired_replicas with target 1, always
//	GetMetrics        the replicas that are decided, so that the HPA asks for as many
//	IsActive          whether more than 0 replicas are decided
//	StreamIsActive    the same, when the stream opens, when it changes, and again while the
//	                  variant has no replica yet
//	StreamMetricSpec  as GetMetricSpec, when the stream opens and every minute
//
// A trigger reads the variant in its metadata variantName, else the one with the target of
// the ScaledObject. It reads decisions of its own namespace only.
//
// An unknown decision is an error and never 0: KEDA holds, or counts it for its fallback.
// GetMetricSpec alone answers for every trigger, and StreamMetricSpec sends the metric again
// and again, because KEDA's fallback counts the errors of metrics that it knows.
//
// A process that does not lead answers from the status of the resources, as package
// external does. Every answer comes from memory.
//
// KEDA can show a client certificate and no token, so the port is for clients whose
// certificate one of the ClientAuthorities signed; without authorities it is for everyone
// who reaches it. A certificate is verified at each call, and every minute while a stream
// is open.
package externalscaler
