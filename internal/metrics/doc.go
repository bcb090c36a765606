// Package metrics holds the wva_* instruments: their names, labels and help
// (catalogue.go lists them all), and the Metrics that export them.
//
// There are two kinds. The decision series show what the latest cycle saw and
// decided. Publish renders them into an immutable page that replaces the one
// before, so a scrape is consistent, the series of a deleted variant are gone
// with the next cycle, and a reading that is absent has no series. The health
// series count what this process did and are never taken back.
//
// Only what leads exports decisions: Restore sets a first page from what an
// earlier process decided, Clear takes the page away and leaves the health series.
//
// The names and labels of earlier versions (legacy.go) are exported on request,
// beside the others. docs/reference/metrics.md is generated from the catalogue.
//
// The package decides nothing and reads no cluster; the one thing that it
// remembers between two publications is what it needs to count changes.
package metrics
