// Package watch looks at the fleet between two cycles. A pass has two purposes. It keeps
// the measurements fresh, so that a cycle never waits for the network. It wakes a cycle at
// once when the cycle would see a change.
//
//	observe the fleet ──> refresh the measurements ──> analyze ──> changed? ──> wake
//
// A change is, for any model that the last cycle saw:
//
//	its signal differs       a reading crossed a threshold
//	its source began to fail, or answers again
//	it was decided to have no replica, and requests wait or arrive
//
// Where nothing else runs cycles (the reactive executor), every state that time alone may
// change wakes a cycle too, as long as it lasts: a signal that is not Steady; replicas that
// differ from the decision or are not Ready; counts that the last cycle did not see; an
// idle model with a running retention period.
//
// [Look.Reason] is that rule, a pure function; the simulator wakes its cycles by it too.
//
// A pass decides nothing: it runs the same pure analysis as the cycle, on the same
// measurements, and throws the result away. Observe receives each failure, and the log has
// a line when failures begin and when they end. A pass never blocks a cycle: the cycle
// itself fetches the measurements that it does not find.
package watch
