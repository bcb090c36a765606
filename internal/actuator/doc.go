// Package actuator makes a plan known to whoever carries it out: it publishes
// the decisions as Prometheus metrics and as External Metrics, from which a
// HorizontalPodAutoscaler or KEDA takes the number of replicas.
//
// A query of the External Metrics that selects several variants is told by
// Ambiguities, because an autoscaler adds them up.
//
// It decides nothing, and moves replicas itself only for variants whose objects ask
// for that; see subresource. Both publications are replaced as a whole with each
// cycle, so a variant that is gone is gone from them too.
package actuator
