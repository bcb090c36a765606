// Package chart reads charts/workload-variant-autoscaler: it renders it with Helm's own engine, and
// makes of the comments of values.yaml the schema of the values, the chart's README and
// docs/reference/helm.md. Its tests check the chart: every value changes the output, a real API
// server accepts the output of sample and of random values, and config/default, the kustomize base,
// has the same objects.
//
// It is a module of its own so that Helm, kustomize, and the CRDs of KEDA and of the Prometheus
// operator, which come from their modules, stay out of the main one. After a change of the chart:
//
//	CGO_ENABLED=0 go -C test/chart test . -update
//
// The manager that runs against the API server is bin/manager. To measure in five starts how soon
// the manager of an image is ready:
//
//	.local/bin/release unpack .local/image.tar .local/image
//	CGO_ENABLED=0 go -C test/chart test . -count=1 -v -run 'TheAPIServerTakesIt/the_manager_is_ready_soon' -manager $PWD/.local/image/manager
//
// The tool directive of go.mod names Helm's own program, which tests deploy/.
package chart
