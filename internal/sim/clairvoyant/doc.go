// Package clairvoyant says what a run of package sim could have cost, for a policy that
// knows every arrival: [Find] looks for a schedule of replicas that reaches the
// attainment that is asked for, and runs it to prove it. What it finds can be had; it
// is no bound.
//
// It is not a policy that could be used: it looks ahead. But it keeps what every policy
// has to keep: the bounds of its variants, and a replica while there are requests.
//
// # The schedule
//
// Every Tick of a schedule has a number of replicas for each variant. The search begins
// with constant counts over blocks of time: the cheapest cover of the mean work that is
// due in a block, if requests are packed as densely as objectives and KV cache allow,
// times a margin, which is the same for all blocks and is narrowed down in runs. A
// replica is ordered its start-up ahead. This is done with each variant alone and with
// all of them, and with two lengths of blocks. The schedules of Options.Start, such as
// those of policies, are tried as well: what is found is never dearer than the cheapest
// of them that reaches the attainment.
//
// What is left of the runs refines the best. In one run a replica is taken from (or given
// to) every third stretch of time, or every n-th if the effect of a change lasts longer;
// what more is missed until the next such stretch is what the change costs in misses. So
// three runs measure all changes of one kind. Then those changes are made that save most
// for the misses that are left: a price of a miss, the same for all, decides. Stretches
// become shorter with every round.
//
// Misses and cost count from Config.From on, over all models, as for every policy. It is
// a search, not an optimum. With several models on a stock that they exhaust it may end
// without an answer where there is one.
//
// Equal input gives equal results, whatever the number of workers. Memory grows with the
// length of a trace only by the ticks, not by its requests.
package clairvoyant
