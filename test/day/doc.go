// Package day is a day of one model, compressed to some minutes: the rates and lengths of its
// requests, its variant and its objectives, and what the simulator says of them. test/e2e runs the
// same day in the local cluster and compares.
//
// The rate rises in the morning, falls a little at noon, peaks in the afternoon and falls in the
// evening, as the traffic of people at work does. All times shrink with [Day.Length] except those
// of [Machinery]: start-ups, scrapes, cycles, and syncs of the HorizontalPodAutoscaler.
//
// Both sides count alike:
//
//	attained        the share of all requests that met both objectives
//	replica-hours   from the creation of a pod to its deletion; the time in which it then
//	                finishes its requests does not count, as an emulated pod ends at once
//
// The error bars of the simulator are those of a single run, in standard deviations of runs that
// differ in their seed, and so in arrivals, lengths, start-ups and phases of scrapes and syncs. See
// [Spread.Holds].
package day
