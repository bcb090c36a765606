// Package cycle is one pass of the autoscaler over the whole cluster: observe,
// collect, decide, actuate, record.
//
// The deciding part, Setup.Decide, is a pure function of a Case and the only place
// where the stages are put in order. The Setup holds how each model is decided,
// the accelerators that there are and who owns them; the Case what was seen and
// remembered. A model that has requests and no Ready replica is decided by package
// scalefromzero in the place of its engine; whether it may go to zero is for the
// stages after. Cycle is the frame around it that talks to the cluster through the
// ports declared here. The simulator and a replay call the same Decide with other
// ends.
package cycle
