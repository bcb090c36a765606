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
//	scenario ── survey ── try settings ── run each choice with each seed ── rows
//
// Each seed draws other requests: see Source. Numbers are means over the seeds with
// their standard errors. Two policies are compared seed by seed, with the same
// requests, and a difference within two standard errors is a tie.
//
// # What is the same for all
//
// Every policy of a scenario sees the same requests, start-up times and scrape
// phases for one seed. A model whose variants say nothing of their first
// replicas begins with as many of its cheapest variant as the first ten minutes
// of its load need, so that what is measured is scaling and not the start.
//
// Rules that read a benchmark of a replica are given one: its share of the highest
// rate at which a fleet attains the objectives with Poisson arrivals and the lengths
// of the workload, found in the simulator, and the concurrency at that rate. The fleet
// is as large as the busiest ten minutes of the first part need.
//
// # Tuning
//
// There is one regime. The first part of a workload is a third of it, at least 20
// minutes, and at most a day or half of it. A baseline is run over the whole workload
// with the first seed, with every setting of its grid (policy.Definition.Grid, at most
// 10 points over at most 2 parameters, its defaults among them); the counts of static
// are bisected. The setting is kept that was best in the first part: the cheapest that
// reaches the attainment target of the scenario; if none does, the one with the highest
// attainment, then the cheapest. Every policy is judged on the rest: attainment, cost
// and all else count from the end of the first part on (sim.Config.From). Hindsight is
// the same baseline with the setting that was best in the rest itself.
//
// Without tuning all of the workload is judged, with the defaults.
//
// This project's own policies are not tuned: they run with the defaults of the manager,
// from the start. They get what an operator writes down before: the objective of the
// scenario, its attainment as the percentile that both latencies are held to, the
// published profile fitted to two points of the benchmark, the limits in the arguments
// of the serving engine, and limited mode where there are nodes or quotas to keep to.
//
// # Several models
//
// Attainment and latencies count every request of every model once. Cost and
// events are sums. Violation is the share of the time in which too few requests
// met their objectives, averaged over the models.
package lab
