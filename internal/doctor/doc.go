// Package doctor names what keeps a decision from its way: from the objects and the metrics to
// the pods. [Diagnose] takes a [Case], which is what was read of a cluster and of the manager,
// and returns a [Report] of findings, each with a stable [Code], the evidence and what mends it.
// [Table] is the one list of findings: the command wva doctor prints its sentences and the page
// docs/reference/findings.md is made of it.
//
// It reads nothing, decides nothing about replicas and changes nothing. What could not be read is
// in the Case, too, and becomes the finding WVA0102; the other checks go on.
package doctor
