// Package keda pins KEDA: the operator, which makes an HPA for each ScaledObject and takes care of
// zero replicas, and the metrics adapter, which serves what the HPA reads. It is a module of its
// own, because KEDA depends on the client of every source of events that it knows; the tool
// directives of go.mod name the programs. The definitions of its resources are in the module too,
// in config/crd/bases. There is no code.
//
//	go build -C test/localcluster/keda -o DIR/keda-operator github.com/kedacore/keda/v2/cmd/operator
//	go build -C test/localcluster/keda -o DIR/keda-adapter github.com/kedacore/keda/v2/cmd/adapter
//
// A build of both without cache, with the modules downloaded, takes eight minutes of one processor;
// the second takes seconds after the first. The programs have 250 and 180 MB. That is why only make
// soak builds them.
package keda
