// Package doctor names what keeps a decision from its way: from the objects and the metrics to
// the pods. [Diagnose] takes a [Case], the state that was read from a cluster and its manager,
// and returns a [Report] of findings, each with a stable [Code], the evidence and a remedy.
// [Table] is the one list of findings: the command wva doctor prints its sentences, and the page
// docs/reference/findings.md is generated from it.
//
// The package reads nothing, decides nothing about replicas and changes nothing. A read that
// failed is in the Case, too, and becomes the finding WVA0102; the other checks go on.
package doctor
