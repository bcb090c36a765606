// Package metrics holds the wva_* instruments: their names, labels and help
// (catalogue.go lists them all), and the Metrics that export them.
//
// There are two kinds. The decision series show what the latest cycle saw and decided. Publish
// renders them into an immutable page that replaces the one before, so a scrape is consistent, the
// series of a deleted variant end with the next cycle, and an absent reading has no series. The
// health series count what this process did and are never removed.
//
// Only the leader exports decisions: Restore sets a first page from the decisions of an earlier
// process; Clear removes the page and keeps the health series.
//
// The names and labels of earlier versions (legacy.go) are exported on request, in addition.
// docs/reference/metrics.md is generated from the catalogue.
//
// The package decides nothing and reads no cluster. Between two publications it remembers only what
// it needs to count changes.
package metrics
