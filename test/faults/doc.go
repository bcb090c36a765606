// Package faults is the list of what goes wrong around a manager, what the manager does
// then and what its user is told, each with the test that injects the fault. The list
// is the page docs/reference/faults.md. Here are also those tests that need a manager
// process, a real API server and something between the two.
package faults
