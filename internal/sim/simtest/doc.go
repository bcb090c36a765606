// Package simtest makes what tests of the simulator and of its rooms begin with: a
// synthetic workload, and the profile of a replica. It knows nothing of package sim,
// whose own tests use it too.
package simtest
