// Package lab compares policies: the same workloads and the same fleet under
// each of them, several seeds each, every run in virtual time by package sim.
//
// It prints nothing and draws nothing. What it returns, Results, is what
// cmd/wva shows and test/lab writes into docs/benchmarks.md.
//
// # A plan
//
// A Plan is scenarios x choices x seeds. A Scenario is a fleet and the workload
// that it is given; a Choice is a policy by name with its parameters. Scenarios
// come one after the other and the runs of one side by side, as many as there
// are processors. What has finished when a run is interrupted is in the Results.
//
//	scenario ── survey ── tune each baseline ── run each choice with each seed ── rows
//
// # What is the same for all
//
// Every policy of a scenario sees the same requests, start-up times and scrape
// phases for one seed. A model whose variants say nothing of their first
// replicas begins with as many of its cheapest variant as the first ten minutes
// of its load need, so that what is measured is scaling and not the start.
//
// Rules that read a benchmark of a replica are given one: a quarter of the
// highest rate at which four replicas attain the objectives with Poisson arrivals
// and the lengths of the workload, found in the simulator, and the concurrency at
// that rate.
//
// # Tuning
//
// A baseline is tried on the busiest hour of the workload with the first seed,
// at every point of its grid (policy.Definition.Grid, at most 8 points over at
// most 2 parameters) and with its defaults; static at up to 8 counts around what the
// busiest ten minutes need. The best is kept: the cheapest of those
// that reach the attainment target of the scenario; if none does, the one with
// the highest attainment, then the cheapest. This project's own policies are not
// tuned: they run with the defaults of the manager. They get what an operator
// writes down before: the objective of the scenario, its attainment as the
// percentile that both latencies are held to, the published profile fitted to two
// points of the benchmark, the limits in the arguments of the serving engine, and
// limited mode where there are nodes or quotas to keep to.
//
// # Several models
//
// Attainment and latencies count every request of every model once. Cost and
// events are sums. Violation is the share of the time in which too few requests
// met their objectives, averaged over the models.
package lab
