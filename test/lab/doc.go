// Command lab runs the matrix of docs/benchmarks.md: every policy on every trace of a folder of
// public traces, and writes that document. It is what make lab calls.
//
// The folder, which is not part of this project, holds request logs with the columns of
// workload.ReadTrace, curves of rates, and profiles.json with profiles measured elsewhere; see
// docs/benchmarks.md for their sources.
//
// An interrupted run writes the results that it has, and says so.
//
// lab zoo draws scenarios instead (internal/sim/zoo) and compares our policies with those of others
// over all of them. make lab-zoo calls it. It keeps results as they come, by their inputs: an
// interrupted run continues where it was.
//
// lab learning shows the worth of the user's profiles to our policy: it runs the matrix, or drawn
// scenarios, with the true profiles, without any, and with wrong ones.
//
// lab roles runs a model that is served in prefill and decode while its mix changes, and writes one
// section of docs/benchmarks.md anew. make lab-roles calls it.
package main
