// Package explain puts a decision into words: the reason in a status, the
// message of a condition or an event, and the steps that `wva explain` prints.
// It chooses nothing and computes nothing that the decision does not hold.
package explain
