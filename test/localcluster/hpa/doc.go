// Package hpa asks the HorizontalPodAutoscaler controller of Kubernetes itself
// what it would do: k8s.io/kubernetes/pkg/controller/podautoscaler, unchanged, on
// random objects, pods and metrics, in a bubble of package testing/synctest, for
// it reads the clock itself.
//
// Its answers are a file in this repository, which a test of
// internal/sim/policy replays: the modules do not import each other. The test
// here drives the controller again and fails when the file says anything else;
//
//	go test ./hpa -update
//
// writes it anew. A Sequence is one object over some syncs, each with what the
// controller read and the replicas that it left. Everything random is drawn
// from the number of the sequence.
package hpa
