// Package fault says what goes wrong in a simulated cluster, where and when. It only holds values:
// internal/sim applies them to single requests, and internal/sim/plant to rates.
//
//	kind       from At on, for For
//	crash      replicas crash and start anew; without a Period they never become Ready
//	silent     replicas are Ready and serve, and every scrape of them fails
//	flap       replicas lose their readiness and get it back; they keep their requests
//	stall      replicas take no request into their batch: running requests go on, the rest waits
//	no-node    created pods find no node before they have waited for Wait
//	deleted    the scale target is deleted, the VariantAutoscaling stays
//	rollout    replicas are replaced in waves, one Share of them after another
//	clock      the clock of the manager is off by Step
//	outage     no request arrives
//
// Crash, silent, flap, stall and no-node affect Replicas of the variant's pods at a time, the
// oldest first, or all of them where Replicas is 0. When an affected pod is removed, the fault
// affects the next created pod: a bad node stays bad.
package fault
