// Package store is a Prometheus that scrapes nothing: its database, its query
// engine and its HTTP API, all of them Prometheus' own, filled with samples at
// chosen times and asked at chosen times.
//
// What a client cannot tell from a Prometheus server is the point of it. Two
// things differ. The clock is given, so that a request without a time is answered
// for the instant that a test or a benchmark chose. And samples are written by the
// caller: Write takes them as they are, Target takes pages as a serving engine
// exposes them and does what a scrape does, the labels of the target and the
// markers of staleness included.
package store
