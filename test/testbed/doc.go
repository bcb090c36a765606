// Package testbed puts the whole autoscaler on one machine: the local cluster of test/localcluster,
// the emulated serving fleet, load, and the manager, each a process of its own. The demonstration
// (make run) and the end-to-end tests use it.
//
// Several managers may run at once, behind a forwarder in the role of a Service. Their writes are
// read from the API server's audit log.
//
// A Bed ends what it started and nothing else: a cluster that was up before stays as it was.
package testbed
