// Package loop runs a control loop against a Prometheus that goes wrong, from the pages of serving
// pods to the decision: pages are scraped into a store, the store is asked over HTTP through a
// proxy with faults, and the answers go through the manager's own source, collector, analyzer and
// pipeline.
//
// The rule, whatever goes wrong: nothing shrinks on readings that are not Fresh, and within two
// cycles after the fault the decision is what it would have been.
//
// The clock is given on both sides, and differs where the test says so. No test sleeps; only a
// query without an answer waits in real time.
package loop
