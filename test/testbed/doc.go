// Package testbed puts the whole autoscaler on one machine: the local cluster
// of test/localcluster, the emulated serving fleet, load, and the manager, each
// a process of its own. The demonstration (make run) and the end-to-end tests
// are two users of it.
//
// Several managers may run at once, behind a forwarder that stands for a Service,
// and what they write is read from the API server's audit log.
//
// A Bed ends what it started and nothing else: a cluster that was up before is
// left as it was found.
package testbed
