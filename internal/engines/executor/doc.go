// Package executor decides when a pass runs, and owns the only timers of the autoscaler:
// one loop for the cluster, whatever the number of objects.
//
// There is one Executor with three modes:
//
//	mode      runs                                 a change
//	hybrid    at its interval and on a change      is answered at once
//	polling   at its interval                      waits for the interval
//	reactive  on a change                          is answered at once
//
// All modes run once at the start and on Wake, for instance when the configuration changes;
// mode and interval may change with it. A pass for a change starts at least a second after
// the start of the last pass, and covers all changes until then. Where a client waits
// (Hurry) the gap is a tenth of that. A pass for a change does not delay the pass of the
// interval. Passes never overlap.
package executor
