// Package executor decides when a pass runs, and owns the only timers of the
// autoscaler: one loop for the cluster, whatever the number of objects.
//
// There is one Executor with three modes:
//
//	mode      runs                                 a change
//	hybrid    at its interval and on a change      is answered at once
//	polling   at its interval                      waits for the interval
//	reactive  on a change                          is answered at once
//
// All run once at the start, and when they are woken, by a change of the
// configuration for instance; mode and interval may be among what changes. A pass
// that a change asks for starts no earlier than a second after the last one did, and
// answers all changes until then; where a client waits for it (Hurry) a tenth of
// that. It does not put off the pass that its time brings. Passes never overlap.
package executor
