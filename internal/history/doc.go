// Package history keeps what a fleet looked like over a day, within a bound of memory: for each
// variant and model the readings and decisions of the cycles, for each pod when it began to serve
// and when it ended, and for each decision that changed a number its reason, with the record from
// which it can be decided again. Memory is bounded for any fleet: when it is full, older parts
// keep the least, the greatest and the last value of longer and longer periods.
//
// The manager adds each cycle as it decides it; a record file is added line by line.
// Both give the same types, which are the JSON of the dashboard.
//
// The package judges nothing: the troubles of a variant are those of package explain and of
// the conditions of the objects.
package history
