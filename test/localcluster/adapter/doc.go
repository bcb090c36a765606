// Package adapter pins prometheus-adapter, a server of custom and external metrics that reads
// Prometheus. It is a module of its own, because it needs older versions of modules that the local
// cluster uses; the tool directive of go.mod names the program. There is no code.
//
//	go build -C test/localcluster/adapter -o DIR/prometheus-adapter sigs.k8s.io/prometheus-adapter/cmd/adapter
//
// A build without cache, with the modules downloaded, takes two minutes of one processor. In the
// end-to-end suite an HPA follows decisions through it.
package adapter
