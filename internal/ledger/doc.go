// Package ledger remembers decisions: the latest record of a cycle, the history that the
// next cycle starts from, and when each variant last had an analysis behind its decision.
// Everything that shows a decision (status, events, metrics of followers, the debug
// endpoint) reads it here, so that no two places can disagree.
package ledger
