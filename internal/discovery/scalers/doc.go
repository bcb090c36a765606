// Package scalers reads who sets the replicas of targets: HorizontalPodAutoscalers, and
// the ScaledObjects of KEDA where the cluster has them, each together with the
// HorizontalPodAutoscaler that KEDA made for it. It returns the settings and the
// state of each, and whether it reads the decision on a variant. It decides nothing and
// writes nothing.
//
// Only Wait waits: until the objects are listed, and without the permission to list them,
// no scaler is known.
package scalers
