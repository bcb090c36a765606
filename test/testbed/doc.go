// Package testbed puts the whole autoscaler on one machine: the local cluster
// of test/localcluster, the emulated serving fleet, load, and the manager, each
// a process of its own. The demonstration (make run) and the end-to-end tests
// are two users of it.
//
// A Bed ends what it started and nothing else: a cluster that was up before is
// left as it was found.
package testbed
