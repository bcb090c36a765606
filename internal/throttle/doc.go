// Package throttle shares an open port fairly between its clients: how many connections
// each address may hold, and how often each caller may be refused.
//
// A Listener never lets a client wait for others. Where all connections are in use it
// closes the oldest one of the address that holds most, so that a new client, such as the
// kubelet with its probes, always gets a connection.
package throttle
