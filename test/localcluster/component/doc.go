// Package component turns the calling process into one part of a control plane:
// etcd, the API server, the controller manager, the scheduler, the fake kubelet
// KWOK, Prometheus, what Services and pods of this machine need, or the command
// line kubectl. All of them are linked into one
// binary, so nothing but Go is needed to have them; each runs in a process of its
// own, because their flags and registries are global to a process.
//
// The package does not decide how the parts are started, configured or stopped;
// package cluster does.
package component
