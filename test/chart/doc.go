// Package chart reads charts/workload-variant-autoscaler: it renders it with
// Helm's own engine, and makes of the comments of values.yaml the schema of the
// values, the chart's README and docs/reference/helm.md. Its tests are what says
// that the chart is right: every value changes the output, the output of sample
// and of random values is accepted by a real API server, and config/default,
// the kustomize base, is the same objects.
//
// It is a module of its own so that Helm, kustomize, and the CRDs of KEDA and of
// the Prometheus operator, which come from their modules, stay out of the main
// one. After a change of the chart:
//
//	CGO_ENABLED=0 go -C test/chart test . -update
//
// The manager that runs against the API server is bin/manager. How soon that of an
// image is ready, in five starts:
//
//	.local/bin/release unpack .local/image.tar .local/image
//	CGO_ENABLED=0 go -C test/chart test . -count=1 -v -run 'TheAPIServerTakesIt/the_manager_is_ready_soon' -manager $PWD/.local/image/manager
//
// The tool directive of go.mod names Helm's own program, with which deploy/ is tried.
package chart
