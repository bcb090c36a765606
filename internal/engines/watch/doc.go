// Package watch looks at the fleet between two cycles. A pass has two ends: it
// keeps the measurements warm, so that a cycle never waits for the network, and
// it wakes a cycle at once when that would see something new.
//
//	observe the fleet ──> refresh the measurements ──> analyze ──> changed? ──> wake
//
// News is, for any model that the last cycle saw:
//
//	its signal differs       a reading crossed a threshold
//	its source began to fail, or answers again
//	it was decided to have no replica, and requests wait or arrive
//
// Where nothing else runs cycles (the reactive executor), everything that time
// alone may change wakes a cycle too, for as long as it lasts: a signal that is not
// Steady, replicas that are not as decided or not Ready, counts that the last
// cycle did not see, and a model that is idle, whose retention period goes by.
//
// [Look] is that rule by itself, a pure function; the simulator wakes its cycles
// by the same one.
//
// A pass decides nothing: it runs the same pure analysis as the cycle, on the
// same measurements, and throws the result away. What fails is counted by
// whoever observes, and logged when it begins and when it ends. It never blocks
// a cycle, which asks for itself what it does not find.
package watch
