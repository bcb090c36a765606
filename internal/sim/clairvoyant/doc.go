// Package clairvoyant says what a run of package sim could have cost, for a policy that knows every
// arrival: [Find] looks for a schedule of replicas that reaches the attainment that is asked for,
// and runs it to prove it. The cost of that schedule can be reached; it is no lower bound.
//
// No real policy can use it: it looks ahead. But it obeys the limits of every policy: the bounds of
// the variants, and one replica while there are requests.
//
// # The schedule
//
// A schedule has a number of replicas for each variant and Tick. The search begins with constant
// counts over blocks of time: the cheapest cover of the mean work that is due in a block, if
// requests are packed as densely as objectives and KV cache allow, times a margin. The margin is
// the same for all blocks, and runs narrow it down. A replica is ordered its start-up ahead. The
// search does this with each variant alone and with all of them, and with two lengths of blocks. It
// also tries the schedules of Options.Start, such as those of policies: the result never costs more
// than the cheapest of them that reaches the attainment.
//
// The remaining runs refine the best schedule. One run takes a replica from (or gives one to) every
// third stretch of time, or every n-th if the effect of a change lasts longer; the additional
// misses until the next such stretch are the price of the change. So three runs measure all changes
// of one kind. Then the search makes the changes that save most for the misses that the attainment
// allows: a price of a miss, the same for all, decides. Stretches become shorter with every round.
//
// Misses and cost count from Config.From on, over all models, as for every policy. The result need
// not be the optimum. With several models on a stock that they exhaust the search may find no
// schedule although there is one.
//
// Equal input gives equal results, whatever the number of workers. Memory grows with the
// length of a trace only by the ticks, not by its requests.
package clairvoyant
