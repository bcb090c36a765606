// Package day is a day of one model, compressed to some minutes: the rates and
// lengths of its requests, its variant and its objectives, and what the simulator
// says of them. test/e2e runs the same day in the local cluster and compares.
//
// The rate rises in the morning, sags at noon, has its peak in the afternoon and
// falls in the evening, as the traffic of people at work does. All times shrink with
// [Day.Length] but those of the machinery: start-ups, scrapes, cycles, and how often the
// HorizontalPodAutoscaler looks.
//
// What is compared counts alike on both sides:
//
//	attained        the share of all requests that met both objectives
//	replica-hours   from when a pod is made until it is deleted; the time in which
//	                it then finishes its requests is left out, for an emulated pod
//	                is gone at once
//
// The error bars of the simulator are those of a single run: so many standard
// deviations of runs that differ in their seed, and so in arrivals, lengths, start-ups
// and phases of scrapes and looks. See [Spread.Holds].
package day
