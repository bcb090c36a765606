// Package scaling holds the nouns of one cycle: what was seen (Variant,
// Reading, Snapshot), what it means (Analysis) and what is decided (Step,
// Decision, Plan). What is remembered of earlier cycles is in package memory.
//
// The stages of the pipeline pass each other these types only:
//
//	collect -> Snapshot -> analyze -> Analysis -> optimize -> constrain -> Plan
//
// The types hold values, know how to order, compare and print themselves, and choose nothing. The
// manager, the simulator and a replay of a recorded cycle pass the same values through the same
// code.
//
// Two rules hold everywhere. Unknown is a state and never a number: the zero
// Reading is Absent, the zero Signal is Unknown. Order carries no meaning:
// every slice here is sorted by the key that its comment names, so that equal
// input gives equal output.
package scaling
