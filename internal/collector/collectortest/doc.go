// Package collectortest imitates a metrics backend for tests: a Source whose
// answers are set by question, that records what it was asked and fails or hangs
// on demand, fleets to ask it about, and the contract that every collector.Source
// keeps, this one included.
package collectortest
