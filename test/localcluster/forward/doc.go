// Package forward stands for the Service of a real cluster where there is no pod network: it
// listens on loopback and passes each TCP connection on to one of several backends that are ready.
//
// It does what endpoints and kube-proxy do, and no more. A backend is ready once its readiness URL
// answers 200, until no server listens there any more or three checks in a row have failed, as many
// as a kubelet allows. New connections go to the ready backends in turn and stay there until either
// end closes them. When a backend dies between two checks, its connections end and are not moved,
// as in a cluster. Without a ready backend a connection is closed at once.
package forward
