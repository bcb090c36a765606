// Package simtest makes what tests of the simulator and of its rooms begin with: a synthetic
// workload, and the profile of a replica. It does not import package sim, whose own tests use it
// too.
package simtest
