// Package services makes Services work whose pods run on this machine: it keeps their
// EndpointSlices, by the controllers of the controller manager, and passes connections to their
// addresses on to pods, as a kube-proxy does.
//
// An EndpointSlice may not hold a loopback address, and pods of this machine have loopback
// addresses. It holds 10.a.b.c for 127.a.b.c. No other program dials the addresses in an
// EndpointSlice.
package services
