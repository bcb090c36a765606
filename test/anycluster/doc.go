// Package anycluster runs the main job in a cluster that its user has, with
// nothing but its kubeconfig and an image that its nodes can pull: no
// Prometheus, no GPU, nothing installed before. The manager comes with the
// chart, serving pods and load are the same image (wva emulate, wva load), and
// metrics are read from the pods. The tests carry the build tag anycluster and are
// run by make e2e KUBECONFIG=...
//
// Scenarios have labels:
//
//	saturation  load comes and goes, and replicas follow it
//	model       a profile and objectives size a model
//	zero        an idle model goes to zero; the request that finds it there is answered
//	openshift   with the values for OpenShift: restricted-v2, and Thanos for metrics
//	kind        an HPA follows External Metrics to the letter, in a kind cluster
//
// Without labels given those are run that the cluster can do, and the others are
// named with what they lack. A label that is asked for and cannot be done is an
// error before anything is changed.
//
// What is there is not touched. All that a run makes has its random ID in its name
// or is in a namespace that has; it goes at the end, after an interrupt too, and
// the run fails if any of it is left. The CRD stays if it was there before.
// External Metrics are served by the run's manager if no other server does; an HPA
// follows then, and else the manager sets replicas itself.
package anycluster
