// Package lab compares policies: the same workloads and the same fleet under
// each of them, several seeds each, every run in virtual time by package sim.
//
// It prints nothing and draws nothing. cmd/wva shows its Results, and test/lab writes them into
// docs/benchmarks.md.
//
// # A plan
//
// A Plan is scenarios x choices x seeds. A Scenario is a fleet and its workload; a Choice is a
// policy by name with its parameters. Scenarios run one after the other, and the runs of one side
// by side, as many as there are processors. The Results of an interrupted plan have the runs that
// finished.
//
//	scenario ── survey ── try settings ── run each choice with each seed ── rows
//
// Each seed draws other requests: see Source. Numbers are means over the seeds with
// their standard errors. Two policies are compared seed by seed, with the same
// requests, and a difference within two standard errors is a tie.
//
// # What is the same for all
//
// Every policy of a scenario sees the same requests, start-up times and scrape phases for one seed.
// A model without a number of first replicas begins with as many of its cheapest variant as the
// first ten minutes of its load need, so that a run measures scaling and not the start.
//
// Rules that read a benchmark of a replica get one: its share of the highest rate at which a fleet
// attains the objectives with Poisson arrivals and the lengths of the workload, found in the
// simulator, and the concurrency at that rate. The fleet is as large as the busiest ten minutes of
// the first part need.
//
// # Tuning
//
// The first part of a workload is a third of it, at least 20 minutes, and at most a day or half of
// it. A baseline runs over the whole workload with the first seed, with every setting of its grid
// (policy.Definition.Grid, at most 10 points over at most 2 parameters, its defaults among them); a
// bisection finds the counts of static. The setting is kept that was best in the first part: the
// cheapest that reaches the attainment target of the scenario; if none does, the one with the
// highest attainment, then the cheapest. Every policy is judged on the rest: attainment, cost and
// all else count from the end of the first part on (sim.Config.From). Hindsight is the same
// baseline with the setting that was best in the rest itself.
//
// Without tuning baselines run with their defaults, and all of the workload from Plan.From on is
// judged.
//
// This project's own policies are not tuned: they run with the defaults of the manager, from the
// start. They get what an operator configures beforehand: the objective of the scenario, its
// attainment as the percentile that both latencies are held to, the published profile fitted to two
// points of the benchmark, the limits in the arguments of the serving engine, and limited mode
// where the scenario has nodes or quotas.
//
// # Several models
//
// Attainment and latencies count every request of every model once. Cost and
// events are sums. Violation is the share of the time in which too few requests
// met their objectives, averaged over the models.
package lab
