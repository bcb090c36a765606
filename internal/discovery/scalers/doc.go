// Package scalers reads who sets the replicas of targets: HorizontalPodAutoscalers, and
// the ScaledObjects of KEDA where the cluster has them, each together with the
// HorizontalPodAutoscaler that KEDA made for it. It tells what each says of itself, and
// whether what it reads is the decision on a variant. It decides nothing and writes
// nothing.
//
// Neither kind is waited for: until it is listed, and without the permission to, no
// scaler is known.
package scalers
