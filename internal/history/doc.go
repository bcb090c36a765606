// Package history keeps what a fleet looked like over a day, within a bound of memory: of each variant and
// model what the cycles knew and decided, of each pod when it began to serve and
// ended, and of each decision that changed a number why, with the record from which
// it can be decided again. Memory is bounded whatever the fleet: where it is used up,
// older stretches keep the least, the greatest and the last value of longer and longer times.
//
// The manager adds each cycle as it decides it; a record file is added line by line.
// Both are shown by the same types, which are the JSON of the dashboard.
//
// It judges nothing: what is in the way of a variant is what package explain and the
// conditions of the objects say.
package history
