// Package adapter pins prometheus-adapter, a server of custom and external metrics
// that reads Prometheus. It is a module of its own, because it is built with older
// versions of what the local cluster is built with; the tool directive of go.mod
// names the program. There is no code.
//
//	go build -C test/localcluster/adapter -o DIR/prometheus-adapter sigs.k8s.io/prometheus-adapter/cmd/adapter
//
// Cold, with its modules downloaded, the build takes two minutes of one processor.
// The end-to-end suite has an HPA follow decisions through it.
package adapter
