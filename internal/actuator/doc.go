// Package actuator makes a plan known to whoever carries it out: it publishes
// the decisions as Prometheus metrics and as External Metrics, from which a
// HorizontalPodAutoscaler or KEDA takes the number of replicas.
//
// It moves no replica itself and decides nothing. Both publications are
// replaced as a whole with each cycle, so a variant that is gone is gone from
// them too.
package actuator
