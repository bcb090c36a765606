// Package throttle shares an open port fairly between those who use it: how many
// connections each address may hold, and how often each caller may be refused.
//
// A Listener never makes anybody wait for others. Where all connections are taken it
// closes the oldest one of the address that holds most, so that one more caller, such
// as the kubelet with its probes, gets in whatever others hold.
package throttle
