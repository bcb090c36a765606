// Package hpa asks the HorizontalPodAutoscaler controller of Kubernetes itself what it would do:
// k8s.io/kubernetes/pkg/controller/podautoscaler, unchanged, on random objects, pods and metrics,
// in a bubble of package testing/synctest, for it reads the clock itself.
//
// Its answers are a file in this repository, which a test of internal/sim/policy replays: the
// modules do not import each other. The test here runs the controller again and fails where the
// file differs;
//
//	go test ./hpa -update
//
// writes it anew. A Sequence is one object over some syncs, each with what the controller read and
// the replicas that it left. The number of a sequence is the seed of all that is random in it.
package hpa
