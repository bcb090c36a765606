// Package fault says what goes wrong in a simulated cluster, where and when. It
// holds values alone: internal/sim carries them out request by request, and
// internal/sim/plant by rates.
//
//	kind       from At on, For so long
//	crash      replicas crash and start anew; without a Period they never become Ready
//	silent     replicas are Ready and serve, and no scrape of them succeeds
//	flap       replicas lose their readiness and get it back; they keep what they hold
//	stall      replicas take no request into their batch: what runs goes on, the rest waits
//	no-node    pods that are created find no node before they have waited for Wait
//	deleted    the scale target is deleted, the VariantAutoscaling stays
//	rollout    replicas are replaced in waves, one Share of them after another
//	clock      the clock of the manager is off by Step
//	outage     no request arrives
//
// Crash, silent, flap, stall and no-node concern Replicas of the variant's pods at a time,
// the oldest first, or all of them where Replicas is 0. When one of those is
// removed, the next that is created takes its place: a bad node stays bad.
package fault
