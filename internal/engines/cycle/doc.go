// Package cycle is one pass of the autoscaler over the whole cluster: observe, collect,
// decide, actuate, record.
//
// The deciding part, Setup.Decide, is a pure function of a Case and the only place where
// the stages are put in order. The Setup holds the settings of each model, the inventory
// and the quotas. The Case holds the snapshots and the history. Package scalefromzero,
// instead of the engine, decides about a model that has requests and no Ready replica. The
// later stages decide whether a model may go to zero. Cycle calls Decide and talks to the
// cluster through the ports declared here. The simulator and a replay call the same Decide
// with other inputs and outputs.
package cycle
