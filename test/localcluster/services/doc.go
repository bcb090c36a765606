// Package services makes Services work whose pods run on this machine: it keeps
// their EndpointSlices, by the controllers of the controller manager, and passes
// connections to their addresses on to pods, as a kube-proxy does.
//
// An EndpointSlice may not hold a loopback address, which is what pods of this
// machine have. There the address 127.a.b.c stands as 10.a.b.c. No other program dials
// what is in an EndpointSlice.
package services
