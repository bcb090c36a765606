// Package faults is the list of what goes wrong around a manager, what the manager does then and
// what its user is told, each with the test that injects the fault. The list is the page
// docs/reference/faults.md. The tests that need a manager process, a real API server and a proxy
// between the two are here, too.
package faults
