// Package component turns the calling process into one part of a control plane: etcd, the API
// server, the controller manager, the scheduler, the fake kubelet KWOK, Prometheus, what Services
// and pods of this machine need, or the command line kubectl. All are linked into one binary, so
// that they need nothing but Go. Each runs in a process of its own, because their flags and
// registries are global to a process.
//
// Package cluster starts, configures and stops the parts.
package component
