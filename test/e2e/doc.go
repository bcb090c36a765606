// Package e2e holds the end-to-end scenarios: the manager as its own process and account, a real
// API server, scheduler and HPA controller, a real Prometheus, and a serving fleet that is
// emulated. make e2e runs them; the tests have the build tag e2e.
//
// Scenarios that need a manager of their own, or measure the shared one, run one after another. The
// others call t.Parallel: they share a manager, keep to a namespace each, and run together at the
// end.
//
// Tests that take longer than CI allows, or need programs that take long to build, also have the
// tag soak, and make soak runs them. There scale to zero has a cluster of its own, in which HPAs
// may go to zero too, and so has the day of test/day.
//
// The flag -steady sets how long a steady fleet is watched, 45s by default, -day the length of the
// day, 24m by default, and -day-seed the seed of its requests.
package e2e
