// Package logging builds the manager's logger: one JSON object a line on a writer, from a level on
// that may be changed while it is in use. The keys of the pairs are namespace, variant, model,
// accelerator, target, stage, from, to, reason, query, cycle, duration and err, and no others for
// these ideas.
package logging
