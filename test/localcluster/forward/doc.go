// Package forward stands for the Service of a real cluster where there is no pod
// network: it listens on loopback and passes each TCP connection on to one of
// several backends that are ready.
//
// It does what endpoints and kube-proxy do, and no more. A backend is ready once
// its readiness URL answers 200, and until no server listens there any more or three
// checks in a row have failed, as many as a kubelet allows; a new connection goes to the ready backends in
// turn; one that stands stays where it is until either end closes it. A backend
// that died between two checks is not made up for by another one: its connections
// end, as they would in a cluster. Without a ready backend a connection is closed
// at once.
package forward
