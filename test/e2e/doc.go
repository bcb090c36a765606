// Package e2e holds the end-to-end scenarios: the manager as its own process
// and account, a real API server, scheduler and HPA controller, a real
// Prometheus, and a serving fleet that is emulated. Run by make e2e; the tests
// carry the build tag e2e.
package e2e
