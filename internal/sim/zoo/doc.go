// Package zoo draws scenarios: fleets, traffic, objectives, start-ups, gateways, faults and stocks
// of accelerators at random, so that no policy can be fitted to a list of them. make lab-zoo runs
// policies on them (test/lab).
//
// A [Case] is a function of a seed, an index and a [Stock], which holds the known profiles and
// traces. It does not depend on the number of cases: case 17 of seed 3 is the same among 20 and
// among 200. It has plain values in the fields of a scenario file; [Case.Text] is that file, and
// the lab and wva simulate run it.
//
// # What is drawn
//
//	fleet       1 to 4 variants, of one model or of two, by the profiles of the stock: with
//	            all of their KV cache or a part of it, and batches of 64 to 256
//	size        replicas that the busiest ten minutes need, 1 to 200, each order of
//	            magnitude alike; the rate is scaled to it
//	traffic     stretches of logs and of curves of rates, mixes of two, and generators:
//	            constant, day, steps, ramps, flash, on and off, bursts
//	objectives  the ITL of a replica at 30 to 95 % of its highest rate, 1.5 to 30 times the
//	            prefill of a long prompt as TTFT; both or one of them; for 90, 95 or 99 %
//	start-up    20 s to 10 min, each order of magnitude alike
//	gateway     every way of routing, prefix caches, patience of clients, an HPA's tolerance
//	faults      in one of seven, of every kind
//	stock       limited in one of seven, to 0.8 to 2 times what the peak needs
//
// Work is bounded: large fleets get shorter windows, and slower replicas, so that a run
// has no more than [MaxRequests] requests.
//
// # What a replica can do
//
// The size and the objectives need an estimate of the rate that a replica carries: [Speed], a
// closed form of the profile alone. It is mostly within a factor of two of the rate that the lab
// measures; fleets are larger or smaller than drawn by that factor.
package zoo
