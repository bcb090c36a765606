// Command lab runs the matrix of docs/benchmarks.md: every policy on every trace
// of a folder of public traces, and writes that document. It is what make lab
// calls.
//
// The folder, which is not part of this project, holds request logs with the
// columns of workload.ReadTrace, curves of rates, and profiles.json with profiles
// measured elsewhere; see docs/benchmarks.md for their sources.
//
// An interrupted run writes what had finished, and says so.
//
// lab zoo draws scenarios instead (internal/sim/zoo) and says how ours do beside the
// policies of others over all of them. It is what make lab-zoo calls. Results are kept as
// they come, by what they depend on: a run that is interrupted goes on where it was.
//
// lab learning says what the profiles of the user are worth to ours: it runs the matrix, or
// scenarios that are drawn, with the true profiles, without any, and with wrong ones.
//
// lab roles runs a model that is served in prefill and decode whose mix changes, and writes one
// section of docs/benchmarks.md anew. It is what make lab-roles calls.
package main
