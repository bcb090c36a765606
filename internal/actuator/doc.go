// Package actuator publishes a plan for the scalers: it publishes the decisions as
// Prometheus metrics and as External Metrics, from which a HorizontalPodAutoscaler or KEDA
// takes the number of replicas.
//
// Ambiguities reports a query of the External Metrics that selects several variants,
// because an autoscaler adds them up.
//
// It decides nothing, and sets replicas only for variants whose objects ask for that; see
// subresource. Each cycle replaces both publications as a whole, so they never contain a
// deleted variant.
package actuator
