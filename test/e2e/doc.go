// Package e2e holds the end-to-end scenarios: the manager as its own process
// and account, a real API server, scheduler and HPA controller, a real
// Prometheus, and a serving fleet that is emulated. Run by make e2e; the tests
// carry the build tag e2e.
//
// Scenarios that need a manager of their own, or measure the shared one, run one
// after another. The others call t.Parallel: they share a manager, keep to a
// namespace each, and run together at the end.
//
// What takes longer than CI may, or needs programs that take long to build,
// carries the tag soak beside it, and is run by make soak. Scale to zero has a
// cluster of its own there, in which HPAs may go to zero too, and so has the day of
// test/day.
//
// The flag -steady says for how long a steady fleet is watched, 45s by default; -day
// how long the day is, 24m, and -day-seed which requests it has.
package e2e
