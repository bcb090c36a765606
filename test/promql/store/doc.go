// Package store is a Prometheus that scrapes nothing: its database, its query engine and its HTTP
// API, all of them Prometheus' own, filled with samples at chosen times and asked at chosen times.
//
// A client cannot tell it from a Prometheus server, except in two things. The clock is given, so
// that a request without a time is answered for the instant that a test or a benchmark chose. And
// the caller writes the samples: Write takes them as they are; Target takes pages as a serving
// engine exposes them and does what a scrape does, with the labels of the target and the markers of
// staleness.
package store
