// Package memory holds what is remembered from cycle to cycle: for each variant a Past, all of them
// a History, and what the variants of a model share, the ModelPast. A Record is one cycle with the
// History after it.
//
// The types are values. A method such as Then returns what is remembered after one more Snapshot or
// decision and leaves its receiver as it is; Past.At returns what still counts at a time. Most go
// over a restart of the manager in a status or in the store, so each has JSON and a zero value that
// remembers nothing.
package memory
