// Package throttle shares an open port fairly between the addresses that use it: how
// many connections each may hold, and how often each may be refused. It knows nothing
// of HTTP.
//
// A Listener never makes anybody wait for others. Where all connections are taken it
// closes the oldest one of the address that holds most, so that one more caller, such
// as the kubelet with its probes, gets in whatever others hold.
package throttle
