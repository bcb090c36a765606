// Package archtest is the law on which package may import which, and on a few
// things that a decision may not do: read the clock, draw ambient randomness,
// keep state in a package. It holds tests only.
//
// The tests parse the source files themselves instead of asking go list: go test
// caches a result by the files that the test opened, does not see what a child
// process read, and would go on reporting a stale success.
package archtest
