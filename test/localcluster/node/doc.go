// Package node is a Kubernetes node whose pods run as processes of this machine:
// the real kubelet, with package container for its container runtime. Probes,
// restarts, volumes, tokens, logs and the API for kubectl are the kubelet's own.
//
// The Node object has to be there, with the address that the API server calls the
// kubelet at. What a kubelet does to the machine itself, mounts, cgroups, firewall
// rules and eviction, is left out, so no root is needed.
package node
