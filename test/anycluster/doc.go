// Package anycluster runs the main job in a cluster that its user has, with nothing but its
// kubeconfig and an image that its nodes can pull: no Prometheus, no GPU, nothing installed before.
// The manager comes with the chart, serving pods and load are the same image (wva emulate, wva
// load), and metrics are read from the pods. The tests have the build tag anycluster; make e2e
// KUBECONFIG=... runs them.
//
// Scenarios have labels:
//
//	saturation  load comes and goes, and replicas follow it
//	model       a profile and objectives size a model
//	zero        an idle model goes to zero; the request that finds it there is answered
//	openshift   with the values for OpenShift: restricted-v2, and Thanos for metrics
//	kind        an HPA follows External Metrics to the letter, in a kind cluster
//
// Without labels all scenarios run that the cluster can run; the others are listed with what they
// lack. A label that is asked for and cannot run is an error before anything is changed.
//
// A run does not touch what exists. Everything that it creates has its random ID in its name or is
// in a namespace that has; the run removes it at the end, after an interrupt too, and fails if any
// of it is left. The CRD stays if it existed before. The run's manager serves External Metrics if
// no other server does, and an HPA follows; else the manager sets replicas itself.
package anycluster
