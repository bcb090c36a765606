// Package node is a Kubernetes node whose pods run as processes of this machine: the real kubelet,
// with package container for its container runtime. Probes, restarts, volumes, tokens, logs and the
// API for kubectl are the kubelet's own.
//
// The Node object has to exist, with the address at which the API server calls the kubelet. The
// kubelet changes nothing of the machine: no mounts, cgroups, firewall rules or eviction. So it
// needs no root.
package node
